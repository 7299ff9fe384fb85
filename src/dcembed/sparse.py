"""Sparse rows put together without the generality of scipy, whose checks take longer than the work where matrices are small.

All of these take and give matrices in compressed rows without duplicates.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array


def dense_row(matrix: sp.csr_array, number: int) -> Array:
    """One row as a vector."""
    row = np.zeros(matrix.shape[1])
    inside = slice(matrix.indptr[number], matrix.indptr[number + 1])
    row[matrix.indices[inside]] = matrix.data[inside]
    return row


def rows_from(matrix: sp.csr_array, first: int) -> sp.csr_array:
    """The rows from number `first` to the last."""
    begin = matrix.indptr[first]
    parts = matrix.data[begin:], matrix.indices[begin:], matrix.indptr[first:] - begin
    return sp.csr_array(parts, shape=(matrix.shape[0] - first, matrix.shape[1]))


def rows_to(matrix: sp.csr_array, end: int) -> sp.csr_array:
    """The first `end` rows."""
    until = matrix.indptr[end]
    return sp.csr_array((matrix.data[:until], matrix.indices[:until], matrix.indptr[: end + 1]), shape=(end, matrix.shape[1]))


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
    return sp.csr_array((data, indices, indptr), shape=(upper.shape[0] + lower.shape[0], upper.shape[1]))


def repeat(matrix: sp.csr_array, times: int) -> sp.csr_array:
    """Copies of a matrix, one above the other."""
    starts = np.arange(times)[:, None] * matrix.indptr[-1] + matrix.indptr[:-1]
    indptr = np.append(starts, times * matrix.indptr[-1])
    return sp.csr_array(
        (np.tile(matrix.data, times), np.tile(matrix.indices, times), indptr), shape=(times * matrix.shape[0], matrix.shape[1])
    )


def beside(left: sp.csr_array, right: sp.csr_array) -> sp.csr_array:
    """Two matrices of the same height, side by side."""
    indptr = left.indptr + right.indptr
    data, indices = np.empty(left.nnz + right.nnz), np.empty(left.nnz + right.nnz, dtype=left.indices.dtype)
    # An entry of the left one is preceded by the rows of the right one above it, and the other way round.
    at_left = np.arange(left.nnz) + np.repeat(right.indptr[:-1], np.diff(left.indptr))
    at_right = np.arange(right.nnz) + np.repeat(left.indptr[1:], np.diff(right.indptr))
    data[at_left], data[at_right] = left.data, right.data
    indices[at_left], indices[at_right] = left.indices, right.indices + left.shape[1]
    return sp.csr_array((data, indices, indptr), shape=(left.shape[0], left.shape[1] + right.shape[1]))
