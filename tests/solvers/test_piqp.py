"""PIQP: in this process when small, in one of its own when large, and never left running."""

from __future__ import annotations

import io
import os
import signal
import time
from dataclasses import replace

import numpy as np
import pytest

from dcembed import Program
from dcembed.solvers import Limits, SessionOptions, SolveStatus, piqp_, remote
from dcembed.solvers.piqp_ import IN_PROCESS_SIZE, PiqpSession
from solvers.problems import UNLIMITED, banded_qp, example, solve, stationarity

LARGE = banded_qp(IN_PROCESS_SIZE - 900, 1000)


@pytest.fixture
def session():
    """A session that has started its process."""
    session = PiqpSession(LARGE, SessionOptions())
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    yield session
    session.close()


def process_of(session: PiqpSession):
    return session._remote._process


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def freeze(session: PiqpSession) -> int:
    """Stop the process where it is, like a solve that takes forever."""
    pid = process_of(session).pid
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_a_small_problem_starts_no_process():
    session = PiqpSession(example("QP").program, SessionOptions())
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert session._remote is None
    session.close()


def test_a_small_problem_is_solved_to_stationarity():
    for seed in range(5):
        program = example("QP", seed).program
        assert stationarity(program, solve("piqp", program).x) < 1e-5


def test_a_large_problem_is_solved_elsewhere_with_the_same_answer(session, monkeypatch):
    pid = process_of(session).pid
    assert pid != os.getpid()
    elsewhere = session.solve(UNLIMITED)
    assert process_of(session).pid == pid
    monkeypatch.setattr(piqp_, "IN_PROCESS_SIZE", 10**9)
    here = solve("piqp", LARGE)
    assert here.status is elsewhere.status
    assert np.array_equal(here.x, elsewhere.x)


def test_solver_options_reach_the_process():
    assert solve("piqp", LARGE, solver_options={"max_iter": 1}).message == "PIQP_MAX_ITER_REACHED"


def test_what_piqp_prints_does_not_disturb_the_answers():
    assert solve("piqp", LARGE, Limits(seconds=60.0), solver_options={"verbose": True}).status is SolveStatus.OPTIMAL


def test_edits_reach_the_process(session):
    session.set_bounds(np.zeros(LARGE.num_columns), np.full(LARGE.num_columns, 0.01))
    x = session.solve(UNLIMITED).x
    assert x.min() > -1e-6
    assert x.max() < 0.01 + 1e-6


def test_a_time_limit_ends_the_process_and_the_next_solve_starts_another(session):
    pid = freeze(session)
    began = time.monotonic()
    solution = session.solve(Limits(seconds=0.2))
    assert time.monotonic() - began < 1.7
    assert solution.status is SolveStatus.TIME_LIMIT
    assert solution.message == "PIQP was ended"
    assert not is_alive(pid)
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert process_of(session).pid != pid


def test_an_interrupt_ends_the_process_and_the_next_solve_starts_another(session):
    pid = freeze(session)
    began = time.monotonic()
    solution = session.solve(Limits(interrupted=lambda: time.monotonic() > began + 0.2))
    assert time.monotonic() - began < 1.7
    assert solution.status is SolveStatus.INTERRUPTED
    assert not is_alive(pid)
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL


def test_a_process_that_dies_during_a_solve_is_a_failure_and_the_next_solve_works(session):
    pid = freeze(session)

    def kill_it() -> bool:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
        return False

    solution = session.solve(Limits(interrupted=kill_it))
    assert solution.status is SolveStatus.FAILED
    assert solution.message == "the PIQP process died"
    assert solution.x is None
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL


def test_a_process_that_died_between_solves_is_replaced(session):
    process_of(session).kill()
    process_of(session).wait()
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL


def test_closing_leaves_no_process(session):
    pid = process_of(session).pid
    session.close()
    assert not is_alive(pid)
    session.close()


def test_the_process_ends_by_itself_when_nobody_asks_any_more(session):
    process = process_of(session)
    process.stdin.close()
    assert process.wait(timeout=20) == 0


def test_a_session_works_again_after_closing(session):
    session.close()
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL


def test_an_answer_that_breaks_off_is_no_answer():
    whole = io.BytesIO()
    remote._write(whole, {"x": np.arange(100.0)})
    for length in (0, 3, 8, 50, len(whole.getvalue()) - 1):
        assert remote._read(io.BytesIO(whole.getvalue()[:length])) is None
    assert remote._read(io.BytesIO(whole.getvalue()))["x"].tolist() == list(range(100))


@pytest.mark.parametrize("large", [False, True])
def test_an_infeasible_problem_is_recognized(large):
    program = LARGE if large else banded_qp(10, 5)
    # The first row is the sum of two columns of at most one each.
    impossible = replace(program, row_lb=np.where(np.arange(program.num_rows) == 0, 2.5, -np.inf), row_ub=3.0)
    assert solve("piqp", impossible).status is SolveStatus.INFEASIBLE


def test_an_unbounded_problem_is_recognized():
    program = Program(cost=[0.0, -1.0, 0.0], quadratic=np.diag([1.0, 0.0, 1.0]), rows=[[1.0, -1.0, 0.0]], row_ub=0.0, lb=0.0)
    assert solve("piqp", program).status is SolveStatus.UNBOUNDED


def test_what_piqp_cannot_tell_is_settled_by_linear_programs(monkeypatch):
    monkeypatch.setattr(
        piqp_,
        "run_piqp",
        lambda problem, settings: {
            "status": np.array("PIQP_MAX_ITER_REACHED"),
            "x": np.zeros(2),
            "y": np.zeros(0),
            "z": np.zeros(problem["h_l"].size),
        },
    )
    quadratic = np.diag([1.0, 0.0])
    infeasible = Program(cost=[1.0, 1.0], quadratic=quadratic, rows=np.ones((2, 2)), row_lb=[1.0, -np.inf], row_ub=[np.inf, 0.0])
    unbounded = Program(cost=[0.0, -1.0], quadratic=quadratic, lb=0.0)
    fine = Program(cost=[0.0, 1.0], quadratic=quadratic, lb=0.0)
    curved = Program(cost=[-1.0, 1.0], quadratic=quadratic, lb=0.0)
    found = {name: solve("piqp", program) for name, program in locals().items() if isinstance(program, Program)}
    assert {name: solution.status for name, solution in found.items()} == {
        "infeasible": SolveStatus.INFEASIBLE,
        "unbounded": SolveStatus.UNBOUNDED,
        "fine": SolveStatus.FAILED,
        "curved": SolveStatus.FAILED,
    }
    assert found["infeasible"].message == "PIQP_MAX_ITER_REACHED, infeasible"
    assert found["infeasible"].x is None
    # A point of a solve that ran out of iterations may still be good; it is measured before it is used.
    assert found["fine"].x.tolist() == [0.0, 0.0]
