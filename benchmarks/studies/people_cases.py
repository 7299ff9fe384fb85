"""The cases of the race that people have: each beside the packages that they would pick for it.

Integer hosts have Gurobi ML (recorded as too large where its licence that comes with the package does not carry the model), PySCIPOpt-ML on
SCIP and OMLT on HiGHS; continuous ones both variants of Ipopt; blocks the dual decomposition; pictures the attack. dcembed takes part
twice, as it is and with a proof, whose bound is shown.
"""

from __future__ import annotations

from functools import partial

from benchmarks.problems.admission import build_admission, lagrangian_bound
from benchmarks.problems.budgeting import build_budgeting
from benchmarks.problems.digits import build_digits
from benchmarks.problems.facilities import build_facilities
from benchmarks.problems.heat_pump import build_heat_pump
from benchmarks.problems.instance import Instance
from benchmarks.problems.interdiction import build_interdiction
from benchmarks.problems.molecule import build_molecule
from benchmarks.problems.prices import build_prices
from benchmarks.problems.process import build_process
from benchmarks.problems.scenario_design import enumerated_optimum
from benchmarks.problems.servers import build_servers
from benchmarks.studies.own_methods import PROVED
from benchmarks.studies.race_case import Case

SECONDS, NUM_SEEDS = 30.0, 2
OURS = ("dcembed", PROVED)
PACKAGES, SOLVERS = (*OURS, "gurobi-ml", "pyscipopt-ml", "omlt"), (*OURS, "ipopt", "ipopt-lbfgs")
NUM_SCENARIOS = 100
KINDS = ("64x2-8-relu", "cnn-8-relu", "256x2-28-relu", "cnn-28-relu")


def people_cases() -> list[Case]:
    """All of them."""
    return [*_energy_and_prices(), *_designs(), *_robust_and_bilevel(), *_two_stage(), *_blocks_and_pictures()]


def _case(name: str, build: partial[Instance], methods: tuple[str, ...], **more) -> Case:
    return Case(f"people-{name}", build, methods, SECONDS, **more)


def _energy_and_prices() -> list[Case]:
    pumps = [_case(f"heat-pump-{seed}", partial(build_heat_pump, seed), PACKAGES) for seed in range(NUM_SEEDS)]
    grid = [_case(f"prices-grid-{kinds}", partial(build_prices, "grid", kinds, 0), PACKAGES) for kinds in (1, 2)]
    # Gurobi, SCIP and Ipopt all take a quadratic objective that is not convex.
    free = [
        _case(f"prices-free-{kinds}", partial(build_prices, "free", kinds, 0), (*SOLVERS, "gurobi-ml", "pyscipopt-ml")) for kinds in (1, 2)
    ]
    return [*pumps, *grid, *free]


def _designs() -> list[Case]:
    molecules = [_case(f"molecule-{seed}", partial(build_molecule, seed), PACKAGES) for seed in range(NUM_SEEDS)]
    plants = [_case(f"process-{size}", partial(build_process, size, 0), SOLVERS) for size in (4, 16)]
    return [*molecules, *plants]


def _robust_and_bilevel() -> list[Case]:
    robust = [_case(f"budgeting-{number}", partial(build_budgeting, number, 0), PACKAGES) for number in (10, 40)]
    return [
        *robust,
        *(_case(f"interdiction-{writing}", partial(build_interdiction, writing, 0), PACKAGES) for writing in ("upper", "lower")),
    ]


def _two_stage() -> list[Case]:
    builders = {
        "facilities-10": partial(build_facilities, 10, "scenarios", NUM_SCENARIOS, 0),
        "facilities-25": partial(build_facilities, 25, "scenarios", NUM_SCENARIOS, 0),
        "facilities-50": partial(build_facilities, 50, "scenarios", NUM_SCENARIOS, 0),
        "facilities-50-expected": partial(build_facilities, 50, "expected", 1, 0),
        "servers-10x50": partial(build_servers, "10x50", NUM_SCENARIOS, 0),
        "servers-15x45": partial(build_servers, "15x45", NUM_SCENARIOS, 0),
    }
    return [_case(name, build, PACKAGES, best_known=partial(_enumerated, build)) for name, build in builders.items()]


def _enumerated(build: partial[Instance]) -> float | None:
    return enumerated_optimum(build())


def _lagrangian(num_applicants: int) -> float:
    """A bound, so that "off best" is the gap to it."""
    return lagrangian_bound(build_admission(num_applicants))


def _blocks_and_pictures() -> list[Case]:
    blocks = [
        _case(f"admission-{n}", partial(build_admission, n), (*OURS, "dual-decomposition", "ipopt"), best_known=partial(_lagrangian, n))
        for n in (250, 2500)
    ]
    pictures = [_case(f"digits-{kind}", partial(build_digits, kind, 0), (*OURS, "attack", "ipopt")) for kind in KINDS]
    return [*blocks, *pictures]
