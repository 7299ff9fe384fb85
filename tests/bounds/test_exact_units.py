"""Bounds of units from linear programs, and the pieces they stand on: bounds from multipliers, and rows without tiny coefficients."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bounds.small_problems import KINDS, best_point, draw
from dcembed import Program
from dcembed.bounds.exact_lp import bound_minimum, bounded_rows
from dcembed.bounds.exact_solver import TINY, is_moderate, loosened, without_tiny
from dcembed.bounds.exact_units import limit_units, tighten_units, with_cutoff
from dcembed.network.network import preactivations
from dcembed.program.derive import minimized
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Limits, SessionOptions


def random_lp(seed: int) -> Program:
    rng = np.random.default_rng(seed)
    rows, point = rng.normal(size=(6, 5)), rng.uniform(-1, 1, 5)
    return Program(rng.normal(size=5), rows=rows, row_lb=[*[-np.inf] * 4, *(rows @ point)[4:]], row_ub=rows @ point, lb=-2.0, ub=2.0)


@pytest.mark.parametrize("seed", range(10))
def test_multipliers_prove_the_optimum_and_others_prove_less(seed):
    program = random_lp(seed)
    session = choose_backend("LP").open(program, SessionOptions())
    solution = session.solve(Limits())
    optimum = program.objective(solution.x)
    proved = bound_minimum(program, program.cost, solution.duals, program.lb, program.ub)
    assert optimum - 1e-9 <= proved <= optimum + 1e-12
    rng = np.random.default_rng(seed)
    for _ in range(20):
        assert bound_minimum(program, program.cost, solution.duals + rng.normal(size=6), program.lb, program.ub) <= optimum + 1e-12
    session.close()


def test_columns_without_end_leave_no_bound_and_their_rows_are_told():
    program = Program([1.0, 1.0], rows=[[1.0, 1.0], [1.0, 0.0]], row_lb=[1.0, 0.0], row_ub=[3.0, 1.0], lb=[0.0, -np.inf], ub=[1.0, np.inf])
    assert bound_minimum(program, program.cost, np.array([-0.5, 0.0]), program.lb, program.ub) == -np.inf
    np.testing.assert_array_equal(bounded_rows(program.rows, program.lb, program.ub), [1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_for_all_points_that_are_no_worse(kind, seed):
    small = draw(kind, seed)
    program = minimized(small.program)
    _, best = best_point(small)
    largest = program.objective(small.witness)
    plain = limit_units(with_cutoff(program, small.witness, largest + 1e-6), small.embeddings)
    tight = tighten_units(plain, np.inf, lambda: False)
    assert tight.open_width <= plain.open_width + 1e-9
    for w in (small.witness, best):
        for embedding, stages in zip(small.embeddings, tight.bounds, strict=True):
            for (low, high), a in zip(stages, preactivations(embedding.network, embedding.points(w)), strict=True):
                assert (low <= a + 1e-6).all()
                assert (a <= high + 1e-6).all()


def test_bounds_become_tighter_and_an_end_leaves_them_as_they_are():
    small = draw("LP", 7)
    program = minimized(small.program)
    _, best = best_point(small)
    plain = limit_units(with_cutoff(program, best, program.objective(best) + 1e-6), small.embeddings)
    assert tighten_units(plain, np.inf, lambda: False).open_width < 0.9 * plain.open_width
    assert tighten_units(plain, np.inf, lambda: True) is plain
    assert tighten_units(plain, 0.0, lambda: False) is plain


def test_rows_are_wider_by_what_tiny_coefficients_could_say():
    program = Program(
        np.zeros(3), rows=[[1.0, 0.1 * TINY, 0.0], [0.0, -0.1 * TINY, 1.0]], row_lb=[0.0, -1.0], row_ub=[0.0, 1.0], lb=-5.0, ub=5.0
    )
    wide = without_tiny(program, program.lb, program.ub)
    assert wide.rows.nnz == 2
    np.testing.assert_allclose(wide.row_ub - program.row_ub, 0.5 * TINY, rtol=1e-6)
    np.testing.assert_allclose(program.row_lb - wide.row_lb, 0.5 * TINY, rtol=1e-6)
    endless = np.full(3, np.inf)
    assert without_tiny(program, -endless, endless) is program


def test_sizes_that_solvers_are_not_exact_with():
    assert is_moderate(Program(np.zeros(2), rows=[[1.0, 1e5]], row_ub=1.0))
    assert not is_moderate(Program(np.zeros(2), rows=sp.csr_array([[1.0, 1e7]]), row_ub=1.0))


def test_loosened_constraints_allow_more_and_integers_stay():
    program = Program(np.zeros(2), rows=[[1.0, 1.0]], row_lb=1.0, row_ub=1.0, lb=0.0, ub=1.0, integer=[1])
    loose = loosened(program)
    assert loose.row_lb < 1.0 < loose.row_ub
    assert (loose.lb[0], loose.ub[1], loose.lb[1]) == (-1e-6, 1.0, 0.0)
    assert loosened(minimized(next(s.program for s in (draw("MILP", i) for i in range(20)) if s.program.indicators))) is None
