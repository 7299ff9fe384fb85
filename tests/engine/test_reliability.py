"""Failing solvers, time limits, Ctrl-C: the best point found is never lost."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program, Status, build_mlp
from dcembed.solvers import BACKENDS
from dcembed.solvers.base import Solution, SolveStatus, calling
from problems import FORMULATIONS, binary_problem, box_problem, level_problem, quiet, random_mlp


class Failing:
    """A session that fails from the given solve on, in a given way."""

    def __init__(self, session, count: dict, when, how):
        self._session, self._count, self._when, self._how = session, count, when, how

    def __getattr__(self, name):
        return getattr(self._session, name)

    def solve(self, limits, start=None, relax=False):
        self._count["solves"] += 1
        if self._when(self._count["solves"]):
            return self._how()
        return self._session.solve(limits, start, relax)


def raise_error():
    with calling("HiGHS"):
        raise RuntimeError("the factorization broke down")


WAYS = {
    "says so": lambda: Solution(SolveStatus.FAILED, None, "numerical trouble"),
    "raises": raise_error,
    "returns NaN": lambda: Solution(SolveStatus.OPTIMAL, np.full(200, np.nan), "optimal, it claims"),
    "claims infeasible": lambda: Solution(SolveStatus.INFEASIBLE, None, "infeasible, it claims"),
}


@pytest.fixture
def failing_solver(monkeypatch):
    """Replace HiGHS for the subproblems by one that fails when told to."""

    def install(when, how):
        count = {"solves": 0}
        real = BACKENDS["highs"]

        def open_failing(program, options):
            session = real.open(program, options)
            # The host alone has as many columns as the program; subproblems have more.
            return session if program.num_columns <= 12 else Failing(session, count, when, how)

        monkeypatch.setitem(BACKENDS, "highs", dataclasses.replace(real, open=open_failing))
        return count

    return install


@pytest.mark.parametrize("way", WAYS)
def test_a_solver_that_fails_once_costs_one_iteration(failing_solver, way):
    program, embedding = binary_problem(3)
    expected = dcembed.solve(program, embedding, options=quiet(formulation="shared"))
    failing_solver(lambda solve: solve == 2, WAYS[way])
    result = dcembed.solve(program, embedding, options=quiet(formulation="shared"))
    assert result.status is expected.status
    assert result.objective == pytest.approx(expected.objective)
    assert len(result.history) == len(expected.history) + 1
    assert np.isnan(result.history[1].objective)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("way", WAYS)
def test_a_solver_that_fails_for_good_never_loses_the_best_point(failing_solver, way, formulation):
    program, embedding = binary_problem(3)
    # The first subproblem goes well, with its rounds of cuts where there are any.
    after = 5 if formulation == "lazy" else 2
    failing_solver(lambda solve: solve >= after, WAYS[way])
    result = dcembed.solve(program, embedding, options=quiet(formulation=formulation))
    assert result.status is Status.NUMERICAL_ERROR
    assert [np.isnan(r.objective) for r in result.history[-3:]] == [True] * 3
    best = min((r.objective for r in result.history if r.violation <= 1e-5), default=None)
    if best is not None:
        assert result.is_feasible
        assert result.objective <= best


def test_a_solver_that_fails_at_once_is_a_numerical_error_with_the_start_as_point(failing_solver):
    program, embedding = binary_problem(3)
    failing_solver(lambda solve: True, WAYS["raises"])
    result = dcembed.solve(program, embedding, options=quiet(formulation="shared"))
    assert result.status is Status.NUMERICAL_ERROR
    assert result.x is not None
    assert "RuntimeError: the factorization broke down" in result.history[0].solver_status


def test_an_infeasible_host_is_reported_as_such():
    network = random_mlp(0, (1, 4, 1))
    program = Program(cost=[0.0, 1.0], rows=[[1.0, 0.0]], row_lb=3.0, lb=[-1.0, -np.inf], ub=[1.0, np.inf])
    for start in (None, np.zeros(2)):
        result = dcembed.solve(program, Embedding(network, [0], [1]), start=start, options=quiet())
        assert result.status is Status.HOST_INFEASIBLE
        assert not result.is_feasible


@pytest.mark.parametrize("quadratic", [None, np.diag([0.0, 1.0, 0.0])])
def test_an_unbounded_host_is_reported_as_such(quadratic):
    network = random_mlp(0, (1, 4, 1))
    program = Program(cost=[-1.0, 0.0, 0.0], quadratic=quadratic, lb=[0.0, 0.0, -np.inf])
    result = dcembed.solve(program, Embedding(network, [1], [2]), options=quiet())
    assert result.status is Status.UNBOUNDED


def test_inputs_that_run_away_are_named():
    # The network falls along power without end.
    network = build_mlp([[[1.0, 0.0], [0.0, 1.0]], [[-1.0, 1.0]]], [None, None])
    program = Program(cost=[0.0, 0.0, 1.0], lb=[0.0, 0.0, -np.inf], ub=[np.inf, 5.0, np.inf], column_names=["power", "heat", "saved"])
    result = dcembed.solve(program, Embedding(network, [0, 1], [2]), options=quiet())
    assert result.status is Status.UNBOUNDED
    assert "power went to" in result.reason
    assert "no upper bound" in result.reason
    assert "heat" not in result.reason
    assert "saved" not in result.reason


def test_a_neural_row_may_bound_what_the_host_leaves_unbounded():
    # minimize -x with relu(x) <= 5: the host alone is unbounded, the problem is not.
    network = build_mlp([[[1.0]], [[1.0]]], [None, None])
    program = Program(cost=[-1.0, 0.0], ub=[np.inf, 5.0])
    result = dcembed.solve(program, Embedding(network, [0], [1]), options=quiet())
    assert result.is_feasible
    assert result.objective == pytest.approx(-5.0, abs=1e-4)


def hard_problem(num_binaries: int = 60, hidden: int = 200) -> tuple[Program, Embedding]:
    """A neural objective over many binaries: one subproblem takes HiGHS far longer than any test waits."""
    rng = np.random.default_rng(0)
    network = build_mlp([rng.normal(size=(hidden, num_binaries)), rng.normal(size=(1, hidden))], [rng.normal(size=hidden), None])
    n = num_binaries + 1
    rows = np.hstack([rng.integers(1, 100, (5, num_binaries)), np.zeros((5, 1))])
    half = rows.sum(axis=1) // 2
    program = Program(
        cost=np.concatenate([rng.normal(size=num_binaries), [1.0]]),
        rows=rows,
        row_lb=half - 20,
        row_ub=half + 20,
        lb=np.concatenate([np.zeros(num_binaries), [-np.inf]]),
        ub=np.concatenate([np.ones(num_binaries), [np.inf]]),
        integer=np.arange(num_binaries),
    )
    return program, Embedding(network, np.arange(num_binaries), [n - 1])


# Seconds within which an end counts as heard, beside subproblems that take many minutes.
HEARD = 30.0


@pytest.mark.parametrize("time_limit", [0.0, 0.5, 2.0])
def test_the_time_limit_holds_inside_a_subproblem(time_limit):
    program, embedding = hard_problem()
    began = time.monotonic()
    result = dcembed.solve(program, embedding, options=quiet(time_limit=time_limit))
    # Far more than any machine needs to hear it, far less than the subproblem takes.
    assert time.monotonic() - began < time_limit + HEARD
    assert result.status is Status.TIME_LIMIT


def test_the_time_limit_holds_inside_a_large_quadratic_subproblem():
    rng = np.random.default_rng(0)
    network = build_mlp([rng.normal(size=(400, 5)), rng.normal(size=(400, 400)), rng.normal(size=(1, 400))], [None] * 3)
    k = 20
    program = Program(
        cost=np.concatenate([rng.normal(size=5 * k), np.ones(k)]),
        quadratic=np.diag([1.0] * 5 * k + [0.0] * k),
        lb=np.concatenate([np.full(5 * k, -1.0), np.full(k, -np.inf)]),
        ub=np.concatenate([np.full(5 * k, 1.0), np.full(k, np.inf)]),
    )
    embedding = Embedding(network, np.arange(5 * k).reshape(k, 5), 5 * k + np.arange(k))
    result = dcembed.solve(program, embedding, start=np.zeros(6 * k), options=quiet(time_limit=3.0, formulation="shared"))
    assert result.status is Status.TIME_LIMIT
    # Building 7 million coefficients may itself pass the limit on a slow machine; the solve then ends at once.
    assert result.seconds < 3.0 + 2 * HEARD
    assert result.is_feasible


def test_the_callback_sees_every_iteration_and_can_stop():
    program, embedding = level_problem(9)
    seen = []
    result = dcembed.solve(program, embedding, options=quiet(callback=seen.append))
    assert seen == result.history
    result = dcembed.solve(program, embedding, options=quiet(callback=lambda record: True))
    assert result.status is Status.INTERRUPTED
    assert len(result.history) == 1
    assert result.x is not None


def test_the_iteration_limit_is_kept():
    network = random_mlp(0, (3, 10, 8, 1))
    program, embedding = box_problem(network, np.zeros(3), 1.0)
    result = dcembed.solve(program, embedding, start=np.full(4, 0.3), options=quiet(max_iterations=1))
    assert result.status is Status.ITERATION_LIMIT
    assert len(result.history) == 1
    assert dcembed.solve(program, embedding, start=np.full(4, 0.3), options=quiet(max_iterations=0)).objective >= result.objective


CTRL_C = """
import sys, threading, os, signal, time
sys.path.insert(0, {tests!r})
from engine.test_reliability import hard_problem
import dcembed
program, embedding = hard_problem()
pressed = []
def press():
    while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        time.sleep(0.01)
    time.sleep({after})
    pressed.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
result = dcembed.solve(program, embedding, start={start}, options=dcembed.Options(verbose={verbose}))
print("RESULT", result.status.name, result.is_feasible, time.monotonic() - pressed[0])
"""


@pytest.mark.parametrize("verbose", [False, True])
def test_ctrl_c_inside_highs_is_heard_and_returns_the_best_point(verbose):
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = CTRL_C.format(tests=tests, after=1.5, start=None, verbose=verbose)
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=200)
    assert run.returncode == 0, run.stderr
    _, status, _, waited = next(line for line in run.stdout.splitlines() if line.startswith("RESULT")).split()
    assert status == "INTERRUPTED"
    assert float(waited) < HEARD
    assert run.stderr == ""
    assert ("INTERRUPTED" in run.stdout.split("RESULT")[0]) == verbose


def test_the_handler_of_ctrl_c_is_put_back():
    before = signal.getsignal(signal.SIGINT)
    program, embedding = binary_problem(1)
    dcembed.solve(program, embedding, options=quiet())
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_outside_the_main_thread_works():
    program, embedding = binary_problem(1)
    results = []
    thread = threading.Thread(target=lambda: results.append(dcembed.solve(program, embedding, options=quiet())))
    thread.start()
    thread.join()
    assert results[0].is_feasible


def test_the_users_objects_are_not_changed():
    program, embedding = binary_problem(1)
    start = np.zeros(program.num_columns)
    before = {name: np.copy(getattr(program, name)) for name in ("cost", "row_lb", "row_ub", "lb", "ub", "integer")}
    rows, outputs = program.rows.copy(), embedding.outputs.copy()
    dcembed.solve(program, embedding, start=start, options=quiet())
    assert all(np.array_equal(getattr(program, name), value) for name, value in before.items())
    assert (program.rows != rows).nnz == 0
    assert np.array_equal(embedding.outputs, outputs)
    assert np.array_equal(start, np.zeros(program.num_columns))


def test_a_point_that_the_solver_meets_on_its_way_is_not_lost(monkeypatch):
    program, embedding = binary_problem(3)
    expected = dcembed.solve(program, embedding, options=quiet())
    real = BACKENDS["highs"]

    class Cut:
        """Finds its solution on the way, reports it, and then runs out of time."""

        def __init__(self, session):
            self._session = session

        def __getattr__(self, name):
            return getattr(self._session, name)

        def solve(self, limits, start=None, relax=False):
            solution = self._session.solve(limits, start, relax)
            return solution if relax or limits.on_solution is None else Solution(SolveStatus.TIME_LIMIT, None, "time limit")

    monkeypatch.setitem(BACKENDS, "highs", dataclasses.replace(real, open=lambda program, options: Cut(real.open(program, options))))
    result = dcembed.solve(program, embedding, options=quiet())
    assert len(result.history) == 1
    assert result.is_feasible
    assert len(result.incumbents) >= 1
    assert result.objective >= expected.objective - 1e-9


def test_what_a_callback_raises_comes_with_the_result_so_far():
    program, embedding = level_problem(0)

    def callback(record):
        if record.number == 3:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as raised:
        dcembed.solve(program, embedding, options=quiet(callback=callback))
    result = raised.value.result
    assert result.status is Status.INTERRUPTED
    assert result.reason == "KeyError: 'mine'"
    assert result.x is not None
    assert len(result.history) == 3


def test_memory_that_runs_out_ends_a_start_and_not_the_run(monkeypatch):
    from dcembed.engine.search import orders

    real = orders.run_start

    def run_start(problem, point, steps, settled, journal):
        if steps.start == 0:
            raise MemoryError
        return real(problem, point, steps, settled, journal)

    monkeypatch.setattr(orders, "run_start", run_start)
    result = dcembed.solve(*level_problem(0), options=quiet(max_starts=3))
    assert result.is_feasible
    assert "start 0: out of memory." in result.notes


@pytest.mark.parametrize("what", [SolveStatus.INFEASIBLE, SolveStatus.FAILED, SolveStatus.TIME_LIMIT])
def test_a_host_that_one_solver_finds_no_point_of_is_asked_of_another(monkeypatch, what):
    real = BACKENDS["highs"]

    def open_failing(program, options):
        return Failing(real.open(program, options), {"solves": 0}, lambda solves: True, lambda: Solution(what, None, "so it says"))

    monkeypatch.setitem(BACKENDS, "highs", dataclasses.replace(real, open=open_failing))
    result = dcembed.solve(*level_problem(0), options=quiet(max_starts=2))
    assert any(note.startswith("highs found no point of the host (so it says); asking") for note in result.notes)
    assert result.status is not Status.HOST_INFEASIBLE
    assert result.x is not None


def test_a_start_that_settles_when_time_is_over_was_cut_off(monkeypatch):
    from dcembed.engine import start as module

    def run_strategy(problem, workshop, point, settled):
        workshop.journal.clock.stop()
        return module.Outcome(Status.LOCALLY_SOLVED, point, None)

    monkeypatch.setattr(module, "run_strategy", run_strategy)
    assert dcembed.solve(*level_problem(0), options=quiet()).status is Status.INTERRUPTED
