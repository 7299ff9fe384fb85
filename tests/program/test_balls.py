"""Balls among curved constraints, and the way into them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from dcembed import ConeConstraint, Program, QuadraticConstraint
from dcembed.program.balls import find_balls, pull_into
from strategies import seeds


def program_with(**curved) -> Program:
    return Program(cost=np.zeros(3), lb=-np.ones(3), ub=np.ones(3), **curved)


def test_a_cone_with_a_constant_head_and_a_round_quadratic_are_balls():
    cone = ConeConstraint([[0.0] * 3, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.5, -0.2, 0.1])
    quadratic = QuadraticConstraint(np.diag([0.0, 4.0, 4.0]), [0.0, -2.0, 0.0], 0.5)
    found = find_balls(program_with(cones=[cone], quadratic_constraints=[quadratic]))
    assert [ball.columns.tolist() for ball in found] == [[1, 2], [0, 1]]
    assert found[0].center == pytest.approx([0.5, 0.0])
    assert found[0].radius == pytest.approx(np.sqrt(0.5))
    assert found[1].center == pytest.approx([0.2, -0.1])
    assert found[1].radius == pytest.approx(0.5)


def test_what_is_not_round_is_no_ball():
    ellipse = QuadraticConstraint(np.diag([1.0, 2.0, 0.0]), ub=1.0)
    tilted = QuadraticConstraint(np.diag([1.0, 1.0, 0.0]), [0.0, 0.0, 1.0], 1.0)
    headed = ConeConstraint([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert find_balls(program_with(quadratic_constraints=[ellipse, tilted], cones=[headed])) == [None, None, None]


@given(seeds())
def test_points_are_pulled_into_ball_and_box(seed):
    rng = np.random.default_rng(seed)
    ball = find_balls(program_with(quadratic_constraints=[QuadraticConstraint(2 * np.eye(3), ub=float(rng.uniform(0.01, 3)))]))[0]
    lb, ub = -rng.uniform(0.1, 1, 3), rng.uniform(0.1, 1, 3)
    points = rng.normal(size=(20, 3)) * 10 ** rng.uniform(-2, 2)
    pulled = pull_into(ball, points, lb, ub)
    assert (np.linalg.norm(pulled - ball.center, axis=1) <= ball.radius * (1 + 1e-12)).all()
    assert ((pulled >= lb - 1e-12) & (pulled <= ub + 1e-12)).all()
    inside = (np.linalg.norm(points - ball.center, axis=1) <= ball.radius) & ((points >= lb) & (points <= ub)).all(axis=1)
    assert np.array_equal(pulled[inside], points[inside])
