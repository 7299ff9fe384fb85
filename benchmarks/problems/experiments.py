"""The experiments: which sizes there are and how an instance of a size and trial is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.problems.boxes import build_boxes, find_boxes, read_box_size
from benchmarks.problems.instance import Instance
from benchmarks.problems.pooling import build_pooling, find_pooling, optimum
from benchmarks.problems.qp import NUM_BLOCKS, build_qp, find_qp, read_qp_size
from benchmarks.problems.sizes import read_number
from benchmarks.problems.water import build_water, find_water

NUM_TRIALS = 3
# Networks of the small QP, and the largest sizes of the other small experiments.
SMALL_NETWORK, MAX_SMALL_WATER, MAX_SMALL_POOLING = (8, 2), 4, 3


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
    files
        (size, trial) -> the data files of the instance; raises SizeError or MissingDataError.
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
    is_small
        Whether it is there to let every exact method, Gurobi's size-limited licence included, come to a proof.
    """

    name: str
    family: str
    title: str
    axis: str
    sizes: tuple[str, ...]
    beyond: tuple[str, ...]
    short: tuple[str, ...]
    files: Callable[[str, int], tuple[Path, ...]]
    build: Callable[[str, int], Instance]
    order: Callable[[str], int | None]
    sign: int = 1
    optimum: Callable[[str], float] | None = None
    initial_penalty: float | None = None
    is_small: bool = False


def _width(size: str) -> int | None:
    width, depth, _ = read_qp_size(size)
    return width if depth == 3 else None


def _depth(size: str) -> int | None:
    width, depth, _ = read_qp_size(size)
    return depth if width == 64 else None


def _blocks(size: str) -> int | None:
    *network, num_blocks = read_qp_size(size)
    return num_blocks if tuple(network) == SMALL_NETWORK and num_blocks < NUM_BLOCKS else None


def _samples(size: str) -> int | None:
    number = read_number(size)
    return number if number > MAX_SMALL_WATER else None


def _few_samples(size: str) -> int | None:
    return read_number(size) if _samples(size) is None else None


def _scenarios(size: str) -> int | None:
    m = read_number(size)
    return m**3 if m > MAX_SMALL_POOLING else None


def _few_scenarios(size: str) -> int | None:
    return read_number(size) ** 3 if _scenarios(size) is None else None


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
            files=find_qp,
            build=build_qp,
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
            short=("64x6",),
            files=find_qp,
            build=build_qp,
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
            short=("800",),
            files=find_water,
            build=build_water,
            order=_samples,
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
            files=find_pooling,
            build=build_pooling,
            order=_scenarios,
            sign=-1,
            optimum=lambda size: optimum(read_number(size)),
        ),
        Experiment(
            name="small-qp",
            family="qp",
            title="Small QP",
            axis="blocks (8x2 networks)",
            sizes=("8x2x2", "8x2x3", "8x2x4"),
            beyond=(),
            short=(),
            files=find_qp,
            build=build_qp,
            order=_blocks,
            initial_penalty=100.0,
            is_small=True,
        ),
        Experiment(
            name="small-water",
            family="water",
            title="Small water treatment",
            axis="samples",
            sizes=("2", "3", "4"),
            beyond=(),
            short=(),
            files=find_water,
            build=build_water,
            order=_few_samples,
            sign=-1,
            initial_penalty=10.0,
            is_small=True,
        ),
        Experiment(
            name="small-pooling",
            family="pooling",
            title="Small pooling",
            axis="scenarios",
            sizes=("2", "3"),
            beyond=(),
            short=(),
            files=find_pooling,
            build=build_pooling,
            order=_few_scenarios,
            sign=-1,
            optimum=lambda size: optimum(read_number(size)),
            is_small=True,
        ),
        Experiment(
            name="small-boxes",
            family="boxes",
            title="Largest risk in a box",
            axis="percent of the range (50x6 networks)",
            sizes=("10", "25", "50"),
            beyond=("100",),
            short=("25",),
            files=find_boxes,
            build=build_boxes,
            order=read_box_size,
            sign=-1,
            is_small=True,
        ),
    )
}


def of_family(family: str) -> Experiment:
    """Any experiment that builds the instances of a family."""
    return next(e for e in EXPERIMENTS.values() if e.family == family)


def experiment_of(family: str, size: str) -> Experiment:
    """The first experiment that a size of a family is in; any of the family for a size that is in none."""
    return next((e for e in EXPERIMENTS.values() if belongs(e, family, size)), of_family(family))


def belongs(experiment: Experiment, family: str, size: str) -> bool:
    """Whether a record is in the sweep of an experiment."""
    return experiment.family == family and experiment.order(size) is not None
