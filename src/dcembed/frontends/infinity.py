"""Numbers that Gurobi and SCIP take for infinite."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcembed.arrays import Array

INFINITY = 1e20


def unlimited(values: Sequence[float]) -> Array:
    """Bounds of such a tool, with infinities where it means them."""
    array = np.array(values, dtype=np.float64)
    infinite: Array = np.where(np.abs(array) >= INFINITY, np.copysign(np.inf, array), array)
    return infinite
