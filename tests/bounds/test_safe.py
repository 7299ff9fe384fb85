"""What multipliers prove holds exactly, in rational arithmetic, and without the margin for rounding it would not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed.bounds import safe
from dcembed.bounds.safe import Relaxed, find_bend, prove_bound


def _drawn(seed: int) -> tuple[Relaxed, np.ndarray, np.ndarray]:
    """Numbers of many sizes that cancel one another."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 8)), int(rng.integers(1, 6))
    rows = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-3, 4, (m, n)) * (rng.random((m, n)) < 0.7)
    y = rng.normal(size=m) * 10.0 ** rng.uniform(-3, 3, m)
    factor = rng.normal(size=(2, n))
    quadratic = sp.csr_array(factor.T @ factor) if rng.random() < 0.5 else None
    w = rng.normal(size=n) * 10.0 ** rng.uniform(-2, 3, n)
    # Reduced costs are nearly zero, as at an optimum.
    cost = -rows.T @ y - (quadratic @ w if quadratic is not None else 0.0) + rng.normal(size=n) * 1e-9
    lb = w - 10.0 ** rng.uniform(-2, 3, n)
    relaxed = Relaxed(cost, float(rng.normal()), quadratic, sp.csr_array(rows), rows @ w - 1.0, rows @ w + 1.0, lb, w + 1.0)
    return relaxed, w, y


def _exactly(relaxed: Relaxed, w: np.ndarray, y: np.ndarray) -> Fraction:
    """The Lagrangian at these multipliers, of the convex function's tangent at w."""
    number = np.vectorize(Fraction, otypes=[object])
    multipliers, point, matrix = number(y), number(w), number(relaxed.rows.toarray())
    curve = number(relaxed.quadratic.toarray()) @ point if relaxed.quadratic is not None else number(np.zeros(w.size))
    reduced = number(relaxed.cost) + curve + matrix.T @ multipliers
    total = Fraction(relaxed.offset) - Fraction(1, 2) * sum(point * curve)
    total -= sum(max(v * Fraction(a), v * Fraction(b)) for v, a, b in zip(multipliers, relaxed.row_lb, relaxed.row_ub, strict=True))
    return total + sum(min(v * Fraction(a), v * Fraction(b)) for v, a, b in zip(reduced, relaxed.lb, relaxed.ub, strict=True))


@pytest.mark.parametrize("seed", range(150))
def test_a_bound_holds_in_exact_arithmetic(seed):
    relaxed, w, y = _drawn(seed)
    bound, exactly = Fraction(prove_bound(relaxed, w, y).bound), _exactly(relaxed, w, y)
    reach = max(np.abs(relaxed.lb).max(), np.abs(relaxed.ub).max())
    size = float(1.0 + (abs(relaxed.rows).max() * np.abs(y).max() + np.abs(relaxed.cost).max() + 10.0 * reach) * reach)
    assert bound <= exactly
    assert bound >= exactly - Fraction(1e-11 * size)


def test_without_the_margin_it_would_not_hold(monkeypatch):
    monkeypatch.setattr(safe, "_rounding", lambda *args: 0.0)
    assert any(Fraction(prove_bound(*drawn).bound) > _exactly(*drawn) for drawn in map(_drawn, range(150)))


@pytest.mark.parametrize("seed", range(30))
def test_no_multipliers_prove_too_much(seed):
    rng = np.random.default_rng(seed)
    relaxed, w, y = _drawn(seed)
    points = np.vstack([w, w + rng.normal(size=(200, w.size))]).clip(relaxed.lb, relaxed.ub)
    inside = ((points @ relaxed.rows.T >= relaxed.row_lb - 1e-9) & (points @ relaxed.rows.T <= relaxed.row_ub + 1e-9)).all(axis=1)
    points = np.vstack([w, points[inside]])
    values = points @ relaxed.cost + relaxed.offset
    if relaxed.quadratic is not None:
        values = values + 0.5 * np.einsum("ij,ij->i", points @ relaxed.quadratic.toarray(), points)
    best = values.min()
    for size in (0.0, 1e-6, 1e-3, 1.0, 1e3):
        tried = y + size * rng.normal(size=y.size)
        tried[rng.random(y.size) < 0.1] = rng.choice([np.nan, np.inf, -np.inf])
        bound = prove_bound(relaxed, w * (1 + size * rng.normal(size=w.size)), tried).bound
        assert bound <= best + 1e-9 * max(1.0, abs(best))


def test_a_quadratic_that_is_a_little_concave_costs_what_it_may_bend():
    """-1/2 * 1e-9 w^2 on [-1e3, 1e3] is -5e-4 at its ends, which no tangent shows."""
    quadratic = sp.csr_array(np.diag([-1e-9, 1.0]))
    relaxed = Relaxed(np.zeros(2), 0.0, quadratic, sp.csr_array((0, 2)), np.zeros(0), np.zeros(0), np.full(2, -1e3), np.full(2, 1e3))
    with_bend = Relaxed(**{**relaxed.__dict__, "bend": find_bend(quadratic)})
    assert prove_bound(relaxed, np.zeros(2), np.zeros(0)).bound > -5e-4
    assert prove_bound(with_bend, np.zeros(2), np.zeros(0)).bound <= -5e-4


def test_a_column_without_end_and_with_a_reduced_cost_proves_nothing():
    relaxed = Relaxed(np.ones(1), 0.0, None, sp.csr_array((0, 1)), np.zeros(0), np.zeros(0), np.array([-np.inf]), np.array([5.0]))
    assert prove_bound(relaxed, np.zeros(1), np.zeros(0)).bound == -np.inf
