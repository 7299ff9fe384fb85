"""HiGHS: what is carried over between solves, and how it is stopped."""

from __future__ import annotations

import threading
import time
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import Program, verify
from dcembed.errors import InputError
from dcembed.solvers import Limits, SessionOptions, Solution, SolveStatus, highs_
from dcembed.solvers.base import SolverFailure
from dcembed.solvers.highs_ import HighsSession
from solvers.problems import UNLIMITED, example, market_split, planted_split


def staircase(seed: int = 0, n: int = 80, m: int = 160) -> Program:
    """A linear program whose simplex path is long enough to tell warm from cold."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(m, n))
    room = rng.uniform(0.1, 1.0, size=m)
    return Program(cost=rng.normal(size=n), rows=rows, row_ub=room, lb=-10.0, ub=10.0)


def iterations(session: HighsSession) -> int:
    return session._highs.getInfo().simplex_iteration_count


def open_session(program: Program, **options) -> HighsSession:
    return HighsSession(program, SessionOptions(**options))


def test_the_basis_is_carried_over_when_rows_move_a_little():
    program, first = staircase(), 60
    rng = np.random.default_rng(1)
    rows = sp.csr_array(program.rows[first:].toarray() * (1 + 1e-4 * rng.normal(size=(100, 80))))
    lb, ub = program.row_lb[first:], program.row_ub[first:]
    warm = open_session(program)
    warm.solve(UNLIMITED)
    cold_iterations = iterations(warm)
    warm.replace_rows(first, rows, lb, ub)
    moved = warm.solve(UNLIMITED)
    assert cold_iterations > 50
    assert iterations(warm) < cold_iterations / 5

    expected = Program(cost=program.cost, rows=sp.vstack([program.rows[:first], rows]), row_ub=program.row_ub, lb=program.lb, ub=program.ub)
    fresh = open_session(expected).solve(UNLIMITED)
    assert np.isclose(expected.objective(moved.x), expected.objective(fresh.x))


def test_the_basis_is_carried_over_when_the_cost_moves_a_little():
    program = staircase()
    session = open_session(program)
    session.solve(UNLIMITED)
    cold_iterations = iterations(session)
    session.set_cost(program.cost * (1 + 1e-4), 0.0)
    session.solve(UNLIMITED)
    assert iterations(session) < cold_iterations / 5


def test_rows_in_the_middle_keep_their_place():
    program = Program(cost=[-1.0, -1.0], rows=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], row_ub=[4.0, 3.0, 6.0], lb=0.0)
    session = open_session(program)
    session.replace_rows(1, sp.csr_array([[0.0, 1.0], [1.0, 1.0]]), np.full(2, -np.inf), np.array([2.0, 100.0]))
    assert np.allclose(session.solve(UNLIMITED).x, [4.0, 2.0])
    session.replace_rows(0, program.rows, np.full(3, -np.inf), np.array([1.0, 1.0, 100.0]))
    assert np.allclose(session.solve(UNLIMITED).x, [1.0, 1.0])


def test_a_mip_start_is_used():
    hard = planted_split()
    limits = Limits(seconds=200.0)
    solution = open_session(hard.program).solve(limits, hard.inside)
    assert solution.status is SolveStatus.OPTIMAL
    assert hard.program.objective(solution.x) == pytest.approx(0.0, abs=1e-6)
    alone = open_session(hard.program).solve(Limits(nodes=1))
    assert alone.x is None or hard.program.objective(alone.x) > 0.5


def test_a_start_is_not_taken_for_optimal_where_presolve_settles_the_cost():
    """The one column with a cost is in no row: presolve settles it, and the start, which has it elsewhere, is feasible."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 13))
    rows[:, 0] = 0.0
    start = np.concatenate([[0.5], rng.integers(0, 2, 4), rng.random(8)])
    program = Program(
        cost=0.11 * np.eye(13)[0],
        rows=rows,
        row_lb=rows @ start - 0.1,
        row_ub=rows @ start + 0.1,
        lb=np.concatenate([[-1.0], np.zeros(12)]),
        ub=1.0,
        integer=np.arange(1, 5),
    )
    solution = open_session(program).solve(UNLIMITED, start)
    assert solution.status is SolveStatus.OPTIMAL
    assert program.objective(solution.x) == pytest.approx(-0.11)
    assert solution.bound == pytest.approx(-0.11)


def test_a_mip_start_is_used_again_after_an_edit():
    hard = planted_split(seed=1)
    session = open_session(hard.program)
    session.solve(UNLIMITED, hard.inside)
    cost = hard.program.cost * 2
    session.set_cost(cost, 0.0)
    assert session.solve(Limits(seconds=200.0), hard.inside).status is SolveStatus.OPTIMAL


def is_over(deadline: float) -> bool:
    return time.monotonic() > deadline


@pytest.mark.parametrize("how", ["time limit", "interrupt"])
def test_a_long_mip_without_a_point_stops_in_time(monkeypatch, how):
    # However busy the machine is: what is left behind takes no second solve.
    monkeypatch.setattr(highs_, "GRACE_SECONDS", 60.0)
    program = market_split(num_rows=5, num_columns=40)
    # Without slack columns no point exists as far as anybody knows.
    program = Program(
        cost=np.zeros(40), rows=program.rows[:, :40], row_lb=program.row_lb, row_ub=program.row_ub, lb=0.0, ub=1.0, integer=np.arange(40)
    )
    session = open_session(program)
    for _ in range(2):
        began = time.monotonic()
        limits = Limits(seconds=0.3) if how == "time limit" else Limits(interrupted=partial(is_over, began + 0.3))
        solution = session.solve(limits)
        # It would go on for many minutes.
        assert time.monotonic() - began < 30.0
        assert solution.status is (SolveStatus.TIME_LIMIT if how == "time limit" else SolveStatus.INTERRUPTED)
        assert solution.x is None


def test_a_session_goes_on_after_a_time_limit_and_an_interrupt(monkeypatch):
    # However busy the machine is: what is left behind would not go on.
    monkeypatch.setattr(highs_, "GRACE_SECONDS", 60.0)
    program = market_split()
    session = open_session(program)
    for limits in (Limits(seconds=0.2), Limits(interrupted=lambda: True), Limits(seconds=0.2)):
        solution = session.solve(limits)
        assert solution.status in (SolveStatus.FEASIBLE, SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED)
        assert solution.x is None or verify(program, [], solution.x).violation < 1e-5
    ub = np.where(program.integer, 0.0, np.inf)
    session.set_bounds(np.zeros(program.num_columns), ub)
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL


def test_each_solve_has_the_whole_time_limit(monkeypatch):
    session, rng = open_session(staircase(n=150, m=300)), np.random.default_rng(2)
    shown = []
    for _ in range(3):
        session.set_cost(rng.normal(size=150), 0.0)
        session.solve(UNLIMITED)
        shown.append(session._highs.getRunTime())
    # The clock of HiGHS runs on over its solves, and its limit is a time on that clock.
    assert 0 < shown[0] < shown[1] < shown[2]
    monkeypatch.setattr(session._highs, "getRunTime", lambda: 5000.0)
    assert session.solve(Limits(seconds=200.0)).status is SolveStatus.OPTIMAL
    _, limit = session._highs.getOptionValue("time_limit")
    assert 5000.0 < limit <= 5200.0


def test_a_failed_solve_is_tried_once_more_from_scratch(monkeypatch):
    session = open_session(example("LP").program)
    real, calls = highs_._solution, []

    def fail_once(highs, is_mip):
        calls.append(highs)
        return Solution(SolveStatus.FAILED, None, "lost its way") if len(calls) == 1 else real(highs, is_mip)

    monkeypatch.setattr(highs_, "_solution", fail_once)
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert len(calls) == 2


def test_a_solve_that_fails_twice_is_a_failure(monkeypatch):
    session = open_session(example("LP").program)
    monkeypatch.setattr(highs_, "_solution", lambda highs, is_mip: Solution(SolveStatus.FAILED, None, "lost its way"))
    solution = session.solve(UNLIMITED)
    assert solution.status is SolveStatus.FAILED
    assert solution.message == "lost its way"


@pytest.mark.parametrize("how", ["time limit", "interrupt"])
def test_a_solve_that_does_not_stop_is_left_behind(monkeypatch, how):
    session = open_session(example("LP").program)
    release = threading.Event()
    monkeypatch.setattr(session._highs, "run", lambda: release.wait(30))
    monkeypatch.setattr(highs_, "GRACE_SECONDS", 0.05)
    limits = Limits(seconds=0.1) if how == "time limit" else Limits(interrupted=lambda: True)
    try:
        solution = session.solve(limits)
        assert solution.status is (SolveStatus.TIME_LIMIT if how == "time limit" else SolveStatus.INTERRUPTED)
        assert solution.message == "HiGHS did not stop in time and was left behind"
        assert_is_lost(session)
    finally:
        release.set()


def assert_is_lost(session: HighsSession) -> None:
    """No edit reaches a model that another thread may be working on; solves fail, closing is quiet."""
    n, m = session._highs.getNumCol(), session._highs.getNumRow()
    before = np.array(session._highs.getLp().col_cost_)
    session.set_cost(np.full(n, 9.0), 9.0)
    session.set_bounds(np.zeros(n), np.ones(n))
    session.replace_rows(0, sp.csr_array((m, n)), np.zeros(m), np.ones(m))
    assert np.array_equal(session._highs.getLp().col_cost_, before)
    solution = session.solve(UNLIMITED)
    assert solution.status is SolveStatus.FAILED
    assert solution.message == "an earlier solve was left behind"
    session.close()


def test_rows_that_highs_refuses_are_an_error_and_the_old_ones_stay():
    session = open_session(Program(cost=[1.0], rows=[[1.0], [1.0]], row_lb=[0.0, 1.0], lb=0.0, ub=9.0))
    with pytest.raises(
        SolverFailure, match=r"HiGHS refused new rows; the largest coefficient of the rows is inf in size, below 1e15 is accepted\."
    ):
        session.replace_rows(1, sp.csr_array([[np.inf]]), np.array([2.0]), np.array([5.0]))
    assert session.solve(UNLIMITED).x.tolist() == [1.0]
    session.replace_rows(1, sp.csr_array([[2.0]]), np.array([4.0]), np.array([5.0]))
    assert session.solve(UNLIMITED).x.tolist() == [2.0]


def test_a_program_that_highs_refuses_is_an_input_error():
    with pytest.raises(InputError) as caught:
        open_session(Program(cost=[1.0], rows=[[1e16]], row_ub=1.0))
    assert str(caught.value) == (
        "The solver 'highs' refused the host; the largest coefficient of the rows is 1e+16 in size, below 1e15 is accepted. "
        "Bring rows and columns to similar sizes."
    )


def test_the_cost_is_put_back_after_telling_infeasible_from_unbounded():
    program = Program(cost=[-1.0, 0.0], rows=[[0.0, 1.0]], row_ub=5.0, lb=0.0, integer=[0])
    session = open_session(program)
    assert session.solve(UNLIMITED).status is SolveStatus.UNBOUNDED
    session.set_bounds(np.zeros(2), np.array([7.0, np.inf]))
    assert session.solve(UNLIMITED).x[0] == pytest.approx(7.0)
