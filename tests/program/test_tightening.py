"""Bounds that the rows imply."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcembed import ConeConstraint, Program, QuadraticConstraint
from dcembed.program import tightening
from dcembed.program.cones import as_cone
from dcembed.program.tightening import tighten
from strategies import seeds


@st.composite
def systems(draw, scales=(1.0, 1e-3, 1e3, 1e6)):
    """Rows and bounds that a few chosen points satisfy, some of them as equalities, with those points."""
    rng = np.random.default_rng(draw(seeds()))
    n, m, k = (draw(st.integers(1, high)) for high in (5, 6, 3))
    integer = rng.random(n) < 0.4
    points = rng.normal(size=(k, n)) * rng.choice([1.0, 10.0, 1e4], size=n)
    points[:, integer] = np.round(points[:, integer])
    rows = rng.normal(size=(m, n)) * rng.choice(scales, size=(m, n)) * (rng.random((m, n)) < 0.7)
    activity = points @ rows.T
    row_lb, row_ub = _around(rng, activity)
    lb, ub = _around(rng, points)
    return Program(cost=np.zeros(n), rows=rows, row_lb=row_lb, row_ub=row_ub, lb=lb, ub=ub, integer=integer), points


def _around(rng: np.random.Generator, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Limits that all values keep, sharp or with room, or none."""
    size = values.shape[1]
    low = values.min(axis=0) - rng.choice([0.0, 1.0], size=size)
    high = values.max(axis=0) + rng.choice([0.0, 1.0], size=size)
    return np.where(rng.random(size) < 0.4, -np.inf, low), np.where(rng.random(size) < 0.4, np.inf, high)


@settings(max_examples=300)
@given(systems())
def test_no_feasible_point_is_cut_off(system):
    program, points = system
    lb, ub = tighten(program)
    assert (lb <= points).all()
    assert (points <= ub).all()


@given(systems())
def test_implied_bounds_are_no_wider_than_the_given_ones_and_ordered(system):
    program, _ = system
    lb, ub = tighten(program)
    assert (lb >= program.lb).all()
    assert (ub <= program.ub).all()
    assert (lb <= ub).all()


@given(systems())
def test_the_program_itself_is_left_alone(system):
    program, _ = system
    before = program.lb.copy(), program.ub.copy()
    tighten(program)
    assert np.array_equal(program.lb, before[0])
    assert np.array_equal(program.ub, before[1])


def test_a_budget_bounds_every_column_above():
    lb, ub = tighten(Program(cost=np.zeros(3), rows=[[1.0, 2.0, 4.0]], row_ub=8.0, lb=0.0))
    assert np.allclose(ub, [8.0, 4.0, 2.0])
    assert (lb == 0.0).all()


def test_an_equality_bounds_the_free_column_on_both_sides():
    lb, ub = tighten(Program(cost=np.zeros(2), rows=[[1.0, -2.0]], row_lb=1.0, row_ub=1.0, lb=[-np.inf, 0.0], ub=[np.inf, 3.0]))
    assert np.allclose([lb[0], ub[0]], [1.0, 7.0])


def test_bounds_travel_along_a_chain_of_rows():
    rows = [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]
    lb, ub = tighten(Program(cost=np.zeros(3), rows=rows, row_lb=0.0, row_ub=0.0, lb=[0.0, -np.inf, -np.inf], ub=[2.0, np.inf, np.inf]))
    assert np.allclose(lb, 0.0)
    assert np.allclose(ub, 2.0)


def test_two_free_columns_in_a_row_imply_nothing():
    lb, ub = tighten(Program(cost=np.zeros(2), rows=[[1.0, 1.0]], row_lb=0.0, row_ub=1.0))
    assert (lb == -np.inf).all()
    assert (ub == np.inf).all()


def test_bounds_of_integers_are_rounded_inwards():
    lb, ub = tighten(Program(cost=np.zeros(2), rows=[[2.0, 0.0], [0.0, 2.0]], row_lb=1.0, row_ub=5.0, integer=[0]))
    assert (lb[0], ub[0]) == (1.0, 2.0)
    assert np.allclose([lb[1], ub[1]], [0.5, 2.5])


def test_rows_that_contradict_each_other_are_left_to_the_solver():
    lb, ub = tighten(Program(cost=np.zeros(2), rows=[[1.0, 0.0], [1.0, 0.0]], row_lb=[3.0, -np.inf], row_ub=[np.inf, 1.0], lb=0.0))
    assert not np.isnan([lb, ub]).any()
    assert (lb <= ub).all()


def test_an_interval_without_an_integer_is_left_to_the_solver():
    lb, ub = tighten(Program(cost=[0.0], rows=[[10.0]], row_lb=3.0, row_ub=6.0, integer=[0]))
    assert not np.isnan([lb, ub]).any()


@given(seeds())
def test_contradictions_never_crash(seed):
    rng = np.random.default_rng(seed)
    n, m = 3, 6
    middle = rng.normal(size=m) * 5
    rows = rng.normal(size=(m, n))
    lb, ub = tighten(Program(cost=np.zeros(n), rows=rows, row_lb=middle, row_ub=middle + 0.1, lb=-1.0, ub=1.0, integer=rng.random(n) < 0.5))
    assert np.isfinite([lb, ub]).all()


def test_no_rows_imply_nothing():
    lb, ub = tighten(Program(cost=np.zeros(2), lb=0.0))
    assert lb.tolist() == [0.0, 0.0]
    assert ub.tolist() == [np.inf, np.inf]


def test_rows_are_taken_in_parts_and_left_when_it_is_over(monkeypatch):
    rng = np.random.default_rng(0)
    inside = rng.normal(size=4)
    rows = rng.normal(size=(12, 4))
    program = Program(np.zeros(4), rows=rows, row_lb=rows @ inside - 0.1, row_ub=rows @ inside + 0.1, lb=-9.0, ub=9.0)
    whole = tighten(program)
    monkeypatch.setattr(tightening, "CHUNK_ENTRIES", 7)
    parts, asked = tighten(program), []
    # A later part begins from the bounds of those before it.
    assert (parts.ub - parts.lb <= whole.ub - whole.lb + 1e-9).all()
    assert (parts.lb <= inside).all()
    assert (inside <= parts.ub).all()
    assert np.array_equal(tighten(program, lambda: True).ub, program.ub)
    tighten(program, lambda: bool(asked.append(0)))
    assert len(asked) > tightening.NUM_PASSES
    monkeypatch.setattr(tightening, "MAX_ENTRIES", 1)
    assert (tighten(program).ub >= parts.ub).all()


def test_a_large_full_quadratic_constraint_is_left_out(monkeypatch):
    ball, tilted = QuadraticConstraint(np.eye(3), None, 2.0), QuadraticConstraint(np.eye(3) + 0.5, None, 2.0)
    one, both = (Program(np.zeros(3), lb=0.0, ub=9.0, quadratic_constraints=curves) for curves in ([tilted], [ball, tilted]))
    assert (tighten(one).ub < 9.0).all()
    monkeypatch.setattr(tightening, "EIGEN_COLUMNS", 2)
    assert (tighten(one).ub == 9.0).all()
    assert tighten(both).ub == pytest.approx(2.0)


def test_large_cones_are_left_out_and_small_ones_are_not(monkeypatch):
    small = ConeConstraint(np.vstack([np.zeros(3), np.eye(3)]), [2.0, 0.0, 0.0, 0.0])
    large = ConeConstraint(np.vstack([np.zeros(3), np.eye(3), np.ones((3, 3))]), [1.0, *np.zeros(6)])
    one, both = (Program(np.zeros(3), lb=0.0, ub=9.0, cones=cones) for cones in ([large], [small, large]))
    assert tighten(both).ub == pytest.approx(1.0)
    monkeypatch.setattr(tightening, "CONE_ENTRIES", 3)
    assert (tighten(one).ub == 9.0).all()
    assert tighten(both).ub == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_are_passed_over_have_nothing_to_tell(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(8, 5)) * (rng.random((8, 5)) < 0.6)
    lb = np.where(rng.random(5) < 0.3, -np.inf, -1.0)
    ub = np.where(rng.random(5) < 0.3, np.inf, 1.0)
    program = Program(np.zeros(5), rows=rows, row_lb=-3 * rng.random(8), row_ub=np.where(rng.random(8) < 0.3, np.inf, 3.0), lb=lb, ub=ub)
    found = tighten(program)
    monkeypatch.setattr(tightening, "_may_tell", lambda rows, *others: np.ones(rows.shape[0], dtype=bool))
    assert np.array_equal(found, tighten(program))


def test_curved_constraints_are_taken_in_parts_and_left_when_it_is_over(monkeypatch):
    curves = [QuadraticConstraint(np.eye(3) + 0.5, None, ub) for ub in (2.0, 1.0, 3.0)]
    program = Program(np.zeros(3), lb=-9.0, ub=9.0, quadratic_constraints=curves)
    whole, written = tighten(program), []
    monkeypatch.setattr(tightening, "CHUNK_ENTRIES", 9)
    monkeypatch.setattr(tightening, "as_cone", lambda constraint: (written.append(constraint), as_cone(constraint))[1])
    assert tighten(program).ub == pytest.approx(whole.ub)
    assert len(written) == 3
    # Each may take a while: the clock is looked at before each.
    written.clear()
    tighten(program, lambda: len(written) >= 1)
    assert len(written) == 1
    # What is too much takes longer than it saves; small ones come first.
    written.clear()
    monkeypatch.setattr(tightening, "MAX_ENTRIES", 20)
    ball = QuadraticConstraint(np.eye(3), None, 0.5)
    assert tighten(Program(np.zeros(3), lb=-9.0, ub=9.0, quadratic_constraints=[*curves, ball])).ub.max() <= 1.0 + 1e-6
    assert written[0] is ball
    assert len(written) == 2
