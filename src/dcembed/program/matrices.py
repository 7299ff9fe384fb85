"""Matrices and arrays as users give them, and as the frozen data of the program keep them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.reading import as_numbers, check_places, show
from dcembed.sparse import times

# Dense or sparse, anything that scipy.sparse takes; one row may be given as a vector.
MatrixLike = Any


def set_fields(instance: object, **fields: object) -> None:
    """Fill the fields of a frozen dataclass."""
    for name, value in fields.items():
        object.__setattr__(instance, name, value)


def as_sparse(matrix: MatrixLike, owner: str = "Program", name: str = "matrix") -> sp.csr_array:
    """A copy in compressed rows, without duplicates or stored zeros."""
    where = f"{owner}: {name}"
    if sp.issparse(matrix):
        check_places(matrix, where)
    dense_or_sparse = matrix if sp.issparse(matrix) else np.atleast_2d(as_numbers(matrix, where))
    if dense_or_sparse.ndim != 2 or dense_or_sparse.dtype.kind not in "fiub":
        raise InputError(f"{where} is not accepted: a matrix of numbers is expected, received {show(matrix)}.")
    result = sp.csr_array(dense_or_sparse, dtype=np.float64, copy=True)
    result.sum_duplicates()
    result.eliminate_zeros()
    return result


def symmetric(matrix: sp.csr_array) -> sp.csr_array:
    """(M + M') / 2, which has the same quadratic form."""
    result = sp.csr_array((matrix + matrix.T) * 0.5)
    result.eliminate_zeros()
    return result


def half_square(matrix: sp.csr_array | None, w: Array) -> Any:
    """1/2 w'Mw at a point (n,), or at each of many (k, n); zero where there is no matrix."""
    if matrix is None:
        return 0.0
    if w.ndim == 1:
        return 0.5 * float(w @ times(matrix, w))
    return 0.5 * np.einsum("...n,...n->...", w, (matrix @ w.T).T)


def check_finite(values: np.ndarray, name: str, owner: str = "Program") -> None:
    """Raise InputError if a coefficient is NaN or infinite."""
    if not np.isfinite(values).all():
        raise InputError(f"{owner}: {name} has NaN or infinite entries. Leave a coefficient out (zero) instead.")
