"""The constraints of a host to first order around a point: how each changes with the columns, and how far it is from its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.cones import ConeConstraint
from dcembed.program.program import Program


@dataclass(frozen=True, eq=False)
class Constraints:
    """Constraints of one kind at a point.

    Parameters
    ----------
    gradient
        Shape (m, n).
    below, above
        How far each is from its lower and its upper limit, never negative; inf for none. Shape (m,).
    """

    gradient: sp.csr_array
    below: Array
    above: Array


def linearize_rows(program: Program, w: Array) -> Constraints:
    """The rows, which are linear."""
    return _within(program.rows, program.rows @ w, program.row_lb, program.row_ub)


def linearize_indicators(program: Program, w: Array) -> Constraints:
    """The rows of the indicators that are on; the others have no limits here."""
    indicators = program.indicator_rows
    is_on = np.round(w[indicators.column]) == indicators.value
    lb, ub = np.where(is_on, indicators.lb, -np.inf), np.where(is_on, indicators.ub, np.inf)
    return _within(indicators.matrix, indicators.matrix @ w, lb, ub)


def linearize_quadratics(program: Program, w: Array) -> Constraints:
    """1/2 w'Qw + a'w <= ub has the gradient Qw + a."""
    given = program.quadratic_constraints
    gradients = [sp.csr_array((each.quadratic @ w).reshape(1, -1)) + each.coefficients for each in given]
    value, ub = np.array([each.value(w) for each in given]), np.array([each.ub for each in given])
    return _within(_stacked(gradients, program.num_columns), value, np.full(ub.shape, -np.inf), ub)


def linearize_cones(program: Program, w: Array) -> Constraints:
    """||v|| - t <= 0 has the gradient v'V / ||v|| less the row of t; at v = 0 that of t alone, which is one of many."""
    cones = program.cone_rows
    excess = cones.excess(w)
    return _within(_cone_gradients(cones, w), excess, np.full(excess.shape, -np.inf), np.zeros(excess.shape))


def _cone_gradients(cones: ConeConstraint, w: Array) -> sp.csr_array:
    value = cones.matrix @ w + cones.offset
    number = np.repeat(np.arange(cones.num_cones), cones.sizes)
    weight = value.copy()
    weight[cones.heads] = 0.0
    length = np.sqrt(np.bincount(number, weight**2, minlength=cones.num_cones))
    weight /= np.where(length > 0, length, 1.0)[number]
    weight[cones.heads] = -1.0
    return sp.csr_array(sp.csr_array((weight, (number, np.arange(number.size))), shape=(cones.num_cones, number.size)) @ cones.matrix)


def _within(gradient: sp.csr_array, value: Array, lb: Array, ub: Array) -> Constraints:
    return Constraints(gradient, np.maximum(value - lb, 0.0), np.maximum(ub - value, 0.0))


def _stacked(gradients: Sequence[sp.csr_array], num_columns: int) -> sp.csr_array:
    return sp.csr_array(sp.vstack([sp.csr_array((0, num_columns)), *gradients], format="csr"))
