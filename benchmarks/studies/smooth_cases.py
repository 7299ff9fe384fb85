"""The cases of the race with smooth and with convolutional networks, beside Ipopt, the attack and the packages that take such networks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.problems.digits import KINDS, build_digits, digits_path
from benchmarks.problems.dispatch import dispatch_instance
from benchmarks.problems.experiments import NUM_TRIALS
from benchmarks.problems.instance import Instance
from benchmarks.problems.lots import lots_instance
from benchmarks.problems.process import build_process
from benchmarks.problems.qp import network_path, read_qp_size
from benchmarks.problems.smooth_qp import ACTIVATIONS, SIZES, build_smooth_qp
from benchmarks.problems.smooth_water import build_smooth_water
from benchmarks.studies.race_case import Case
from dcembed.network.activations import find_activation

QP_SECONDS, WATER_SECONDS, DIGITS_SECONDS, PROCESS_SECONDS, INTEGER_SECONDS = 30.0, 30.0, 30.0, 20.0, 20.0
WATER_SIZES, NUM_PICTURES, NUM_SCENARIOS = (25, 100), 3, (1, 4, 16)
SOLVERS, PACKAGES = ("dcembed", "ipopt", "ipopt-lbfgs"), ("pyscipopt-ml", "omlt")
# Families with integers, and sizes and seeds of each.
INTEGER_FAMILIES = {"dispatch": dispatch_instance, "lots": lots_instance}
INTEGER_ACTIVATIONS, INTEGER_SIZES = (
    ("tanh", "softplus"),
    {"dispatch": ((2, 1), (3, 0), (4, 0), (4, 1)), "lots": ((2, 0), (3, 0), (4, 0), (4, 1))},
)


def smooth_qp_cases() -> list[Case]:
    """The QPs with smooth networks, every trial whose network has been trained."""
    return [
        Case(f"smooth-qp-{activation}-{size}-{trial}", partial(build_smooth_qp, activation, size, trial), SOLVERS, QP_SECONDS)
        for activation in ACTIVATIONS
        for size in SIZES
        for trial in range(NUM_TRIALS)
        if network_path(*read_qp_size(size)[:2], trial, activation).is_file()
    ]


def smooth_water_cases() -> list[Case]:
    """Water treatment with a tanh classifier; the objective is minus the count. The packages take part in the smallest size only."""
    rivals = ("dcembed", "greedy", "dual-decomposition")
    return [
        Case(
            f"smooth-water-tanh-{n}-{cohort}",
            partial(build_smooth_water, "tanh", n, cohort),
            (*rivals, *PACKAGES) if n == WATER_SIZES[0] else rivals,
            WATER_SECONDS,
        )
        for n in WATER_SIZES
        for cohort in range(NUM_TRIALS)
    ]


def digits_cases() -> list[Case]:
    """Convolutional and dense networks over balls around pictures."""
    return [
        Case(f"digits-{kind}-{number}", partial(build_digits, kind, number), (*SOLVERS, "attack"), DIGITS_SECONDS)
        for kind in KINDS
        for number in range(NUM_PICTURES)
        if digits_path(kind).is_file()
    ]


def process_cases() -> list[Case]:
    """A plant with surrogates of its units, for more and more scenarios."""
    return [
        Case(f"process-{size}-{seed}", partial(build_process, size, seed), SOLVERS, PROCESS_SECONDS)
        for size in NUM_SCENARIOS
        for seed in range(NUM_TRIALS)
    ]


def smooth_integer_cases() -> list[Case]:
    """Small smooth networks behind many integers, with the packages that take them."""
    return [
        Case(
            f"smooth-integers-{family}-{activation}-{size}-{seed}",
            partial(_build_integers, family, activation, size, seed),
            ("dcembed", *PACKAGES),
            INTEGER_SECONDS,
        )
        for family, sizes in INTEGER_SIZES.items()
        for activation in INTEGER_ACTIVATIONS
        for size, seed in sizes
    ]


def _build_integers(family: str, activation: str, size: int, seed: int) -> Instance:
    return INTEGER_FAMILIES[family](size, seed, find_activation(activation))


SMOOTH_FAMILIES: dict[str, Callable[[], list[Case]]] = {
    "smooth-qp": smooth_qp_cases,
    "smooth-water": smooth_water_cases,
    "digits": digits_cases,
    "process": process_cases,
    "smooth-integers": smooth_integer_cases,
}
