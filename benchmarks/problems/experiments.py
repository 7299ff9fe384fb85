"""The experiments: which sizes there are and how an instance of a size and trial is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.problems.data import data_file
from benchmarks.problems.instance import Instance
from benchmarks.problems.pooling import load_pooling_network, optimum, pooling_instance
from benchmarks.problems.qp import NUM_BLOCKS, find_qp_network, load_qp_network, qp_instance
from benchmarks.problems.water import load_water_network, water_instance

NUM_TRIALS = 3


class SizeError(ValueError):
    """A size that the experiment cannot read."""


@dataclass(frozen=True)
class Experiment:
    """One sweep over sizes.

    Parameters
    ----------
    name
        What the command line calls it.
    family
        What records call it: two sweeps may share instances.
    title, axis
        For a person: what it is, and what a size means.
    sizes, beyond, short
        The paper's sizes, those beyond it, and those of the short run.
    find
        (size, trial): read the size and look for the files; raises SizeError or MissingDataError.
    build
        (size, trial) -> instance.
    order
        Size -> number on the axis; None for a size of the family that is not in this sweep.
    sign
        -1 where a person thinks of the objective as maximized: it is shown with this factor.
    optimum
        Size -> true optimum, where it can be enumerated.
    initial_penalty
        tau_0 of the paper; None where it states none.
    """

    name: str
    family: str
    title: str
    axis: str
    sizes: tuple[str, ...]
    beyond: tuple[str, ...]
    short: tuple[str, ...]
    find: Callable[[str, int], object]
    build: Callable[[str, int], Instance]
    order: Callable[[str], int | None]
    sign: int = 1
    optimum: Callable[[str], float] | None = None
    initial_penalty: float | None = None


def _qp_size(size: str) -> tuple[int, int, int]:
    """Width, depth and number of blocks of "64x3" or "64x3x30"."""
    try:
        width, depth, *blocks = (int(part) for part in size.split("x"))
        (num_blocks,) = blocks or (NUM_BLOCKS,)
    except ValueError:
        raise SizeError(f"A size of the QP is WIDTHxDEPTH or WIDTHxDEPTHxBLOCKS, such as 64x3; received {size!r}.") from None
    return width, depth, num_blocks


def _number(size: str) -> int:
    if not size.isdigit() or int(size) < 1:
        raise SizeError(f"A size of this experiment is a whole number; received {size!r}.")
    return int(size)


def _find_qp(size: str, trial: int) -> None:
    width, depth, _ = _qp_size(size)
    find_qp_network(width, depth, trial)


def _find_water(size: str, trial: int) -> None:
    _number(size)
    for name in ("water_quality.csv", "water_classifier.npz"):
        data_file(name)


def _find_pooling(size: str, trial: int) -> None:
    _number(size)
    data_file("neur2sp_pooling_nnp.npz")


def _build_qp(size: str, trial: int) -> Instance:
    width, depth, num_blocks = _qp_size(size)
    return qp_instance(load_qp_network(width, depth, trial), trial, num_blocks=num_blocks)


def _build_water(size: str, trial: int) -> Instance:
    return water_instance(load_water_network(), _number(size), trial)


def _build_pooling(size: str, trial: int) -> Instance:
    return pooling_instance(load_pooling_network(), _number(size), trial)


def _width(size: str) -> int | None:
    width, depth, _ = _qp_size(size)
    return width if depth == 3 else None


def _depth(size: str) -> int | None:
    width, depth, _ = _qp_size(size)
    return depth if width == 64 else None


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            name="qp-width",
            family="qp",
            title="Synthetic QP, wider networks",
            axis="width (depth 3)",
            sizes=("8x3", "16x3", "32x3", "64x3", "128x3", "256x3"),
            beyond=("512x3", "1024x3"),
            short=("256x3",),
            find=_find_qp,
            build=_build_qp,
            order=_width,
            initial_penalty=100.0,
        ),
        Experiment(
            name="qp-depth",
            family="qp",
            title="Synthetic QP, deeper networks",
            axis="depth (width 64)",
            sizes=("64x1", "64x2", "64x3", "64x4", "64x5", "64x6"),
            beyond=("64x8", "64x12"),
            short=("64x1", "64x6"),
            find=_find_qp,
            build=_build_qp,
            order=_depth,
            initial_penalty=100.0,
        ),
        Experiment(
            name="water",
            family="water",
            title="Water treatment",
            axis="samples",
            sizes=("25", "50", "100", "200", "400", "800"),
            beyond=("1065",),
            short=("25", "800"),
            find=_find_water,
            build=_build_water,
            order=_number,
            sign=-1,
            initial_penalty=10.0,
        ),
        Experiment(
            name="pooling",
            family="pooling",
            title="Pooling with a neural second stage",
            axis="scenarios",
            sizes=("12", "13", "14", "15", "16", "17"),
            beyond=("46", "100"),
            short=("17",),
            find=_find_pooling,
            build=_build_pooling,
            order=lambda size: _number(size) ** 3,
            sign=-1,
            optimum=lambda size: optimum(_number(size)),
        ),
    )
}


def of_family(family: str) -> Experiment:
    """Any experiment that builds the instances of a family."""
    return next(e for e in EXPERIMENTS.values() if e.family == family)


def belongs(experiment: Experiment, family: str, size: str) -> bool:
    """Whether a record is in the sweep of an experiment."""
    return experiment.family == family and experiment.order(size) is not None
