"""Every method honours every part of a host, or refuses it by name.

Each problem has one part more than a box, a network in the objective, and an optimum that is known from a grid; without that part
the best point would lie elsewhere, so a method that loses it is seen.
"""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import ConeConstraint, Embedding, Indicator, Program, QuadraticConstraint, Status, verify
from dcembed.baselines import BASELINES
from dcembed.embedded.verify import measure_host
from dcembed.errors import InputError
from problems import EVERY_BASELINE, quiet, random_mlp

NETWORK = random_mlp(3, (2, 6, 1))
# Columns: two inputs, a binary, the prediction.
BOX = {"lb": [-1.0, -1.0, 0.0, -np.inf], "ub": [1.0, 1.0, 1.0, np.inf]}
COST = [-1.0, -1.2, 0.1, 0.2]

PARTS = {
    "rows": {"rows": [[1.0, 1.0, 0.0, 0.0]], "row_ub": 0.5},
    "equality": {"rows": [[1.0, -2.0, 0.0, 0.0]], "row_lb": 0.25, "row_ub": 0.25},
    "quadratic objective": {"quadratic": np.diag([4.0, 3.0, 0.0, 0.0])},
    "concave": {"quadratic": np.diag([4.0, 3.0, 0.0, 0.0]), "concave": 3.0 * np.array([[1, -1, 0, 0], [-1, 1, 0, 0], [0] * 4, [0] * 4])},
    "offset": {"offset": 5.0},
    "maximize": {"cost": [1.0, 1.2, -0.1, -0.2], "maximize": True},
    "integers": {"integer": [0], "ub": [0.6, 1.0, 1.0, np.inf]},
    "indicators": {"integer": [2], "lb": [-1.0, -1.0, 1.0, -np.inf], "indicators": [Indicator(2, 1, [1.0, 0.0, 0.0, 0.0], ub=0.2)]},
    "quadratic constraints": {"quadratic_constraints": [QuadraticConstraint(np.diag([2.0, 2.0, 0.0, 0.0]), ub=0.5)]},
    "cones": {"cones": [ConeConstraint([[0.0] * 4, [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]], [0.6, 0.0, 0.0])]},
}

# These use all the time they are given; a number of steps, rounds or passes is enough here.
LIMITS = {
    "pgd": {"time_limit": np.inf, "max_iterations": 300},
    "attack": {"time_limit": np.inf, "max_iterations": 2},
    "relax-and-walk": {"time_limit": np.inf, "max_iterations": 2},
    "dual-decomposition": {"time_limit": np.inf, "max_iterations": 8},
}
ENGINE = ("lazy", "shared", "two-path")
METHODS = {
    **{name: lambda *a, f=name: dcembed.solve(*a, options=quiet(formulation=f, time_limit=200.0)) for name in ENGINE},
    **{name: lambda *a, f=name: BASELINES[f](*a, options=quiet(**LIMITS.get(f, {"time_limit": 200.0}))) for name in BASELINES},
}

# What a method does not take, and the words it says so with.
REFUSED = {
    (method, part): "continuous hosts only, but this one has 1 integer columns"
    for method in ("pgd", "ipopt", "ipopt-lbfgs", "attack", "relax-and-walk")
    for part in ("integers", "indicators")
}
REFUSED |= {("attack", part): "boxes and balls only, but this host has 1 rows" for part in ("rows", "equality")}
CONVEX_ONLY = ("big-m", "big-m-obbt", "big-m-cuts", "complementarity", "relax-and-walk")
REFUSED |= {(method, "concave"): "takes convex objectives only" for method in CONVEX_ONLY}
REFUSED |= {("relax-and-walk", part): "polyhedra only" for part in ("quadratic constraints", "cones")}


def problem(part: str | None) -> tuple[Program, Embedding]:
    return Program(**{"cost": COST, **BOX, **PARTS.get(part, {})}), Embedding(NETWORK, [0, 1], [3])


def grid_best(part: str | None) -> float:
    """The best objective of a grid, in the sense of the program."""
    program, embedding = problem(part)
    first = np.linspace(-1, 1, 81)
    x, y = (axis.reshape(-1) for axis in np.meshgrid(first, first))
    if part == "equality":
        # It has few points on any grid: one of its columns follows from the other.
        x, y = first, (first - 0.25) / 2
    points = np.column_stack([x, y, np.full(x.size, program.lb[2]), embedding.network(np.column_stack([x, y]))[:, 0]])
    measured = [measure_host(program, w) for w in points]
    return program.sense * min(program.sense * objective for objective, violation in measured if violation <= 1e-9)


@pytest.fixture(scope="module")
def optima() -> dict[str, float]:
    return {part: grid_best(part) for part in PARTS}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("method", [*ENGINE, *EVERY_BASELINE.args[1]])
def test_a_part_of_the_host_is_honoured_or_refused_by_name(method, part, optima):
    program, embedding = problem(part)
    if (method, part) in REFUSED:
        with pytest.raises(InputError, match=REFUSED[method, part]):
            METHODS[method](program, embedding, None)
        return
    result = METHODS[method](program, embedding, None)
    assert result.is_feasible, (result, result.worst_violations)
    assert verify(program, [embedding], result.x).violation <= 1e-5
    # Nothing that is feasible can be better than the best by more than a step of the grid.
    assert program.sense * (result.objective - optima[part]) >= -0.05
    if result.status is Status.OPTIMAL or (part == "concave" and method in ENGINE):
        assert result.objective == pytest.approx(optima[part], abs=0.05)


@pytest.mark.parametrize("part", [part for part in PARTS if part not in ("offset", "maximize", "quadratic objective", "concave")])
def test_without_the_part_the_best_point_would_violate_it(part):
    # Otherwise the test above could not see it lost.
    program, embedding = problem(part)
    bare, _ = problem(None)
    free = METHODS["big-m"](bare, embedding, None)
    assert free.status is Status.OPTIMAL
    w = free.x.copy()
    w[2] = program.lb[2]
    assert verify(program, [embedding], w).violation > 1e-2
