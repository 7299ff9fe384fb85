"""PIQP: what is particular about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import Program
from dcembed.solvers import SolveStatus, piqp_
from solvers.problems import banded_qp, example, solve, stationarity


def test_a_small_problem_is_solved_to_stationarity():
    for seed in range(5):
        program = example("QP", seed).program
        assert stationarity(program, solve("piqp", program).x) < 1e-5


def test_an_infeasible_problem_is_recognized():
    program = banded_qp(10, 5)
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


@pytest.mark.parametrize("size", [6, 400])
def test_columns_that_cannot_move_are_not_given_to_piqp(size, monkeypatch):
    """Dense and sparse: the others see what the held ones bring, by the quadratic form and by the rows."""
    program = banded_qp(size, size // 2)
    quadratic = program.quadratic + sp.diags_array([np.full(size - 1, 0.1), np.full(size - 1, 0.1)], offsets=[-1, 1])
    held = np.arange(size) % 3 == 0
    lb, ub = np.where(held, 0.25, program.lb), np.where(held, 0.25, program.ub)
    program = replace(program, quadratic=quadratic, lb=lb, ub=ub)
    given, run = [], piqp_.run_piqp
    monkeypatch.setattr(piqp_, "run_piqp", lambda problem, settings: given.append(problem["c"].size) or run(problem, settings))
    found = solve("piqp", program)
    assert given == [size - held.sum()]
    assert found.x[held].tolist() == [0.25] * held.sum()
    assert found.x == pytest.approx(solve("clarabel", program).x, abs=1e-4)


def test_a_problem_in_which_nothing_can_move_is_checked_all_the_same():
    fixed = Program(cost=[1.0, 1.0], quadratic=np.eye(2), lb=0.5, ub=0.5, rows=[[1.0, 1.0]], row_ub=[1.0])
    assert solve("piqp", fixed).x == pytest.approx([0.5, 0.5])
    assert solve("piqp", replace(fixed, row_ub=np.array([0.5]))).status is SolveStatus.INFEASIBLE
