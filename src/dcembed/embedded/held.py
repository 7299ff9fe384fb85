"""The continuous problem that is left when the integers keep their values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram, Restrictions
from dcembed.program.derive import add_rows, derive, relaxed
from dcembed.program.indicators import settled_rows
from dcembed.program.program import Program


def hold_integers(embedded: EmbeddedProgram, w: Array) -> EmbeddedProgram:
    """The problem with the integers of `w`: what is behind an indicator that is on holds, what is behind one that is off is gone.

    A point of it is measured in the user's program like any other.
    """
    if not embedded.integer.any():
        return embedded
    return replace(embedded, host=_hold_host(embedded, w), restrictions=_hold_restrictions(embedded.restrictions, w))


def _hold_host(embedded: EmbeddedProgram, w: Array) -> Program:
    host, integer = embedded.host, embedded.integer
    lb, ub = np.where(integer, w, host.lb), np.where(integer, w, host.ub)
    on = settled_rows(host, lb, ub)
    return add_rows(derive(relaxed(host), lb=lb, ub=ub), on.matrix, on.lb, on.ub)


def _hold_restrictions(restrictions: Restrictions, w: Array) -> Restrictions:
    off = (restrictions.indicator >= 0) & (np.round(w[restrictions.indicator]) != restrictions.indicator_value)
    return replace(restrictions, rhs=np.where(off, np.inf, restrictions.rhs), indicator=np.full(off.size, -1))
