"""Cuts that hold everywhere: tangents of the convex functions and of the curved constraints at a point that leaves them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.relaxation import Relaxation, Rows, no_rows, stack
from dcembed.bounds.shared_decisions import SharedDecisions
from dcembed.program.derive import widened

# A function or cone that a point leaves by no more than this, relative to its size, is not cut.
CUT_TOL = 1e-7


def tangent_cuts(relaxation: Relaxation, x: Array) -> Rows:
    """Of everything convex that the point x of a relaxation violates."""
    return stack([no_rows(relaxation.num_columns), *_of_functions(relaxation, x), _of_cones(relaxation, x)])


def _of_functions(relaxation: Relaxation, x: Array) -> list[Rows]:
    cuts, first, w = [], relaxation.num_host, x[: relaxation.num_host]
    for source in relaxation.sources:
        size = source.measurement.size
        if isinstance(source, SharedDecisions) and source.is_convex:
            value = source.values(w)
            if (value - x[first : first + size] > CUT_TOL * np.maximum(1.0, np.abs(value))).any():
                cuts.append(relaxation.plane_rows(source.tangents(w), first))
        first += size
    return cuts


def _of_cones(relaxation: Relaxation, x: Array) -> Rows:
    """u'v <= t for the direction u of v, of all cones |v| <= t that do not hold."""
    cones, w = relaxation.embedded.host.convex_rows, x[: relaxation.num_host]
    if cones.num_cones == 0:
        return no_rows(relaxation.num_columns)
    values = cones.matrix @ w + cones.offset
    cone = np.repeat(np.arange(cones.num_cones), cones.sizes)
    is_body = np.ones(values.size, dtype=bool)
    is_body[cones.heads] = False
    length = np.sqrt(np.bincount(cone[is_body], values[is_body] ** 2, minlength=cones.num_cones))
    top = values[cones.heads]
    broken = length - top > CUT_TOL * np.maximum(1.0, np.abs(top))
    chosen = np.flatnonzero(is_body & (broken & (length > 0))[cone])
    number = np.cumsum(broken & (length > 0)) - 1
    heads = np.flatnonzero(broken & (length > 0))
    size = heads.size
    # A direction that is too long by rounding would cut a point off.
    share = values[chosen] / (length[cone[chosen]] * (1.0 + 1e-14 * np.sqrt(chosen.size + 1)))
    direction = sp.csr_array((share, (number[cone[chosen]], chosen)), shape=(size, values.size))
    direction = direction - sp.csr_array((np.ones(size), (np.arange(size), cones.heads[heads])), shape=(size, values.size))
    constant = direction @ cones.offset
    slack = 1e-13 * (abs(direction) @ np.abs(cones.offset))
    matrix = widened(sp.csr_array(direction @ cones.matrix), size, relaxation.num_columns)
    return Rows(matrix, np.full(size, -np.inf), slack - constant)
