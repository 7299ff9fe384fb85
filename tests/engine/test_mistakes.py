"""A mistake of our own stays a traceback; what a solver's library raises costs a step."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.engine import workshop
from dcembed.engine.bundle import model
from dcembed.run import completion
from dcembed.solvers import BACKENDS, is_installed
from dcembed.solvers.base import Limits, SessionOptions, SolverFailure, calling
from dcembed.solvers.failover import LastingSession, Solver
from problems import FORMULATIONS, binary_problem, indicator_problem, quiet


@pytest.mark.parametrize("kind", [ValueError, RuntimeError, ArithmeticError, OSError, KeyError])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_mistake_in_writing_the_subproblem_is_raised(monkeypatch, formulation, kind):
    def mistaken(*rest):
        raise kind("shapes do not fit")

    monkeypatch.setattr(workshop, "restriction_rows", mistaken)
    program, embedding = binary_problem(3)
    with pytest.raises(kind, match="shapes do not fit"):
        dcembed.solve(program, embedding, options=quiet(formulation=formulation))


@pytest.mark.parametrize("place", [(model, "split_on_box"), (completion, "largest_values"), (workshop, "take")])
def test_a_mistake_elsewhere_is_raised_too_even_inside_a_solvers_callback(monkeypatch, place):
    def mistaken(*rest):
        raise ValueError("operands could not be broadcast")

    monkeypatch.setattr(*place, mistaken)
    program, embedding = indicator_problem(1)
    with pytest.raises(ValueError, match="broadcast"):
        dcembed.solve(program, embedding, options=quiet(decomposition="local", tangents=False))


class OwnError(Exception):
    """As solvers have them: no kin of RuntimeError or ValueError."""


def test_what_a_library_raises_is_a_failure_whatever_its_type():
    for error in (OwnError("licence server"), MemoryError(), ValueError("bad pivot"), KeyError("x")):
        with pytest.raises(SolverFailure, match=type(error).__name__), calling("Solver"):
            raise error
    with pytest.raises(dcembed.errors.InputError), calling("Solver"):
        raise dcembed.errors.InputError("the user's")


LIBRARY_CALLS = {
    "highs": ("dcembed.solvers.highs_._solution", {}),
    "piqp": ("dcembed.solvers.piqp_.run_piqp", {}),
    "clarabel": ("dcembed.solvers.clarabel_.clarabel.DefaultSolver", {}),
    "scip": ("dcembed.solvers.scip_._solution", {}),
    "gurobi": ("dcembed.solvers.gurobi_._solution", {}),
}


@pytest.mark.parametrize("name", [name for name in LIBRARY_CALLS if is_installed(BACKENDS[name])])
def test_a_library_that_raises_costs_a_solve_and_the_session_can_be_opened_anew(monkeypatch, name):
    program = dcembed.Program(cost=[1.0, -1.0], rows=[[1.0, 1.0]], row_ub=1.0, lb=0.0, ub=2.0)
    try:
        session = LastingSession(program, Solver(BACKENDS[name], SessionOptions()))
        session.open()
    except dcembed.errors.DcembedError as error:
        pytest.skip(str(error))
    session.set_bounds(np.zeros(2), np.array([2.0, 0.5]))
    with monkeypatch.context() as patch:

        def broken(*rest, **more):
            raise OwnError("no memory left")

        patch.setattr(LIBRARY_CALLS[name][0], broken)
        failed = session.solve(Limits(seconds=200.0))
    assert failed.status.name == "FAILED"
    assert "OwnError: no memory left" in failed.message
    session.reopen()
    # Its edits are remembered.
    assert session.solve(Limits(seconds=200.0)).x == pytest.approx([0.0, 0.5], abs=1e-6)
    session.close()
