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
from dcembed.program.convexity import is_convex
from dcembed.program.matrices import MatrixLike, as_sparse, check_finite, symmetric
from dcembed.reading import as_flag, as_numbers, show
from dcembed.tolerances import CONVEXITY_TOL

# Eigenvalues of less than this share of the largest entry are rounding; well inside of what counts as convex.
NOISE = 0.1 * CONVEXITY_TOL
# Columns that products tie together up to which their eigenvalues are computed: some tenths of a second.
EIGEN_COLUMNS = 300


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
        How large each column is, shape (n,): squares of columns that are alike in this scale bend least. All alike by default.

    Returns
    -------
    The arguments `quadratic` and `concave` of `Program`, None for a part that is zero.

    Examples
    --------
    >>> import dcembed
    >>> product, rest = dcembed.split_quadratic([[0.0, 1.0], [1.0, 0.0]])
    >>> product.toarray().round(3).tolist(), rest.toarray().round(3).tolist()
    ([[0.5, 0.5], [0.5, 0.5]], [[0.5, -0.5], [-0.5, 0.5]])
    """
    matrix = as_sparse(quadratic, "split_quadratic", "quadratic")
    n = matrix.shape[0]
    if matrix.shape != (n, n):
        raise InputError(f"split_quadratic: the matrix of a quadratic is square, received shape {matrix.shape}.")
    check_finite(matrix.data, "quadratic", "split_quadratic")
    sign = -1.0 if as_flag(maximize, "split_quadratic: maximize") else 1.0
    whole, sizes, nothing = sp.csr_array(sign * symmetric(matrix)), _scale(scale, n), sp.csr_array((n, n))
    if whole.nnz == 0 or is_convex(whole):
        convex, concave = whole, nothing
    elif is_convex(-whole):
        convex, concave = nothing, -whole
    else:
        convex, concave = split_symmetric(whole, sizes)
    return (sign * convex if convex.nnz else None), (sign * concave if concave.nnz else None)


def split_symmetric(matrix: sp.csr_array, scale: Array) -> tuple[sp.csr_array, sp.csr_array]:
    """P and C of a symmetric matrix that is neither convex nor concave."""
    noise = NOISE * abs(matrix).max()
    # Of each group of columns the smaller part is computed, P where `is_convex_smaller`.
    smaller, is_convex_smaller = sp.csr_array(matrix.shape), np.zeros(matrix.shape[0])
    for columns in _components(matrix):
        if columns.shape[1] > EIGEN_COLUMNS:
            smaller = smaller + _missing_dominance(matrix, columns, scale)
        else:
            parts, is_convex_smaller[columns] = _smaller_parts(_blocks(matrix, columns), scale[columns], noise)
            smaller = smaller + _spread(columns, parts, matrix.shape)
    # The larger one is what is left, so that they differ by the matrix to rounding; all terms are symmetric.
    of_convex = sp.csr_array(sp.diags_array(is_convex_smaller) @ matrix) if is_convex_smaller.any() else sp.csr_array(matrix.shape)
    convex, concave = sp.csr_array(smaller + (matrix - of_convex)), sp.csr_array(smaller - of_convex)
    convex.eliminate_zeros()
    concave.eliminate_zeros()
    return convex, concave


def _components(matrix: sp.csr_array) -> list[Array]:
    """The columns that entries tie together, groups of one size (m, k) at a time."""
    used = np.flatnonzero(np.diff(matrix.indptr))
    _, component = connected_components(matrix, directed=False)
    _, component = np.unique(component[used], return_inverse=True)
    order, sizes = np.argsort(component, kind="stable"), np.bincount(component)
    size_of = np.repeat(sizes, sizes)
    return [used[order[size_of == size]].reshape(-1, size) for size in np.unique(sizes)]


def _smaller_parts(blocks: Array, scale: Array, noise: float) -> tuple[Array, Array]:
    """Of each block the part P or C (m, k, k), whichever is smaller by the eigenvalues in the scale (m, k); and whether it is P (m, 1)."""
    products = scale[:, :, None] * scale[:, None, :]
    values, vectors = np.linalg.eigh(blocks * products)
    is_convex_smaller = values[:, [-1]] < -values[:, [0]]
    values = np.maximum(np.where(is_convex_smaller, values, -values), 0.0)
    parts = (vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1) / products
    parts = 0.5 * (parts + parts.transpose(0, 2, 1))
    # A block that bends one way but for rounding is one part, all of it.
    own = np.linalg.eigvalsh(blocks)
    is_convex, is_concave = own[:, [0]] >= -noise, own[:, [-1]] <= noise
    parts[(is_convex | is_concave)[:, 0]] = 0.0
    return parts, (is_convex_smaller | is_concave) & ~is_convex


def _missing_dominance(matrix: sp.csr_array, columns: Array, scale: Array) -> sp.csr_array:
    """C as what the diagonal lacks to be as large as the rest of its row, for more columns than eigenvalues can be had of."""
    diagonal = matrix.diagonal()
    rest = abs(matrix) @ scale / scale - np.abs(diagonal)
    lacking = np.zeros(diagonal.size)
    lacking[columns] = np.maximum(rest - diagonal, 0.0)[columns]
    return sp.csr_array(sp.diags_array(lacking))


def _blocks(matrix: sp.csr_array, columns: Array) -> Array:
    """The entries between the columns of each group, shape (m, k, k)."""
    number, size = columns.shape
    place = np.zeros(matrix.shape[0], dtype=np.int64)
    place[columns] = np.arange(size)
    entries = sp.coo_array(matrix[columns.reshape(-1)])
    blocks = np.zeros((number * size, size))
    blocks[entries.row, place[entries.col]] = entries.data
    return blocks.reshape(number, size, size)


def _spread(columns: Array, parts: Array, shape: tuple[int, int]) -> sp.csr_array:
    """Dense blocks (m, k, k) in their columns (m, k)."""
    row, column = np.broadcast_arrays(columns[:, :, None], columns[:, None, :])
    return sp.csr_array((parts.reshape(-1), (row.reshape(-1), column.reshape(-1))), shape=shape)


def _scale(scale: ArrayLike | None, n: int) -> Array:
    if scale is None:
        return np.ones(n)
    sizes = as_numbers(scale, "split_quadratic: scale")
    if sizes.shape != (n,) or not np.all(np.isfinite(sizes) & (sizes > 0)):
        raise InputError(f"split_quadratic: scale has a positive finite number for each of {n} columns, received {show(scale)}.")
    return sizes
