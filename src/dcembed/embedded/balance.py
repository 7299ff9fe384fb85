"""A product of columns is split where it bends least: by the ranges that its columns have.

    x y = 1/4 (s x + y / s)^2 - 1/4 (s x - y / s)^2      for any s > 0

Where one column has a range of a thousand and the other of one, squares without a scale are far larger than the product, and the
tangents of the second one would allow but tiny steps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.program.derive import derive
from dcembed.program.nonconvex import split_symmetric


def balance(embedded: EmbeddedProgram) -> EmbeddedProgram:
    """The same problem with its quadratic objective split anew, by the ranges of the columns where they have one; itself where it bends one way."""
    host = embedded.host
    if embedded.concave is None or host.quadratic is None:
        return embedded
    bounded = embedded.bounded_host
    with np.errstate(invalid="ignore"):
        width = bounded.ub - bounded.lb
    width = np.where(np.isfinite(width) & (width > 0), width, 1.0)
    quadratic, concave = split_symmetric(sp.csr_array(host.quadratic - embedded.concave), width)
    return replace(embedded, host=derive(host, quadratic=quadratic if quadratic.nnz else None), concave=concave if concave.nnz else None)
