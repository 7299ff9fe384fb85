"""The cases of the race: named problems, the methods that run on each of them by default, and their time.

A family of cases is a function in `FAMILIES`; what it lists may depend on the data that is here. Building is put off until a case is run.
Those with smooth and convolutional networks are in `smooth_cases.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from benchmarks.harness.metrics import references
from benchmarks.harness.records import RESULTS, read_records
from benchmarks.problems import admission, avoidance, grids
from benchmarks.problems.commitment import WRITINGS, build_commitment
from benchmarks.problems.experiments import EXPERIMENTS, NUM_TRIALS
from benchmarks.problems.many_inputs import build_many_inputs, many_inputs_sizes
from benchmarks.problems.pooling import optimum, pooling_from_two_starts
from benchmarks.problems.qp import build_qp, network_path, read_qp_size
from benchmarks.problems.water import build_water
from benchmarks.problems.water_variants import VARIANTS, build_variant, repeated
from benchmarks.studies.integers import OPTIMA, build_case
from benchmarks.studies.people_cases import people_cases
from benchmarks.studies.race_case import Case
from benchmarks.studies.smooth_cases import SMOOTH_FAMILIES

QP_SECONDS, POOLING_SECONDS, GRID_SECONDS, AVOIDANCE_SECONDS, MANY_INPUTS_SECONDS, INTEGER_SECONDS = 30.0, 30.0, 2.0, 20.0, 40.0, 10.0
POOLING_SIZES = (5, 6, 7)
# Of the blocks: seconds of each run by problem, writings that are the same problem, sizes of those that are not, and of the others.
WATER_SECONDS, ADMISSION_SECONDS, REPEATED_SECONDS = 30.0, {250: 10.0, 2500: 60.0}, 60.0
SAME_WRITINGS, OTHER_SIZES, REPEATED_SIZES = ("scores", "big-m"), (100, 800), (1065, 10_000, 100_000)
COMMITMENT_SECONDS, NUM_DAYS = 60.0, 3


def qp_cases() -> list[Case]:
    """All sizes of the paper and beyond it, every trial whose network has been trained."""
    sizes = dict.fromkeys(size for name in ("qp-width", "qp-depth") for size in (*EXPERIMENTS[name].sizes, *EXPERIMENTS[name].beyond))
    return [
        Case(
            f"qp-{size}-{trial}",
            partial(build_qp, size, trial),
            ("dcembed", "ipopt", "ipopt-lbfgs"),
            QP_SECONDS,
            partial(_recorded, "qp", size, trial),
        )
        for size in sizes
        for trial in range(NUM_TRIALS)
        if network_path(*read_qp_size(size)[:2], trial).is_file()
    ]


def pooling_cases() -> list[Case]:
    """From nothing built, and from one source, pool and terminal."""
    return [
        Case(f"pooling-{m}", partial(pooling_from_two_starts, m), ("dcembed",), POOLING_SECONDS, partial(optimum, m)) for m in POOLING_SIZES
    ]


def grid_cases() -> list[Case]:
    """Small networks in one and two inputs, whose optimum a grid shows."""
    return [
        Case(
            f"grid-{number}",
            lambda number=number: grids.build_grid_problem(number).instance,
            ("dcembed",),
            GRID_SECONDS,
            lambda number=number: grids.build_grid_problem(number).optimum,
        )
        for number in range(grids.NUM_PROBLEMS)
    ]


def avoidance_cases() -> list[Case]:
    """Extremes and margins of networks with five inputs over boxes."""
    return [
        Case(f"avoidance-{number}", partial(avoidance.build_avoidance, number), ("dcembed", "attack"), AVOIDANCE_SECONDS)
        for number in range(avoidance.NUM_PROBLEMS)
    ]


def many_inputs_cases() -> list[Case]:
    """One output of a network in hundreds and thousands of inputs over a ball."""
    return [
        Case(f"many-{size}", partial(build_many_inputs, size, 0), ("dcembed", "attack"), MANY_INPUTS_SECONDS)
        for size in many_inputs_sizes()
    ]


def integer_cases() -> list[Case]:
    """Small networks behind many integers, with the full encoding beside them."""
    return [Case(name, partial(build_case, name), ("dcembed", "big-m"), INTEGER_SECONDS, lambda name=name: OPTIMA[name]) for name in OPTIMA]


def block_cases() -> list[Case]:
    """Hosts that fall into blocks once a few rows are taken out: water treatment in many writings and sizes, and scholarships.

    The objective of water treatment is minus the count. What is known of the scholarships is a bound, so that "off best" is the gap to it.
    """
    rivals = "dcembed", "dual-decomposition"
    cohorts = [(int(size), cohort) for size in EXPERIMENTS["water"].sizes for cohort in range(NUM_TRIALS)]
    plain = [Case(f"blocks-water-{n}-{k}", partial(build_water, str(n), k), (*rivals, "greedy"), WATER_SECONDS) for n, k in cohorts]
    writings = {name: cohorts if name in SAME_WRITINGS else [(n, 0) for n in OTHER_SIZES] for name in VARIANTS}
    others = [
        Case(f"blocks-{name}-{n}-{k}", partial(build_variant, name, n, k), rivals, WATER_SECONDS)
        for name, sizes in writings.items()
        for n, k in sizes
    ]
    many = [Case(f"blocks-repeated-{n}", partial(repeated, n), rivals, REPEATED_SECONDS) for n in REPEATED_SIZES]
    scholarships = [
        Case(f"blocks-admission-{n}", partial(admission.build_admission, n), rivals, seconds, partial(_admission_bound, n))
        for n, seconds in ADMISSION_SECONDS.items()
    ]
    return [*plain, *others, *many, *scholarships]


def _admission_bound(num_applicants: int) -> float:
    return admission.lagrangian_bound(admission.build_admission(num_applicants))


def commitment_cases() -> list[Case]:
    """Units over a day, in both writings, with the full encoding beside them."""
    return [
        Case(f"commitment-{writing}-{seed}", partial(build_commitment, writing, seed), ("dcembed", "big-m"), COMMITMENT_SECONDS)
        for writing in WRITINGS
        for seed in range(NUM_DAYS)
    ]


FAMILIES: dict[str, Callable[[], list[Case]]] = {
    "qp": qp_cases,
    "pooling": pooling_cases,
    "grid": grid_cases,
    "avoidance": avoidance_cases,
    "many": many_inputs_cases,
    "integers": integer_cases,
    "blocks": block_cases,
    "commitment": commitment_cases,
    **SMOOTH_FAMILIES,
    "people": people_cases,
}


def find_cases(names: Iterable[str]) -> list[Case]:
    """Cases by their names, by how those begin or by their family: qp-64x3-0, qp-64x3 for all its trials, integers. All for no name."""
    families = {name: {case.name: case for case in family()} for name, family in FAMILIES.items()}
    cases = {key: case for family in families.values() for key, case in family.items()}
    chosen: dict[str, Case] = {}
    for name in names:
        found = families.get(name) or {key: case for key, case in cases.items() if key == name or key.startswith(f"{name}-")}
        if not found:
            raise ValueError(f"unknown case {name!r}; accepted: {', '.join(cases)}, or how they begin")
        chosen |= found
    return list((chosen or cases).values())


def _recorded(family: str, size: str, trial: int) -> float | None:
    """The best objective in the committed records."""
    return references(read_records(RESULTS / "records.csv")).get((family, size, trial))
