"""Flat pieces: where no network that matters has a slope, a local method sees nothing of the networks."""

from __future__ import annotations

import numpy as np

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import Point
from dcembed.sparse import take_rows


def is_flat(embedded: EmbeddedProgram, point: Point, feasibility_tol: float) -> bool:
    """Whether the networks in the objective and in violated restrictions are constant around the point, as far as there are any."""
    matters = np.concatenate([[True], point.excess > feasibility_tol])
    has_network = np.zeros(matters.size, dtype=bool)
    for measured in embedded.networks:
        has_network[measured.terms.measurement] = True
    matters &= has_network
    return bool(matters.any()) and not np.abs(take_rows(slopes(embedded, point.w), np.flatnonzero(matters)).data).sum() > 0
