"""The two types that numbers have on their way through the package: arrays and matrices."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

# Any of float64, int64 or bool: docstrings say which, with the shape. numpy's own functions mostly lose the type of the entries, so that a
# narrower alias would be a claim that nobody checks.
Array: TypeAlias = npt.NDArray[Any]

# A dense or a sparse matrix; both have `@`, `.T`, `.shape` and take rows by index.
Matrix: TypeAlias = "npt.NDArray[np.float64] | sp.csr_array"
