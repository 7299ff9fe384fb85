"""A quadratic that is neither convex nor concave, as the difference of two convex ones.

    1/2 w'Mw = 1/2 w'Pw - 1/2 w'Cw,    P and C positive semidefinite

Columns that no entry ties together are split apart, so that a sum of products stays as sparse as it is.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.program.convexity import DENSE_COLUMNS, is_convex
from dcembed.program.matrices import MatrixLike, as_sparse, check_finite, symmetric
from dcembed.reading import as_flag, as_numbers


def split_quadratic(
    quadratic: MatrixLike, maximize: bool = False, scale: ArrayLike | None = None
) -> tuple[sp.csr_array | None, sp.csr_array | None]:
    """The parts Q and C of an objective 1/2 w'Mw that is not convex, as `Program` takes them: M = Q - C.

    Parameters
    ----------
    quadratic
        M, shape (n, n), any symmetric matrix; of another one its symmetric part.
    maximize
        Whether the objective is maximized; Q and C are negative semidefinite then.
    scale
        How large each column is, shape (n,): of two products the split with the right sizes bends less. All alike by default.

    Returns
    -------
    The arguments `quadratic` and `concave` of `Program`, None for a part that is zero.

    Examples
    --------
    >>> import dcembed
    >>> product, rest = dcembed.split_quadratic([[0.0, 1.0], [1.0, 0.0]])
    >>> product.toarray().tolist(), rest.toarray().tolist()
    ([[0.5, 0.5], [0.5, 0.5]], [[0.5, -0.5], [-0.5, 0.5]])
    """
    matrix = as_sparse(quadratic, "split_quadratic", "quadratic")
    n = matrix.shape[0]
    if matrix.shape != (n, n):
        raise InputError(f"split_quadratic: the matrix of a quadratic is square, received shape {matrix.shape}.")
    check_finite(matrix.data, "quadratic", "split_quadratic")
    sign = -1.0 if as_flag(maximize, "split_quadratic: maximize") else 1.0
    convex, concave = split_symmetric(sp.csr_array(sign * symmetric(matrix)), _scale(scale, n))
    return tuple(sp.csr_array(sign * part) if part.nnz else None for part in (convex, concave))  # type: ignore[return-value]


def split_symmetric(matrix: sp.csr_array, scale: Array) -> tuple[sp.csr_array, sp.csr_array]:
    """P and C of a symmetric matrix."""
    n = matrix.shape[0]
    number, component = connected_components(matrix, directed=False)
    order = np.argsort(component, kind="stable")
    parts = [_Entries(n), _Entries(n)]
    for columns in np.split(order, np.cumsum(np.bincount(component, minlength=number))[:-1]):
        block = sp.csr_array(matrix[columns][:, columns])
        if block.nnz:
            for entries, part in zip(parts, _split_block(block, scale[columns]), strict=True):
                entries.add(columns, part)
    return parts[0].matrix(), parts[1].matrix()


def _split_block(block: sp.csr_array, scale: Array) -> tuple[sp.csr_array, sp.csr_array]:
    nothing = sp.csr_array(block.shape)
    if is_convex(block):
        return block, nothing
    if is_convex(sp.csr_array(-block)):
        return nothing, sp.csr_array(-block)
    scaled = sp.csr_array(sp.diags_array(scale) @ block @ sp.diags_array(scale))
    # The smaller part is computed and the larger one is what is left, so that their difference is the matrix to rounding.
    if block.shape[0] > DENSE_COLUMNS:
        concave = _unscaled(sp.diags_array(_missing_dominance(scaled)), scale)
        return sp.csr_array(block + concave), concave
    values, vectors = np.linalg.eigh(scaled.toarray())
    is_convex_smaller = values[-1] < -values[0]
    weights = np.maximum(values if is_convex_smaller else -values, 0.0)
    smaller = _unscaled((vectors * weights) @ vectors.T, scale)
    return (smaller, sp.csr_array(smaller - block)) if is_convex_smaller else (sp.csr_array(block + smaller), smaller)


def _missing_dominance(matrix: sp.csr_array) -> Array:
    """What the diagonal lacks to be as large as the rest of its row: with it the matrix is positive semidefinite."""
    diagonal = matrix.diagonal()
    rest = abs(matrix) @ np.ones(matrix.shape[0]) - np.abs(diagonal)
    return np.maximum(rest - diagonal, 0.0)


def _unscaled(matrix: MatrixLike, scale: Array) -> sp.csr_array:
    inverse = sp.diags_array(1.0 / scale)
    return symmetric(sp.csr_array(inverse @ sp.csr_array(matrix) @ inverse))


def _scale(scale: ArrayLike | None, n: int) -> Array:
    if scale is None:
        return np.ones(n)
    sizes = as_numbers(scale, "split_quadratic: scale")
    if sizes.shape != (n,) or not np.all(np.isfinite(sizes) & (sizes > 0)):
        raise InputError(f"split_quadratic: scale has a positive number for each of {n} columns, received shape {sizes.shape}.")
    return sizes


class _Entries:
    """Blocks of a sparse matrix."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._data, self._row, self._column = [np.zeros(0)], [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]

    def add(self, columns: Array, block: sp.csr_array) -> None:
        """A block in these rows and columns."""
        entries = sp.coo_array(block)
        self._data.append(entries.data)
        self._row.append(columns[entries.row])
        self._column.append(columns[entries.col])

    def matrix(self) -> sp.csr_array:
        """All blocks."""
        places = np.concatenate(self._row), np.concatenate(self._column)
        return as_sparse(sp.coo_array((np.concatenate(self._data), places), shape=(self._size, self._size)))
