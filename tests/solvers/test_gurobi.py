"""Gurobi: what is particular about it."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import ConeConstraint, Program
from dcembed.errors import NoBackendError, SolverLimitError
from dcembed.run.clock import Clock, hear_interrupts
from dcembed.solvers import BACKENDS, SessionOptions, SolveStatus, is_installed
from solvers.problems import UNLIMITED, example, market_split, planted_split, solve

pytestmark = pytest.mark.skipif(not is_installed(BACKENDS["gurobi"]), reason="gurobi is not installed")


def open_or_skip(program: Program):
    """A session, and a skip where the licence has no limit that the test could meet."""
    session = BACKENDS["gurobi"].open(program, SessionOptions())
    session.close()
    pytest.skip("this Gurobi licence has no size limit")


def test_a_program_beyond_the_licence_is_refused_at_once():
    with pytest.raises(SolverLimitError) as caught:
        open_or_skip(Program(cost=np.ones(2500), lb=0.0))
    assert str(caught.value).startswith("The Gurobi licence does not carry a problem of 2500 columns and 0 rows (")
    assert str(caught.value).endswith("Use a licence without size limit, or leave solver=None.")


def test_rows_beyond_the_licence_are_refused_when_they_are_solved():
    program = Program(cost=[1.0, 1.0], rows=np.ones((1, 2)), row_lb=1.0, lb=0.0)
    session = BACKENDS["gurobi"].open(program, SessionOptions())
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    many = sp.csr_array(np.random.default_rng(0).uniform(1, 2, size=(2500, 2)))
    session.replace_rows(1, many, np.ones(2500), np.full(2500, np.inf))
    try:
        session.solve(UNLIMITED)
        pytest.skip("this Gurobi licence has no size limit")
    except SolverLimitError as error:
        message = str(error)
    assert "2 columns and 2501 rows" in message
    # The session is as good as before once the rows are gone.
    session.replace_rows(1, many[:10], np.ones(10), np.full(10, np.inf))
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    session.close()


def test_the_basis_is_carried_over():
    rng = np.random.default_rng(0)
    n, m = 200, 300
    rows, inside = sp.csr_array(rng.normal(size=(m, n))), rng.normal(size=n)
    program = Program(cost=rng.normal(size=n), rows=rows, row_ub=rows @ inside + 1.0, lb=-5.0, ub=5.0)
    session = BACKENDS["gurobi"].open(program, SessionOptions(solver_options={"Presolve": 0, "Method": 1}))
    session.solve(UNLIMITED)
    cold = session._model.IterCount
    session.replace_rows(100, rows[100:], np.full(m - 100, -np.inf), program.row_ub[100:] + 1e-3)
    assert session.solve(UNLIMITED).status is SolveStatus.OPTIMAL
    assert session._model.IterCount < 0.2 * cold
    session.close()


def test_a_mip_start_is_used():
    hard = planted_split(num_rows=3, num_columns=30)
    # The first solution that Gurobi has is the given one, and it stops there.
    solution = solve("gurobi", hard.program, start=hard.inside, solver_options={"SolutionLimit": 1})
    assert hard.program.objective(solution.x) == pytest.approx(0.0, abs=1e-6)


def test_a_row_may_get_a_second_side():
    program = Program(cost=[1.0], rows=[[1.0], [1.0]], row_lb=[1.0, -np.inf], row_ub=[np.inf, 9.0], lb=-10.0, ub=10.0)
    session = BACKENDS["gurobi"].open(program, SessionOptions())
    assert session.solve(UNLIMITED).x == pytest.approx([1.0])
    session.replace_rows(0, program.rows, np.array([-3.0, -2.0]), np.array([3.0, 9.0]))
    assert session.solve(UNLIMITED).x == pytest.approx([-2.0])
    session.replace_rows(0, program.rows, np.array([-3.0, -np.inf]), np.array([3.0, 9.0]))
    session.set_cost(np.array([-1.0]), 0.0)
    assert session.solve(UNLIMITED).x == pytest.approx([3.0])
    session.close()


def test_a_cone_beside_edits():
    cone = ConeConstraint([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 0.0, 0.0])
    session = BACKENDS["gurobi"].open(Program(cost=[-1.0, -1.0], rows=[[1.0, 0.0]], row_ub=1.0, cones=[cone]), SessionOptions())
    assert session.solve(UNLIMITED).x == pytest.approx([np.sqrt(0.5)] * 2, abs=1e-4)
    session.replace_rows(0, sp.csr_array([[1.0, 0.0]]), np.array([-np.inf]), np.array([0.6]))
    assert session.solve(UNLIMITED).x == pytest.approx([0.6, 0.8], abs=1e-4)
    session.close()


def test_ctrl_c_reaches_the_clock():
    clock = Clock(100.0)
    session = BACKENDS["gurobi"].open(market_split(), SessionOptions())
    with hear_interrupts(clock):
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        solution = session.solve(clock.limits())
    session.close()
    assert clock.is_stopped
    assert clock.seconds < 100.0
    assert solution.status in (SolveStatus.FEASIBLE, SolveStatus.INTERRUPTED)


def test_a_licence_that_is_missing_is_said(monkeypatch):
    import gurobipy

    class NoLicence:
        def __init__(self, empty: bool) -> None:
            assert empty

        def setParam(self, name, value) -> None:
            pass

        def start(self) -> None:
            raise gurobipy.GurobiError(10009, "No Gurobi license found")

    monkeypatch.setattr(gurobipy, "Env", NoLicence)
    with pytest.raises(NoBackendError, match=r"^Gurobi does not start: .*\. Check its licence, or leave solver=None\.$"):
        solve("gurobi", example("LP").program)


def test_nothing_is_printed(capfd):
    solve("gurobi", example("MIQCP").program)
    assert capfd.readouterr().out == ""
