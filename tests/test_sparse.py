"""Sparse rows that are put together without scipy's checks are those that scipy would have made."""

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed.sparse import (
    above,
    add,
    beside,
    compressed,
    empty_rows,
    from_entries,
    plan_above,
    plan_beside,
    repeat,
    rows_from,
    rows_to,
    scale_rows,
    subtract,
    take_columns,
    take_rows,
    times,
    transposed_times,
    unit_rows,
)


def _matrix(seed, shape=(5, 7), density=0.4):
    return sp.csr_array(sp.random_array(shape, density=density, rng=np.random.default_rng(seed), format="csr"))


A, B = _matrix(0), _matrix(1)
ROWS, COLUMNS = np.array([3, 0, 3]), np.array([1, 2, 6])
ENTRIES = np.zeros((4, 4))
ENTRIES[[2, 0, 2], [3, 1, 0]] = [1.0, 2.0, 3.0]

CASES = {
    "rows_from": (rows_from(A, 2), A.toarray()[2:]),
    "rows_to": (rows_to(A, 2), A.toarray()[:2]),
    "take_rows": (take_rows(A, ROWS), A.toarray()[ROWS]),
    "take no rows": (take_rows(A, ROWS[:0]), A.toarray()[:0]),
    "take_columns": (take_columns(A, COLUMNS), A.toarray()[:, COLUMNS]),
    "scale_rows": (scale_rows(A, np.arange(5.0)), np.arange(5.0)[:, None] * A.toarray()),
    "above": (above(A, B), np.vstack([A.toarray(), B.toarray()])),
    "beside": (beside(A, B), np.hstack([A.toarray(), B.toarray()])),
    "repeat": (repeat(A, 3), np.tile(A.toarray(), (3, 1))),
    "add": (add(A, B), A.toarray() + B.toarray()),
    "add nothing": (add(A, empty_rows(5, 7)), A.toarray()),
    "subtract": (subtract(A, B), A.toarray() - B.toarray()),
    "subtract in the same places": (subtract(A, 2.0 * A), -A.toarray()),
    "from_entries": (from_entries(np.array([2, 0, 2]), np.array([3, 1, 0]), np.array([1.0, 2.0, 3.0]), (4, 4)), ENTRIES),
    "empty_rows": (empty_rows(2, 3), np.zeros((2, 3))),
    "unit_rows": (unit_rows(COLUMNS, np.array([1.0, 2.0, 3.0]), 7), np.diag([0, 1.0, 2, 0, 0, 0, 3])[COLUMNS]),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_that_scipy_makes(name):
    matrix, expected = CASES[name]
    # The constructor that checks finds nothing to complain of, and every kind of use gives what it should.
    checked = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    checked.check_format(full_check=True)
    assert matrix.shape == expected.shape
    assert np.allclose(checked.toarray(), expected)
    assert np.allclose(matrix.toarray(), expected)
    assert np.allclose(matrix @ np.arange(matrix.shape[1]), expected @ np.arange(matrix.shape[1]))
    assert np.allclose((matrix + matrix).toarray(), 2 * expected)
    assert np.allclose(matrix.T.toarray(), expected.T)


def test_a_compressed_matrix_has_all_that_one_of_scipy_has():
    own = compressed(A.data, A.indices.astype(np.int64), A.indptr, A.shape)
    assert vars(own).keys() == vars(sp.csr_array((A.data, A.indices, A.indptr), shape=A.shape)).keys()
    assert own.indices.dtype == own.indptr.dtype == A.indices.dtype
    assert np.array_equal(sp.csc_array(own).toarray(), A.toarray())


RIGHT = np.random.default_rng(2).normal(size=(7, 3))


@pytest.mark.parametrize(
    "right", [RIGHT[:, 0].copy(), RIGHT[:, 1], RIGHT, np.asfortranarray(RIGHT), RIGHT[:, :0], np.arange(7), RIGHT > 0], ids=str
)
def test_products_are_those_of_scipy_to_the_last_digit(right):
    np.testing.assert_array_equal(times(A, right), A @ right)
    np.testing.assert_array_equal(transposed_times(sp.csr_array(A.T), right), A @ right)


def test_a_product_of_shapes_that_do_not_fit_is_refused():
    for product in (times, transposed_times):
        with pytest.raises(ValueError, match="mismatch"):
            product(A, np.zeros(6))


def test_places_are_found_once_for_matrices_that_keep_them():
    other = compressed(2.0 * A.data, A.indices, A.indptr, A.shape)
    side, stack = plan_beside(A, B), plan_above(A, B)
    assert side.fits(other)
    assert stack.fits(other, B)
    np.testing.assert_array_equal(side.join(other).toarray(), np.hstack([2.0 * A.toarray(), B.toarray()]))
    np.testing.assert_array_equal(stack.join(other, B).toarray(), np.vstack([2.0 * A.toarray(), B.toarray()]))
    # The plan is not filled with what was joined before.
    np.testing.assert_array_equal(side.join(A).toarray(), np.hstack([A.toarray(), B.toarray()]))
    assert not side.fits(B)
    assert not stack.fits(A, A)
