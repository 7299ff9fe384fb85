"""Sessions in processes of their own: the same answers, and an end when it is time."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import Program
from dcembed.errors import InputError
from dcembed.solvers import BACKENDS, Limits, SessionOptions, SolveStatus, base, is_installed, remote, work, workers
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.solvers.messages import Message, read, write
from dcembed.solvers.packing import pack, unpack
from dcembed.solvers.remote import RemoteSession
from program.test_derive import full_program
from solvers.problems import UNLIMITED, example, planted_split, solve

CASES = [("highs", "MILP"), ("piqp", "QP"), ("clarabel", "SOCP"), ("scip", "MIQP"), ("gurobi", "MIQP")]


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    """No problem is small enough for this process."""
    monkeypatch.setattr(work, "HERE_SECONDS", -1.0)


def lasting(name: str, program: Program, **options) -> LastingSession:
    return LastingSession(program, Solver(BACKENDS[name], SessionOptions(**options)))


@pytest.fixture
def session():
    """A session that has started its process."""
    session = lasting("piqp", example("QP").program)
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    yield session
    session.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def freeze(session: LastingSession) -> int:
    """Stop the process where it is, like a solve that hears nothing."""
    os.kill(session._session.pid, signal.SIGSTOP)
    return session._session.pid


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_backend_gives_the_same_answer_there(name, kind):
    if not is_installed(BACKENDS[name]):
        pytest.skip(f"{name} is not installed")
    program = example(kind).program
    session, here = lasting(name, program), BACKENDS[name].open(program, SessionOptions())
    for cost in (program.cost, -program.cost):
        session.set_cost(cost, 0.5)
        here.set_cost(cost, 0.5)
        there = session.solve(UNLIMITED)
        assert isinstance(session._session, RemoteSession)
        expected = here.solve(UNLIMITED)
        assert np.array_equal(there.x, expected.x)
        assert there.bound == expected.bound > -np.inf
    session.close()
    here.close()


def test_all_edits_reach_the_process(session):
    program = example("QP").program
    n, rows = program.num_columns, sp.csr_array(np.ones((1, program.num_columns)))
    session.set_bounds(np.zeros(n), np.full(n, 0.1))
    session.replace_rows(0, rows, np.array([0.2]), np.array([0.3]), np.array([-1]))
    x = session.solve(UNLIMITED).x
    assert 0.2 - 1e-6 <= x.sum() <= 0.3 + 1e-6
    assert x.min() >= -1e-6
    assert x.max() <= 0.1 + 1e-6


def test_a_program_comes_through_with_all_its_fields():
    program = full_program()
    again = unpack(pack(program))
    assert np.array_equal(again.cost, program.cost)
    assert again.problem_class == program.problem_class
    assert (again.quadratic != program.quadratic).nnz == (again.rows != program.rows).nnz == 0
    for mine, other in zip(again.indicators, program.indicators, strict=True):
        assert (mine.column, mine.value, mine.lb, mine.ub) == (other.column, other.value, other.lb, other.ub)
        assert (mine.coefficients != other.coefficients).nnz == 0
    w = np.linspace(-1.0, 2.0, program.num_columns)
    assert [c.value(w) - c.ub for c in again.quadratic_constraints] == [c.value(w) - c.ub for c in program.quadratic_constraints]
    assert np.array_equal(again.cone_rows.excess(w), program.cone_rows.excess(w))


def test_a_start_and_improving_points_come_through():
    hard = planted_split(num_rows=3, num_columns=30)
    session, seen = lasting("highs", hard.program), []
    solution = session.solve(replace(UNLIMITED, nodes=1, on_solution=seen.append), hard.inside)
    assert hard.program.objective(solution.x) == pytest.approx(0.0, abs=1e-6)
    assert all(x.shape == hard.inside.shape for x in seen)
    assert seen
    session.close()


def test_a_relaxation_comes_through():
    program = Program(cost=[-1.0], ub=0.5, lb=0.0, integer=[0])
    session = lasting("highs", program)
    assert session.solve(UNLIMITED, relax=True).x == pytest.approx([0.5])
    assert session.solve(UNLIMITED).x == pytest.approx([0.0])
    session.close()


@pytest.mark.parametrize("how", ["time limit", "interrupt"])
def test_a_process_that_hears_nothing_is_ended(session, how):
    pid, began = freeze(session), time.monotonic()
    limits = Limits(seconds=0.1) if how == "time limit" else Limits(interrupted=lambda: time.monotonic() > began + 0.1)
    solution = session.solve(limits)
    assert solution.status is (SolveStatus.TIME_LIMIT if how == "time limit" else SolveStatus.INTERRUPTED)
    assert solution.message == "piqp was ended"
    assert not is_alive(pid)


def test_a_solver_that_hears_a_request_to_stop_keeps_its_process_and_its_point(monkeypatch):
    # However busy the machine is.
    monkeypatch.setattr(remote, "GRACE_SECONDS", 60.0)
    hard, found = planted_split(), []
    session = lasting("highs", hard.program)
    solution = session.solve(Limits(interrupted=lambda: bool(found), on_solution=found.append))
    assert solution.status is SolveStatus.FEASIBLE
    assert isinstance(session._session, RemoteSession)
    session.close()


def test_a_process_that_dies_is_a_failure_and_the_next_solve_works(session):
    pid = freeze(session)

    def kill_it() -> bool:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
        return False

    solution = session.solve(Limits(interrupted=kill_it))
    assert (solution.status, solution.message) == (SolveStatus.FAILED, "the process of piqp died")
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL


def test_a_process_serves_one_session_after_the_other(session):
    pid = session._session.pid
    session.close()
    other = (
        lasting("clarabel", example("QP", 1).program) if is_installed(BACKENDS["clarabel"]) else lasting("piqp", example("QP", 1).program)
    )
    assert other.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert other._session.pid == pid
    other.close()


def test_a_solve_that_was_stopped_does_not_stop_those_of_the_next_session(monkeypatch):
    monkeypatch.setattr(remote, "GRACE_SECONDS", 60.0)
    found = []
    stopped = lasting("highs", planted_split().program)
    assert stopped.solve(Limits(interrupted=lambda: bool(found), on_solution=found.append)).status is SolveStatus.FEASIBLE
    pid = stopped._session.pid
    stopped.close()
    other = lasting("highs", example("MILP").program)
    assert other.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert other._session.pid == pid
    other.close()


def test_a_process_that_died_while_it_waited_is_not_used(session):
    pid = session._session.pid
    session.close()
    # Nobody can ask it any more: it ends by itself.
    workers._idle[-1]._process.stdin.close()
    while workers._idle and workers._idle[-1]._process.poll() is None:
        time.sleep(0.01)
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert session._session.pid != pid


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_processes_of_its_own(session):
    pid = session._session.pid
    child = os.fork()
    if child == 0:
        fine = session.solve(UNLIMITED).status is SolveStatus.OPTIMAL and session._session.pid != pid
        workers.end_all()
        os._exit(0 if fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert is_alive(pid)
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert session._session.pid == pid


def test_options_of_the_solver_come_through_and_wrong_ones_are_the_users_mistake():
    program = example("QP").program
    assert lasting("piqp", program, solver_options={"max_iter": np.int64(1)}).solve(UNLIMITED).message.startswith("PIQP_MAX_ITER_REACHED")
    with pytest.raises(InputError, match="which PIQP does not take"):
        lasting("piqp", program, solver_options={"no_such_option": 1}).solve(UNLIMITED)
    with pytest.raises(InputError, match="Give a number, a text or a truth value"):
        lasting("piqp", program, solver_options={"max_iter": [1]}).solve(UNLIMITED)


def test_what_a_solver_prints_does_not_disturb_the_answers(capfd):
    assert lasting("piqp", example("QP").program, solver_options={"verbose": True}).solve(UNLIMITED).status is SolveStatus.OPTIMAL


def test_a_message_that_breaks_off_is_no_message():
    stream = io.BytesIO()
    write(stream, Message("solve", {"seconds": np.inf}, {"x": np.arange(20.0).reshape(4, 5), "none": np.zeros((0, 3)), "one": np.array(7)}))
    whole = stream.getvalue()
    for length in (0, 3, 8, 50, len(whole) - 1):
        assert read(io.BytesIO(whole[:length])) is None
    message = read(io.BytesIO(whole))
    assert (message.kind, message.values) == ("solve", {"seconds": np.inf})
    assert message.arrays["x"].tolist() == np.arange(20.0).reshape(4, 5).tolist()
    assert message.arrays["none"].shape == (0, 3)
    assert message.arrays["one"] == 7


def test_a_message_with_objects_in_place_of_numbers_is_refused():
    head = json.dumps({"kind": "solve", "values": {}, "arrays": [["x", "|O", [1]]]}).encode()
    with pytest.raises((TypeError, ValueError)):
        read(io.BytesIO(len(head).to_bytes(8, "big") + head + bytes(8)))


def test_what_lies_in_the_current_folder_is_not_imported(tmp_path):
    for name in ("piqp", "numpy", "json", "queue"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken from the current folder')")
    code = (
        "import os; from dcembed.solvers import BACKENDS, SessionOptions, Limits, work; from dcembed import Program\n"
        "from dcembed.solvers.failover import LastingSession, Solver\n"
        f"work.HERE_SECONDS = -1.0; os.chdir({str(tmp_path)!r})\n"
        "session = LastingSession(Program([1.0], [[1.0]]), Solver(BACKENDS['piqp'], SessionOptions()))\n"
        "print(session.solve(Limits()).status.name)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=200, check=False)
    assert (done.stdout, done.stderr) == ("OPTIMAL\n", "")


def test_a_frozen_program_solves_in_its_own_process(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    session = lasting("piqp", example("QP").program)
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert not isinstance(session._session, RemoteSession)


@pytest.mark.parametrize("executable", ["/no/such/python", "/bin/false"])
def test_where_no_process_starts_problems_are_solved_here(monkeypatch, executable):
    workers.end_all()
    monkeypatch.setattr(workers, "_obstacles", [])
    monkeypatch.setattr(sys, "executable", executable)
    session = lasting("piqp", example("QP").program)
    for _ in range(2):
        assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert not isinstance(session._session, RemoteSession)
    assert not workers.can_start()


def test_more_threads_than_processors_are_not_started(monkeypatch):
    monkeypatch.setattr(base, "num_processors", lambda: 2)
    assert SessionOptions(threads=64).num_threads == 2
    assert solve("highs", example("MILP").program, threads=64).status is SolveStatus.OPTIMAL


def test_a_problem_that_is_not_solved_costs_no_process_of_its_own():
    workers.end_all()
    one, other = lasting("piqp", example("QP").program), lasting("piqp", example("QP").program)
    one.open()
    other.open()
    assert len(workers._alive) == 1
    # It was begun for whichever is solved first.
    (begun,) = workers._alive
    assert other.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert other._session.pid == begun.pid
    other.close()
    one.close()
