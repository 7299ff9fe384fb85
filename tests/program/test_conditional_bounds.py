"""Bounds of columns while a binary has one of its values."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dcembed import Indicator, Program
from dcembed.program.conditional_bounds import ConditionalBounds, find_conditional_bounds
from dcembed.program.tightening import tighten


def bounds_of(program: Program) -> ConditionalBounds:
    return find_conditional_bounds(program, tighten(program))


def look(bounds: ConditionalBounds, column: int, binary: int, value: int) -> tuple[float, float]:
    low, high = bounds.at(np.array([column]), np.array([binary]), np.array([value]))
    return float(low[0]), float(high[0])


def test_rows_and_indicators_over_one_column_count():
    # Columns x, y, z: 2 z <= x <= 5 z, and z = 0 => y >= 3.
    program = Program(
        cost=np.zeros(3),
        rows=[[1.0, 0.0, -5.0], [-1.0, 0.0, 2.0]],
        row_ub=0.0,
        lb=[-9.0, -9.0, 0.0],
        ub=[9.0, 9.0, 1.0],
        integer=[2],
        indicators=[Indicator(2, 0, [0.0, -1.0, 0.0], ub=-3.0)],
    )
    bounds = bounds_of(program)
    assert look(bounds, 0, 2, 0) == (0.0, 0.0)
    assert look(bounds, 0, 2, 1) == (2.0, 5.0)
    assert look(bounds, 1, 2, 0) == (3.0, 9.0)
    assert look(bounds, 1, 2, 1) == (-9.0, 9.0)
    assert look(bounds, 2, 2, 1) == (1.0, 1.0)


def test_longer_rows_and_other_integers_say_nothing():
    rows = [[1.0, 1.0, -5.0, 0.0], [1.0, 0.0, 0.0, -5.0]]
    program = Program(cost=np.zeros(4), rows=rows, row_ub=0.0, lb=[-9.0, -9.0, 0.0, 0.0], ub=[9.0, 9.0, 1.0, 3.0], integer=[2, 3])
    bounds = bounds_of(program)
    assert bounds.key.size == 0
    assert look(bounds, 0, 2, 0) == (-9.0, 9.0)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_points_keep_them(seed):
    rng = np.random.default_rng(seed)
    rows = np.zeros((4, 4))
    rows[np.arange(4), rng.integers(0, 2, 4)] = rng.normal(size=4)
    rows[np.arange(4), rng.integers(2, 4, 4)] = rng.normal(size=4) * 3
    program = Program(
        cost=np.zeros(4), rows=rows, row_lb=-2.0, row_ub=rng.uniform(0, 1, 4), lb=[-2, -2, 0, 0], ub=[2, 2, 1, 1], integer=[2, 3]
    )
    bounds = bounds_of(program)
    points = np.hstack([rng.uniform(-2, 2, (300, 2)), rng.integers(0, 2, (300, 2))])
    inside = ((points @ rows.T >= program.row_lb) & (points @ rows.T <= program.row_ub)).all(axis=1)
    for column in (0, 1):
        for binary in (2, 3):
            some = points[inside]
            low, high = bounds.at(np.full(len(some), column), np.full(len(some), binary), some[:, binary].astype(int))
            assert np.all((low <= some[:, column] + 1e-9) & (some[:, column] <= high + 1e-9))
