"""Multipliers of the rows: what one more unit of a right-hand side brings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dcembed import ConeConstraint, Indicator, Program
from dcembed.solvers import BACKENDS, Limits, SessionOptions, is_installed
from dcembed.solvers.failover import LastingSession, Solver

LIMITS = Limits(seconds=200.0)
HOST = {
    "rows": [[1.0, 1.0, 0.0], [1.0, 0.0, -1.0], [0.0, 1.0, 1.0], [1.0, 2.0, 3.0]],
    "row_lb": [-np.inf, 0.2, 0.6, -np.inf],
    "row_ub": [1.0, 0.2, np.inf, np.inf],
    "lb": 0.0,
    "ub": 2.0,
}
LINEAR = Program(cost=[-1.0, -0.5, 0.4], **HOST)
PROGRAMS = {
    "LP": LINEAR,
    "QP": Program(cost=[-1.0, -0.5, 0.4], quadratic=np.diag([1.0, 2.0, 0.5]), **HOST),
    "SOCP": replace(LINEAR, cones=[ConeConstraint([[0.0] * 3, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.8, 0.0, 0.0])]),
}
PAIRS = [("highs", "LP"), ("piqp", "LP"), ("piqp", "QP"), ("clarabel", "LP"), ("clarabel", "QP"), ("clarabel", "SOCP")]


def value(program: Program, name: str) -> float:
    solution = BACKENDS[name].open(program, SessionOptions()).solve(LIMITS)
    return program.objective(solution.x)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_multipliers_are_what_a_unit_of_a_side_brings(name, kind):
    if not is_installed(BACKENDS[name]):
        pytest.skip(f"{name} is not installed")
    program = PROGRAMS[kind]
    duals = BACKENDS[name].open(program, SessionOptions()).solve(LIMITS).duals
    assert duals.shape == (4,)
    step = 1e-4
    for row in range(4):
        lb, ub = program.row_lb.copy(), program.row_ub.copy()
        lb[row] += step
        ub[row] += step
        change = (value(replace(program, row_lb=lb, row_ub=ub), name) - value(program, name)) / step
        # More room above a tight upper side lowers the minimum by its multiplier.
        assert change == pytest.approx(-duals[row], abs=2e-3)
    assert np.abs(duals).max() > 0.1


def test_rows_that_stand_for_indicators_are_not_counted():
    on = Indicator(2, 1, [1.0, 0.0, 0.0], ub=0.3)
    program = replace(LINEAR, integer=[2], indicators=[on], lb=[0.0, 0.0, 0.0], ub=[2.0, 2.0, 1.0])
    session = LastingSession(program, Solver(BACKENDS["highs"], SessionOptions()))
    solution = session.solve(LIMITS, relax=True)
    assert solution.duals is None or solution.duals.shape == (4,)
    session.close()
