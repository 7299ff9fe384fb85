"""Whether a quadratic is convex."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from dcembed.errors import InputError
from dcembed.tolerances import CONVEXITY_TOL

# Up to this many columns a dense factorization is quicker and tells the most negative eigenvalue.
DENSE_COLUMNS = 2000


def check_convex(quadratic: sp.csr_array, owner: str, name: str, consequence: str) -> None:
    """Raise InputError, which begins with `owner` and calls the matrix by its name, unless the symmetric matrix is positive semidefinite up to rounding."""
    if (smallest := _negative_eigenvalue(quadratic)) is not None:
        raise InputError(f"{owner}: {name} is not positive semidefinite (smallest eigenvalue {smallest:.3g}), {consequence}")


def check_concave(quadratic: sp.csr_array, owner: str, name: str, consequence: str) -> None:
    """Raise InputError, which begins with `owner` and calls the matrix by its name, unless the symmetric matrix is negative semidefinite up to rounding."""
    if (smallest := _negative_eigenvalue(-quadratic)) is not None:
        raise InputError(f"{owner}: {name} is not negative semidefinite (largest eigenvalue {-smallest:.3g}), {consequence}")


def is_convex(quadratic: sp.csr_array) -> bool:
    """Whether a symmetric matrix, not zero, is positive semidefinite up to rounding."""
    matrix = _without_zeros(quadratic)
    shifted = matrix + sp.eye_array(matrix.shape[0], format="csr") * (CONVEXITY_TOL * abs(matrix).max())
    return _has_cholesky(shifted.toarray()) if matrix.shape[0] <= DENSE_COLUMNS else _has_positive_pivots(shifted)


def _negative_eigenvalue(quadratic: sp.csr_array) -> float | None:
    """The smallest eigenvalue of a matrix that is not positive semidefinite, None for one that is."""
    return None if is_convex(quadratic) else _smallest_eigenvalue(_without_zeros(quadratic))


def _without_zeros(quadratic: sp.csr_array) -> sp.csr_array:
    """The matrix without its empty rows and columns."""
    support = np.flatnonzero(np.diff(quadratic.indptr))
    return sp.csr_array(quadratic[support][:, support])


def _has_cholesky(matrix: np.ndarray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _has_positive_pivots(matrix: sp.csr_array) -> bool:
    """Inertia from a sparse factorization with pivots on the diagonal."""
    try:
        factors = spla.splu(sp.csc_matrix(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:
        return False
    if not np.array_equal(factors.perm_r, factors.perm_c):
        # An off-diagonal pivot was needed, which a positive definite matrix never asks for.
        return False
    return bool((factors.U.diagonal() > 0).all())


def _smallest_eigenvalue(matrix: sp.csr_array) -> float:
    if matrix.shape[0] <= DENSE_COLUMNS:
        return float(np.linalg.eigvalsh(matrix.toarray())[0])
    return float(spla.eigsh(matrix, k=1, which="SA", return_eigenvectors=False, tol=1e-2)[0])
