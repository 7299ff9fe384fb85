"""Where a problem is solved, decided by the work that it may be."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import ConeConstraint, Program
from dcembed.solvers import BACKENDS, Limits, SessionOptions, work
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.solvers.remote import RemoteSession
from solvers.problems import banded_qp, example


def pattern(program: Program) -> work.Pattern:
    return work.Pattern(program, program.num_rows, sp.csr_array((0, program.num_columns)))


def dense_qp(n: int, m: int = 0) -> Program:
    """As dense as can be, and convex at a glance."""
    return Program(np.ones(n), quadratic=np.ones((n, n)) + n * np.eye(n), rows=np.ones((m, n)) if m else None)


def is_long(name: str, program: Program) -> bool:
    return BACKENDS[name].deaf_seconds(pattern(program)) > work.HERE_SECONDS


def test_small_problems_stay_here():
    for name, backend in BACKENDS.items():
        assert not any(is_long(name, example(kind).program) for kind in backend.classes)


@pytest.mark.parametrize(("name", "size"), [("piqp", 1200), ("clarabel", 800), ("scip", 800)])
def test_large_dense_ones_do_not(name, size):
    assert is_long(name, dense_qp(size))


def test_dense_ones_of_some_hundred_columns_are_over_before_a_process_has_begun():
    assert not is_long("piqp", dense_qp(800, 80))


def test_dense_rows_count_like_a_dense_objective():
    assert is_long("clarabel", dense_qp(100, 1500))
    assert not is_long("piqp", dense_qp(100, 1500))


def test_highs_is_deaf_for_longer_where_it_searches():
    # Measured at 800 and 1,500 dense columns: 0.8 and 1.4 s between two looks at the clock.
    rows = np.ones((80, 800))
    assert is_long("highs", Program(np.ones(800), rows=rows, integer=[0]))
    assert not is_long("highs", Program(np.ones(800), rows=rows))
    assert is_long("highs", Program(np.ones(2400), rows=np.ones((240, 2400))))


@pytest.mark.parametrize(("name", "num_entries"), [("clarabel", 400), ("scip", 150), ("gurobi", 3000)])
def test_dense_cones_count_like_dense_rows(name, num_entries):
    assert is_long(name, Program(np.ones(1000), cones=[ConeConstraint(np.ones((num_entries, 1000)), np.ones(num_entries))]))


def test_large_sparse_ones_stay_here_with_a_row_over_all_columns():
    program = banded_qp(3000, 300)
    budget = sp.csr_array(np.ones((1, 3000)))
    assert not is_long("piqp", program)
    assert not is_long("piqp", Program(program.cost, program.quadratic, rows=sp.vstack([program.rows, budget]), row_ub=1.0))


def test_blocks_that_share_a_few_columns_stay_here():
    # Sixteen scenarios of one design: each has rows of its own over its 38 columns and the two that all share.
    rng = np.random.default_rng(0)
    own = sp.block_diag([sp.random_array((31, 38), density=0.08, rng=rng) for _ in range(16)])
    rows = sp.hstack([own, sp.random_array((own.shape[0], 2), density=0.25, rng=rng)], format="csr")
    assert not is_long("piqp", Program(np.zeros(rows.shape[1]), quadratic=sp.eye_array(rows.shape[1]), rows=rows, row_ub=1.0))


def test_sparse_ones_that_fill_in_do_not():
    rows = sp.random_array((1200, 1200), density=0.01, rng=np.random.default_rng(0))
    assert is_long("piqp", Program(np.zeros(1200), quadratic=sp.eye_array(1200), rows=rows, row_ub=1.0))


def test_a_session_whose_rows_grow_moves_on(monkeypatch):
    program = example("QP").program
    session = LastingSession(program, Solver(BACKENDS["piqp"], SessionOptions()))
    session.solve(Limits())
    assert not isinstance(session._session, RemoteSession)
    monkeypatch.setattr(work, "HERE_SECONDS", work.piqp_seconds(pattern(program)) * 1.5)
    rows = sp.csr_array(np.random.default_rng(0).normal(size=(40, program.num_columns)))
    session.replace_rows(program.num_rows, rows, np.full(40, -90.0), np.full(40, 90.0))
    assert session.solve(Limits()).x is not None
    assert isinstance(session._session, RemoteSession)
    session.close()
