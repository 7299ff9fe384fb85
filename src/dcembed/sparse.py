"""Sparse rows put together without the generality of scipy, whose checks take longer than the work where matrices are small.

All of these take and give matrices in compressed rows without duplicates.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse import _sparsetools

from dcembed.arrays import Array

_EMPTY = sp.csr_array((0, 0))
_MAX_INT32 = int(np.iinfo(np.int32).max)


def compressed(data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> sp.csr_array:
    """The matrix with these entries, which nobody checks: scipy's own constructor takes twenty times as long."""
    kind = np.int32 if max(*shape, data.size) <= _MAX_INT32 else np.int64
    matrix = sp.csr_array.__new__(sp.csr_array)
    vars(matrix).update(vars(_EMPTY))
    matrix._shape = shape
    matrix.data, matrix.indices, matrix.indptr = data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
    return matrix


def times(matrix: sp.csr_array, vector: Array) -> Array:
    """matrix @ vector, or @ a matrix of vectors side by side, by the routine that scipy comes to after checks that take longer than the product of a small matrix.

    Examples
    --------
    >>> times(unit_rows(np.array([2, 0]), np.array([1.0, 5.0]), 3), np.array([1.0, 2.0, 3.0]))
    array([3., 5.])
    """
    num_rows, num_columns = matrix.shape
    if not (matrix.data.dtype == vector.dtype == np.float64 and num_columns == vector.shape[0] and vector.flags.c_contiguous):
        product: Array = matrix @ vector
        return product
    result = np.zeros((num_rows, *vector.shape[1:]))
    if vector.ndim == 1:
        _sparsetools.csr_matvec(num_rows, num_columns, matrix.indptr, matrix.indices, matrix.data, vector, result)
    else:
        flat, total = vector.reshape(-1), result.reshape(-1)
        _sparsetools.csr_matvecs(num_rows, num_columns, vector.shape[1], matrix.indptr, matrix.indices, matrix.data, flat, total)
    return result


def transposed_times(matrix: sp.csr_array, vector: Array) -> Array:
    """matrix.T @ vector, likewise: compressed rows are the compressed columns of the transposed matrix.

    Examples
    --------
    >>> transposed_times(unit_rows(np.array([2, 0]), np.array([1.0, 5.0]), 3), np.array([1.0, 2.0]))
    array([10.,  0.,  1.])
    """
    if not (vector.ndim == 1 and matrix.data.dtype == vector.dtype == np.float64 and matrix.shape[0] == vector.size):
        product: Array = matrix.T @ vector
        return product
    result = np.zeros(matrix.shape[1])
    _sparsetools.csc_matvec(matrix.shape[1], matrix.shape[0], matrix.indptr, matrix.indices, matrix.data, vector, result)
    return result


def empty_rows(num_rows: int, num_columns: int) -> sp.csr_array:
    """A matrix without entries."""
    return compressed(np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(num_rows + 1, dtype=np.int32), (num_rows, num_columns))


def unit_rows(columns: Array, values: Array, num_columns: int) -> sp.csr_array:
    """One entry in each row."""
    return compressed(values, columns, np.arange(columns.size + 1), (columns.size, num_columns))


def from_entries(rows: Array, columns: Array, values: Array, shape: tuple[int, int]) -> sp.csr_array:
    """The matrix with these entries, each at a place of its own, in any order."""
    order = np.lexsort((columns, rows))
    return compressed(values[order], columns[order], np.searchsorted(rows[order], np.arange(shape[0] + 1)), shape)


def dense_row(matrix: sp.csr_array, number: int) -> Array:
    """One row as a vector."""
    row = np.zeros(matrix.shape[1])
    inside = slice(matrix.indptr[number], matrix.indptr[number + 1])
    row[matrix.indices[inside]] = matrix.data[inside]
    return row


def rows_from(matrix: sp.csr_array, first: int) -> sp.csr_array:
    """The rows from number `first` to the last."""
    begin = matrix.indptr[first]
    shape = matrix.shape[0] - first, matrix.shape[1]
    return compressed(matrix.data[begin:], matrix.indices[begin:], matrix.indptr[first:] - begin, shape)


def rows_to(matrix: sp.csr_array, end: int) -> sp.csr_array:
    """The first `end` rows."""
    until = matrix.indptr[end]
    return compressed(matrix.data[:until], matrix.indices[:until], matrix.indptr[: end + 1], (end, matrix.shape[1]))


def take_rows(matrix: sp.csr_array, numbers: Array) -> sp.csr_array:
    """The rows of these numbers, in their order."""
    sizes = np.diff(matrix.indptr)[numbers]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(indptr[-1]) + np.repeat(matrix.indptr[numbers] - indptr[:-1], sizes)
    return compressed(matrix.data[places], matrix.indices[places], indptr, (numbers.size, matrix.shape[1]))


def take_columns(matrix: sp.csr_array, numbers: Array) -> sp.csr_array:
    """The columns of these numbers, which increase."""
    position = np.full(matrix.shape[1], -1)
    position[numbers] = np.arange(numbers.size)
    column = position[matrix.indices]
    kept = np.flatnonzero(column >= 0)
    indptr = np.searchsorted(kept, matrix.indptr)
    return compressed(matrix.data[kept], column[kept], indptr, (matrix.shape[0], numbers.size))


def scale_rows(matrix: sp.csr_array, factors: Array) -> sp.csr_array:
    """Each row times its factor."""
    return compressed(matrix.data * np.repeat(factors, np.diff(matrix.indptr)), matrix.indices, matrix.indptr, matrix.shape)


def add(one: sp.csr_array, other: sp.csr_array) -> sp.csr_array:
    """The sum of two matrices; the other one where one has no entries."""
    return other if one.nnz == 0 else one if other.nnz == 0 else sp.csr_array(one + other)


@dataclass(frozen=True, eq=False)
class Sum:
    """Where the sum of two matrices has its entries, and where those of each go: found once for matrices that keep their places."""

    indices: Array
    indptr: Array
    shape: tuple[int, int]
    one: Array
    other: Array

    def add(self, one: Array, other: Array) -> sp.csr_array:
        """The sum, from the entries of both."""
        data = np.zeros(self.indices.size)
        data[self.one] = one
        data[self.other] += other
        return compressed(data, self.indices, self.indptr, self.shape)


def plan_sum(one: sp.csr_array, other: sp.csr_array) -> Sum:
    """The places of the sum of two matrices of the same shape."""
    keys = [row_numbers(matrix) * matrix.shape[1] + matrix.indices for matrix in (one, other)]
    filled, place = np.unique(np.concatenate(keys), return_inverse=True)
    row, column = np.divmod(filled, one.shape[1])
    first, second = np.split(place.reshape(-1), [one.nnz])
    return Sum(column.astype(np.int32), np.searchsorted(row, np.arange(one.shape[0] + 1)).astype(np.int32), one.shape, first, second)


def same_places(one: sp.csr_array, other: sp.csr_array) -> bool:
    """Whether two matrices of the same shape have their entries in the same places."""
    return np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices)


def subtract(one: sp.csr_array, other: sp.csr_array) -> sp.csr_array:
    """The difference of two matrices, which often have their entries in the same places."""
    if same_places(one, other):
        return compressed(one.data - other.data, one.indices, one.indptr, one.shape)
    return sp.csr_array(one - other)


def row_numbers(matrix: sp.csr_array) -> Array:
    """Of each entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def largest_shares(matrix: sp.csr_array, lb: Array, ub: Array) -> Array:
    """What each entry brings at most while lb <= columns <= ub."""
    with np.errstate(invalid="ignore"):
        shares: Array = np.where(matrix.data > 0, matrix.data * ub[matrix.indices], matrix.data * lb[matrix.indices])
    shares[matrix.data == 0.0] = 0.0
    return shares


def largest_values(matrix: sp.csr_array, lb: Array, ub: Array) -> Array:
    """The largest value of each row while lb <= columns <= ub."""
    return np.bincount(row_numbers(matrix), largest_shares(matrix, lb, ub), minlength=matrix.shape[0])


def above(upper: sp.csr_array, lower: sp.csr_array) -> sp.csr_array:
    """Two matrices of the same width, one above the other."""
    data = np.concatenate([upper.data, lower.data])
    indices = np.concatenate([upper.indices, lower.indices])
    indptr = np.concatenate([upper.indptr, upper.indptr[-1] + lower.indptr[1:]])
    return compressed(data, indices, indptr, (upper.shape[0] + lower.shape[0], upper.shape[1]))


@dataclass(frozen=True, eq=False)
class Above:
    """Where two matrices, one above the other, have their entries: found once for matrices that keep their places."""

    upper: Array
    lower: Array
    indices: Array
    indptr: Array
    shape: tuple[int, int]

    def fits(self, upper: sp.csr_array, lower: sp.csr_array) -> bool:
        """Whether two matrices have their entries in these places."""
        return upper.indices is self.upper and lower.indices is self.lower

    def join(self, upper: sp.csr_array, lower: sp.csr_array) -> sp.csr_array:
        """Both, with their entries."""
        return compressed(np.concatenate([upper.data, lower.data]), self.indices, self.indptr, self.shape)


def plan_above(upper: sp.csr_array, lower: sp.csr_array) -> Above:
    """The places of two matrices of the same width, one above the other."""
    both = above(upper, lower)
    return Above(upper.indices, lower.indices, both.indices, both.indptr, both.shape)


def all_above(matrices: Sequence[sp.csr_array], num_columns: int) -> sp.csr_array:
    """Any number of matrices of the same width, one above the other: a hundred thousand single rows take scipy seconds.

    Examples
    --------
    >>> all_above([unit_rows(np.array([2, 0]), np.ones(2), 3), unit_rows(np.array([1]), np.ones(1), 3)], 3).toarray()
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    lengths = np.concatenate([np.zeros(0, dtype=np.int64), *(matrix.indptr[1:] - matrix.indptr[:-1] for matrix in matrices)])
    data = np.concatenate([np.zeros(0), *(matrix.data for matrix in matrices)])
    indices = np.concatenate([np.zeros(0, dtype=np.int32), *(matrix.indices for matrix in matrices)])
    return compressed(data, indices, np.concatenate([[0], np.cumsum(lengths)]), (lengths.size, num_columns))


def single_rows(matrix: sp.csr_array) -> Iterator[sp.csr_array]:
    """The rows one after the other, each a matrix of its own that shares the entries."""
    shape = 1, matrix.shape[1]
    for begin, end in itertools.pairwise(matrix.indptr.tolist()):
        yield compressed(matrix.data[begin:end], matrix.indices[begin:end], np.array([0, end - begin]), shape)


def repeat(matrix: sp.csr_array, times: int) -> sp.csr_array:
    """Copies of a matrix, one above the other."""
    starts = np.arange(times)[:, None] * matrix.indptr[-1] + matrix.indptr[:-1]
    indptr = np.append(starts, times * matrix.indptr[-1])
    shape = times * matrix.shape[0], matrix.shape[1]
    return compressed(np.tile(matrix.data, times), np.tile(matrix.indices, times), indptr, shape)


@dataclass(frozen=True, eq=False)
class Beside:
    """Where two matrices side by side have their entries, the right one of which stays: found once for left ones that keep their places.

    Parameters
    ----------
    left
        Column numbers of the left matrix, by which it is known.
    at_left
        Where its entries go.
    matrix
        Both side by side, with zeros in place of the left one.
    """

    left: Array
    at_left: Array
    matrix: sp.csr_array

    def fits(self, left: sp.csr_array) -> bool:
        """Whether a matrix has its entries in the places of the left one."""
        return left.indices is self.left

    def join(self, left: sp.csr_array) -> sp.csr_array:
        """Both side by side, with the entries of this left one."""
        data = self.matrix.data.copy()
        data[self.at_left] = left.data
        return compressed(data, self.matrix.indices, self.matrix.indptr, self.matrix.shape)


def plan_beside(left: sp.csr_array, right: sp.csr_array) -> Beside:
    """The places of two matrices of the same height, side by side."""
    indptr = left.indptr + right.indptr
    data, indices = np.zeros(left.nnz + right.nnz), np.empty(left.nnz + right.nnz, dtype=left.indices.dtype)
    # An entry of the left one is preceded by the rows of the right one above it, and the other way round.
    at_left = np.arange(left.nnz) + np.repeat(right.indptr[:-1], np.diff(left.indptr))
    at_right = np.arange(right.nnz) + np.repeat(left.indptr[1:], np.diff(right.indptr))
    data[at_right] = right.data
    indices[at_left], indices[at_right] = left.indices, right.indices + left.shape[1]
    return Beside(left.indices, at_left, compressed(data, indices, indptr, (left.shape[0], left.shape[1] + right.shape[1])))


def beside(left: sp.csr_array, right: sp.csr_array) -> sp.csr_array:
    """Two matrices of the same height, side by side."""
    return plan_beside(left, right).join(left)
