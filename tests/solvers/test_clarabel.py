"""Clarabel: what is particular about it."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed import ConeConstraint, Program, QuadraticConstraint
from dcembed.solvers import BACKENDS, Limits, SolveStatus, is_installed
from solvers.problems import banded_qp, solve

pytestmark = pytest.mark.skipif(not is_installed(BACKENDS["clarabel"]), reason="clarabel is not installed")


def test_a_long_solve_is_interrupted_between_iterations():
    asked = []

    def interrupted() -> bool:
        asked.append(True)
        return len(asked) == 3

    solution = solve("clarabel", banded_qp(500, 500), Limits(interrupted=interrupted))
    assert solution.status is SolveStatus.INTERRUPTED
    assert solution.x is None
    assert len(asked) == 3


def test_a_time_limit_ends_a_solve():
    solution = solve("clarabel", banded_qp(20_000, 20_000), Limits(seconds=1e-3))
    assert solution.status is SolveStatus.TIME_LIMIT
    assert solution.x is None


def test_quadratic_constraints_of_every_form():
    # A disc around (1, 0), a paraboloid y >= x^2 and a half-plane without any quadratic term.
    disc = QuadraticConstraint(2 * np.eye(2), [-2.0, 0.0], 0.0)
    parabola = QuadraticConstraint([[2.0, 0.0], [0.0, 0.0]], [0.0, -1.0], 0.0)
    plane = QuadraticConstraint(np.zeros((2, 2)), [1.0, 0.0], 0.5)
    x = solve("clarabel", Program(cost=[-1.0, 0.0], quadratic_constraints=[disc, parabola])).x
    assert x[0] ** 2 == pytest.approx(x[1], abs=1e-5)
    assert (x[0] - 1) ** 2 + x[1] ** 2 == pytest.approx(1.0, abs=1e-5)
    x = solve("clarabel", Program(cost=[-1.0, 0.0], quadratic_constraints=[disc, plane])).x
    assert x[0] == pytest.approx(0.5, abs=1e-6)


def test_an_empty_disc_is_infeasible():
    program = Program(cost=[1.0], quadratic_constraints=[QuadraticConstraint([[2.0]], None, -1.0)])
    assert solve("clarabel", program).status is SolveStatus.INFEASIBLE


def test_a_quadratic_objective_and_a_cone():
    cone = ConeConstraint([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 0.0, 0.0])
    program = Program(cost=[-6.0, -8.0], quadratic=2 * np.eye(2), cones=[cone])  # the nearest point to (3, 4)
    assert solve("clarabel", program).x == pytest.approx([0.6, 0.8], abs=1e-5)
