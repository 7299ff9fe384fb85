"""A session that stays usable: what it remembers, and what it does when a backend fails or cannot take the problem."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import dcembed
from dcembed import Embedding, Indicator, Program, Status, build_mlp
from dcembed.errors import SolverLimitError
from dcembed.solvers import BACKENDS, Limits, SessionOptions, SolveStatus, choose_backend, table
from dcembed.solvers.base import Solution, SolverFailure
from dcembed.solvers.failover import LastingSession, Solver
from problems import binary_problem, quiet, random_mlp

HIGHS = BACKENDS["highs"]
LIMITS = Limits(seconds=200.0)


class Faulty:
    """A session of HiGHS of which one method fails at given calls."""

    def __init__(self, session, name: str, fails, error: Exception | None = None):
        self._session, self._name, self._fails, self._calls = session, name, fails, 0
        self._error = error or SolverFailure("broke down")

    def __getattr__(self, name):
        real = getattr(self._session, name)
        if name != self._name:
            return real

        def call(*rest, **more):
            self._calls += 1
            if self._fails(self._calls):
                raise self._error
            return real(*rest, **more)

        return call


def indicated() -> Program:
    """x <= 2 and x <= 1 while z = 1; more z is better, and so is more x."""
    on = Indicator(1, 1, [1.0, 0.0], ub=1.0)
    return Program(cost=[-1.0, -0.5], rows=[[1.0, 0.0]], row_ub=9.0, lb=[0.0, 0.0], ub=[2.0, 1.0], integer=[1], indicators=[on])


def edit(session: LastingSession) -> None:
    """Minimize -3x - z over x <= 1.5 and 2x <= 2.5 in place of the row."""
    session.set_cost(np.array([-3.0, -1.0]), 7.0)
    session.set_bounds(np.zeros(2), np.array([1.5, 1.0]))
    session.replace_rows(0, sp.csr_array([[2.0, 0.0]]), np.array([-np.inf]), np.array([2.5]))


@pytest.mark.parametrize("when", ["before it is opened", "while it is open", "and it is opened anew"])
@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_edits_count_whenever_they_are_made(solver, when):
    session = LastingSession(indicated(), Solver(BACKENDS[solver], SessionOptions()))
    if when != "before it is opened":
        assert session.solve(LIMITS).x == pytest.approx([2.0, 0.0])
    edit(session)
    if when == "and it is opened anew":
        session.reopen()
    # Without the switch x = 1.25 for 3.75, with it x = 1 and z = 1 for 4.
    assert session.solve(LIMITS).x == pytest.approx([1.0, 1.0])
    session.close()


@pytest.mark.parametrize("name", ["set_cost", "set_bounds", "replace_rows"])
def test_an_edit_that_fails_once_costs_a_session_and_no_solve(name):
    opened = []

    def open_faulty(program, options):
        opened.append(Faulty(HIGHS.open(program, options), name, lambda call: call == 1 and len(opened) == 1))
        return opened[-1]

    session = LastingSession(indicated(), Solver(replace(HIGHS, open=open_faulty), SessionOptions()))
    session.open()
    edit(session)
    assert session.solve(LIMITS).x == pytest.approx([1.0, 1.0])
    assert len(opened) == 2
    session.close()


def test_an_edit_that_fails_for_good_is_a_failed_solve_each_time():
    backend = replace(HIGHS, open=lambda *a: Faulty(HIGHS.open(*a), "replace_rows", lambda call: True))
    session = LastingSession(indicated(), Solver(backend, SessionOptions()))
    edit(session)
    for _ in range(2):
        solution = session.solve(LIMITS)
        assert (solution.status, solution.message) == (SolveStatus.FAILED, "broke down")
        session.reopen()
    session.close()


def test_rows_that_a_solver_refuses_never_become_the_users_mistake():
    # A slope of 1e16 near the start: HiGHS takes no such row, whether it is edited in or opened with.
    network = build_mlp([[[1.0], [1e16]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    program = Program(cost=[-1.0, 0.0], rows=[[0.0, 1.0]], row_ub=5.0, lb=[-1.0, -np.inf], ub=[1.0, np.inf])
    result = dcembed.solve(program, Embedding(network, [0], [1]), start=np.array([0.5, 0.0]), options=quiet())
    assert result.status is Status.NUMERICAL_ERROR
    assert result.x is not None


def limited(number: int):
    """A backend with indicators whose licence carries so many solves in all."""
    scip, calls = BACKENDS["scip"], []

    def open_limited(program, options):
        session = scip.open(program, options)

        def fails(call: int) -> bool:
            calls.append(call)
            return len(calls) > number

        return Faulty(session, "solve", fails, SolverLimitError("too large."))

    return replace(scip, name="limited", open=open_limited, classes=frozenset({"MILP"}))


def without_bounds() -> tuple[Program, Embedding]:
    """An indicator that no finite M stands for: HiGHS cannot take it, SCIP can."""
    program = Program(
        cost=[0.1, 1.0, -0.01, 0.0],
        rows=[[0.0, 1.0, 0.0, 0.0]],
        row_lb=-0.5,
        lb=[-2.0, -np.inf, 0.0, -np.inf],
        ub=[2.0, np.inf, 1.0, np.inf],
        integer=[2],
        indicators=[Indicator(2, 1, [0.0, 0.0, 0.0, 1.0], lb=1.0)],
    )
    return program, Embedding(random_mlp(3, (1, 6, 6, 1)), [0], [1])


@pytest.mark.parametrize("number", [3, 6])
def test_a_switch_to_a_backend_that_cannot_take_the_problem_loses_nothing(monkeypatch, number):
    program, embedding = without_bounds()
    monkeypatch.setattr(table, "BACKENDS", {"highs": HIGHS, "limited": limited(number)})
    result = dcembed.solve(program, embedding, options=quiet(solver="limited", max_starts=1))
    assert result.status is Status.NUMERICAL_ERROR
    assert result.x is not None


@pytest.mark.parametrize("start", [None, np.zeros(4)])
def test_a_host_that_nothing_carries_is_told(monkeypatch, start):
    def refuse(program, options):
        raise SolverLimitError("too large at once.")

    program, embedding = without_bounds()
    monkeypatch.setattr(table, "BACKENDS", {"limited": replace(limited(0), open=refuse)})
    with pytest.raises(SolverLimitError, match=r"too large at once\. Apart from limited"):
        dcembed.solve(program, embedding, start=start, options=quiet(solver="limited"))


LIBRARY_CALLS = ["getBasis", "changeColsCost", "changeColsBounds", "deleteRows", "setSolution", "setBasis", "clear"]


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("invalid")])
@pytest.mark.parametrize("name", LIBRARY_CALLS)
def test_a_call_of_the_library_that_fails_once_costs_a_step_at_most(monkeypatch, name, error):
    import highspy

    program, embedding = binary_problem(3)
    expected = dcembed.solve(program, embedding, start=np.zeros(program.num_columns), options=quiet())
    real, calls = getattr(highspy.Highs, name), []

    def once(self, *rest):
        calls.append(name)
        if len(calls) == 2:
            raise error
        return real(self, *rest)

    monkeypatch.setattr(highspy.Highs, name, once)
    result = dcembed.solve(program, embedding, start=np.zeros(program.num_columns), options=quiet())
    assert result.is_feasible
    assert result.objective == pytest.approx(expected.objective, abs=1e-6)


def test_another_backend_is_another_one_by_its_name():
    copy = pickle.loads(pickle.dumps(BACKENDS["highs"]))
    assert choose_backend("MILP", without=copy).name != "highs"


def test_after_a_switch_further_starts_begin_with_the_new_backend(monkeypatch, capsys):
    program, embedding = binary_problem(3)
    opened = []
    real = limited(2)
    backend = replace(real, open=lambda *a: opened.append("limited") or real.open(*a))
    monkeypatch.setattr(table, "BACKENDS", {"highs": HIGHS, "limited": backend})
    starts = [np.zeros(program.num_columns), np.ones(program.num_columns), np.full(program.num_columns, 0.5)]
    result = dcembed.solve(program, embedding, start=starts, options={"solver": "limited", "max_starts": 3})
    assert result.solver == "highs"
    assert {record.start for record in result.history} == {0, 1, 2}
    assert len(opened) == 2  # the subproblem and the host of the first start
    assert capsys.readouterr().out.count("Going on with highs.") == 1


class Stopped:
    """A session that was stopped, and says what solvers say then."""

    def solve(self, limits, start=None, relax=False):
        return Solution(SolveStatus.FEASIBLE, np.zeros(1), "Interrupted by user")

    def close(self):
        pass


@pytest.mark.parametrize(("asked", "said"), [(True, "Interrupted by user"), (False, "time limit")])
def test_what_the_clock_has_stopped_says_so(asked, said):
    backend = replace(HIGHS, open=lambda program, options: Stopped())
    session = LastingSession(Program(cost=[1.0], lb=0.0, ub=1.0), Solver(backend, SessionOptions()))
    assert session.solve(Limits(1.0, lambda: asked)).message == said
