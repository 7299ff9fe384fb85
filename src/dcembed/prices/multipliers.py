"""Multipliers that explain why a point is not left: the dual of the tangent problem in a small box around it.

To first order, F cannot fall below F(w) by more than the least of

    sum of radius_j |r_j| + sum of (distance to a limit) * (multiplier of the limit) + sum of (error of a tangent) * |beta|

over multipliers and r that add up to the gradient of F,

    grad F = sum_i lambda_i grad g_i + mu + sum_o (e_o sum_t beta_t - sum_t beta_t grad f_t) + r,

where lambda_i and mu_j are not negative at a lower limit and not positive at an upper one, and the beta_t of one prediction have one sign.
r is what they leave unexplained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from dcembed.arrays import Array
from dcembed.errors import NoSolutionError
from dcembed.prices.constraints import Constraints
from dcembed.prices.predictions import Tangents


@dataclass(frozen=True, eq=False)
class Place:
    """The point that is to be explained.

    Parameters
    ----------
    gradient
        Of the objective, which is minimized, shape (n,).
    is_held
        Which columns stay as they are, shape (n,).
    below, above
        How far every column is from its bounds; inf for none.
    radius
        How far it may go, shape (n,).
    """

    gradient: Array
    is_held: Array
    below: Array
    above: Array
    radius: Array


@dataclass(frozen=True, eq=False)
class Multipliers:
    """What an increase of each limit by one adds to what is minimized.

    Parameters
    ----------
    constraints
        An array for each kind of constraint.
    columns
        Of the bounds of columns, shape (n,).
    tangents
        beta, shape (t,): those of one prediction add up to what an increase of the prediction by one adds.
    rest
        r, shape (n,).
    promise
        By how much what is minimized could fall within the box, to first order.
    """

    constraints: tuple[Array, ...]
    columns: Array
    tangents: Array
    rest: Array
    promise: float


def find_multipliers(place: Place, kinds: Sequence[Constraints], tangents: Tangents, sign: Array | None = None) -> Multipliers:
    """The multipliers that explain the point best; `sign` (t,) is that of every beta, and all are free where it is None."""
    limits = [_reachable(each, place.radius) for each in (_bounds(place), *kinds)]
    free = np.flatnonzero(~place.is_held & ~_is_output(place, tangents))
    terms = [*(term for each in limits for term in (each.low, each.high)), _betas(tangents, sign), *_rests(place, free)]
    *found, beta, more, less = _least_cost(terms, place.gradient, ~place.is_held)
    pairs = zip(limits, found[::2], found[1::2], strict=True)
    columns, *constraints = (limit.spread(at_low, at_high) for limit, at_low, at_high in pairs)
    rest = np.zeros(place.gradient.size)
    rest[free] = more - less
    promise = sum(float(term.cost @ values) for term, values in zip(terms, (*found, beta, more, less), strict=True))
    return Multipliers(tuple(constraints), columns, beta, rest, promise)


@dataclass(frozen=True, eq=False)
class _Term:
    """Multipliers of one kind: what each adds to the gradient (m, n), what it costs, and its bounds."""

    matrix: sp.csr_array
    cost: Array
    lb: Array
    ub: Array


@dataclass(frozen=True, eq=False)
class _Limits:
    """The limits of constraints that a point of the box may come to, and their numbers; no other has a multiplier."""

    low: _Term
    high: _Term
    at_low: Array
    at_high: Array
    size: int

    def spread(self, low: Array, high: Array) -> Array:
        """The multipliers of all constraints."""
        multipliers = np.zeros(self.size)
        multipliers[self.at_low] += low
        multipliers[self.at_high] -= high
        return multipliers


def _least_cost(terms: Sequence[_Term], gradient: Array, kept: Array) -> list[Array]:
    """The values of all terms that add up to the gradient in the columns that are kept."""
    matrix = sp.csr_array(sp.vstack([term.matrix for term in terms], format="csr").T)[kept]
    cost, lb, ub = (np.concatenate([getattr(term, name) for term in terms]) for name in ("cost", "lb", "ub"))
    answer = linprog(cost, A_eq=matrix, b_eq=gradient[kept], bounds=np.column_stack([lb, ub]), method="highs")
    if answer.x is None:
        raise NoSolutionError(f"prices: no multipliers were found. HiGHS says: {answer.message}")
    return np.split(answer.x, np.cumsum([term.cost.size for term in terms])[:-1])


def _reachable(constraints: Constraints, radius: Array) -> _Limits:
    reach = abs(constraints.gradient) @ radius
    low, high = np.flatnonzero(constraints.below <= reach), np.flatnonzero(constraints.above <= reach)
    return _Limits(
        _nonnegative(constraints.gradient[low], constraints.below[low]),
        _nonnegative(-constraints.gradient[high], constraints.above[high]),
        low,
        high,
        reach.size,
    )


def _bounds(place: Place) -> Constraints:
    return Constraints(_identity(place), place.below, place.above)


def _betas(tangents: Tangents, sign: Array | None) -> _Term:
    size = tangents.output.size
    own = sp.csr_array((np.ones(size), (np.arange(size), tangents.output)), shape=tangents.gradient.shape)
    signs = np.zeros(size) if sign is None else sign
    lb, ub = np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf)
    return _Term(own - tangents.gradient, signs * tangents.error, lb, ub)


def _rests(place: Place, free: Array) -> tuple[_Term, _Term]:
    unit = _identity(place)[free]
    return _nonnegative(unit, place.radius[free]), _nonnegative(-unit, place.radius[free])


def _nonnegative(matrix: sp.csr_array, cost: Array) -> _Term:
    return _Term(matrix, cost, np.zeros(cost.size), np.full(cost.size, np.inf))


def _identity(place: Place) -> sp.csr_array:
    return sp.csr_array(sp.identity(place.gradient.size, format="csr"))


def _is_output(place: Place, tangents: Tangents) -> Array:
    mask = np.zeros(place.gradient.size, dtype=bool)
    mask[tangents.output] = True
    return mask
