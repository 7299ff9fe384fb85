"""Quadratics that are neither convex nor concave: both parts are what they claim, and differ by the matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import Program, split_quadratic
from dcembed.errors import InputError
from dcembed.program import nonconvex


def dense(part: sp.csr_array | None, n: int) -> np.ndarray:
    return np.zeros((n, n)) if part is None else part.toarray()


def some_matrices() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    square, thin = rng.normal(size=(6, 6)), rng.normal(size=(6, 2))
    vectors = np.linalg.qr(rng.normal(size=(9, 9)))[0]
    return {
        "any": square + square.T,
        "not symmetric": square,
        "convex": thin @ thin.T,
        "concave": -thin @ thin.T,
        "product": np.array([[0.0, 3.0], [3.0, 0.0]]),
        "one small eigenvalue": vectors @ np.diag([1e-7] + 8 * [-1.0]) @ vectors.T,
        "blocks": sp.block_diag([[[0.0, 1.0], [1.0, 0.0]], [[5.0]], [[-2.0]], [[0.0]], square]).toarray(),
    }


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("name", some_matrices())
def test_both_parts_bend_the_right_way_and_differ_by_the_matrix(name, is_scaled, maximize):
    matrix = some_matrices()[name]
    n = len(matrix)
    scale = np.geomspace(0.1, 100.0, n) if is_scaled else None
    quadratic, concave = split_quadratic(matrix, maximize, scale)
    assert np.allclose(dense(quadratic, n) - dense(concave, n), (matrix + matrix.T) / 2, rtol=0, atol=1e-13 * abs(matrix).max())
    # `Program` checks their sides.
    program = Program(cost=np.zeros(n), quadratic=quadratic, concave=concave, maximize=maximize)
    w = np.random.default_rng(1).normal(size=n)
    assert program.objective(w) == pytest.approx(0.5 * w @ matrix @ w)
    assert np.allclose(program.gradient(w), 0.5 * (matrix + matrix.T) @ w)


def test_what_bends_one_way_is_left_as_it_is():
    matrix = some_matrices()["convex"]
    quadratic, concave = split_quadratic(matrix)
    assert concave is None
    assert np.array_equal(quadratic.toarray(), (matrix + matrix.T) / 2)
    assert split_quadratic(-matrix)[0] is None
    assert split_quadratic(-matrix, maximize=True)[1] is None
    assert split_quadratic(np.zeros((3, 3))) == (None, None)


def test_products_of_different_columns_stay_apart():
    pair = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    quadratic, concave = split_quadratic(sp.block_diag([pair] * 500))
    assert quadratic.nnz == concave.nnz == 2000


def test_a_scale_shares_the_bend_by_size():
    _, concave = split_quadratic([[0.0, 1.0], [1.0, 0.0]], scale=[1.0, 1000.0])
    assert concave.toarray() == pytest.approx(np.array([[500.0, -0.5], [-0.5, 0.0005]]))


def test_more_columns_than_eigenvalues_can_be_had_of(monkeypatch):
    monkeypatch.setattr(nonconvex, "EIGEN_COLUMNS", 4)
    matrix = some_matrices()["any"]
    quadratic, concave = split_quadratic(matrix, scale=np.geomspace(0.5, 5.0, 6))
    assert concave.nnz <= 6
    assert np.allclose(quadratic.toarray() - concave.toarray(), matrix)
    Program(cost=np.zeros(6), quadratic=quadratic, concave=concave)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (([[1.0, 2.0]],), "split_quadratic: the matrix of a quadratic is square, received shape (1, 2)."),
        (([[np.nan]],), "split_quadratic: quadratic has NaN or infinite entries. Leave a coefficient out (zero) instead."),
        (
            ([[1.0]], False, [0.0]),
            "split_quadratic: scale has a positive finite number for each of 1 columns, received list [0.0].",
        ),
    ],
)
def test_bad_input_is_refused(arguments, expected):
    with pytest.raises(InputError) as error:
        split_quadratic(*arguments)
    assert str(error.value) == expected


def test_a_concave_part_is_told():
    assert repr(Program(cost=[1.0], concave=[[1.0]])) == "Program(1 column, 0 rows, nonconvex quadratic objective)"
