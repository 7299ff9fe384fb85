"""An activation given by nothing but its value and its slope: where it is convex and where concave is found on a grid, and checked.

Between two points of the grid a change of the curvature and back may go unseen. What that can amount to is estimated from how fast the
curvature changes along the grid, and kept as a margin by which all bounds of the activation are moved outwards.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import NetworkError
from dcembed.network.activations.activation import Activation, Function

POINTS = 40_001
# More pieces than this are no activation that lines could follow.
MOST_BREAKS = 12
# Differences of the slope are taken over this much, relative to the reach, and slopes are compared with those of the value to this.
STEP, SLOPE_TOL = 1e-6, 1e-4
# A slope that changes over a cell by more than this, relative to the largest one, may jump there; the cell is halved so often to find out.
JUMP, HALVINGS = 1e-6, 44
# The estimate of what the grid does not see is multiplied by this.
SAFETY = 8.0
# Where that is more than this share of what the values span, nothing is known.
MOST_MARGIN = 1e-2


def activation_from(
    name: str, value: Callable[[Array], Array], slope: Callable[[Array], Array], curvature: Function | None = None, *, reach: float = 30.0
) -> Activation:
    """An activation from functions of arrays, entry by entry.

    Parameters
    ----------
    name
        For messages.
    value, slope, curvature
        The function, its derivative, and its second derivative if there is a formula for it. They are called with arrays of any shape.
    reach
        The function is looked at between -reach and reach; beyond that it goes on as convex or concave as it ends there.

    Examples
    --------
    The bent identity:

    >>> bent = activation_from("bent", lambda a: (np.sqrt(a * a + 1) - 1) / 2 + a, lambda a: a / (2 * np.sqrt(a * a + 1)) + 1)
    >>> bent.is_convex
    True
    """
    bend = curvature if curvature is not None else _Difference(slope, STEP * reach)
    grid = np.linspace(-reach, reach, POINTS)
    _check(name, value, slope, grid)
    kinks = _find_kinks(slope, grid)
    # A difference across a kink is not a curvature.
    away = np.abs(grid[:, None] - kinks).min(axis=1, initial=np.inf) > 4.0 * STEP * reach
    seen, curved = grid[away], bend(grid[away])
    signs = np.sign(np.where(np.abs(curved) > _noise(slope, grid, curvature is None), curved, 0.0))
    breaks = np.union1d(kinks, _find_turns(seen, signs))
    if breaks.size > MOST_BREAKS:
        raise NetworkError(
            f"The activation '{name}' changes between convex and concave, or has kinks, {breaks.size} times within {reach:g} of zero. "
            f"At most {MOST_BREAKS} times are accepted; give a smaller reach, or write it as a sum of simpler ones."
        )
    piece = np.searchsorted(breaks, seen)
    pieces = tuple(int(np.sign(signs[piece == number].sum())) for number in range(breaks.size + 1))
    margin = _margin(value, slope, grid, kinks)
    _refuse_steep(name, value, grid, margin)
    return Activation(name, value, slope, bend, tuple(breaks.tolist()), pieces, margin=margin, identity=uuid.uuid4().hex)


def _find_turns(grid: Array, signs: Array) -> Array:
    """Between two points with other signs of the curvature; where it is zero in between, in the middle of that."""
    at, sign = grid[signs != 0], signs[signs != 0]
    turn = np.flatnonzero(sign[:-1] != sign[1:])
    places: Array = 0.5 * (at[turn] + at[turn + 1])
    return places


def _find_kinks(slope: Function, grid: Array) -> Array:
    """Where the slope jumps: a change over a cell that halving the cell again and again leaves as large as it is."""
    left, right = grid[:-1], grid[1:]
    change = np.abs(slope(right) - slope(left))
    some = change > JUMP * (1.0 + np.abs(slope(grid)).max())
    left, right, change = left[some], right[some], change[some]
    for _ in range(HALVINGS):
        middle = 0.5 * (left + right)
        in_left = np.abs(slope(middle) - slope(left)) > np.abs(slope(right) - slope(middle))
        left, right = np.where(in_left, left, middle), np.where(in_left, middle, right)
    kinks: Array = right[np.abs(slope(right) - slope(left)) > 0.5 * change]
    return kinks


@dataclass(frozen=True)
class _Difference:
    """The derivative of a slope, by a difference."""

    slope: Function
    step: float

    def __call__(self, a: Array) -> Array:
        return (self.slope(a + self.step) - self.slope(a - self.step)) / (2.0 * self.step)


def _refuse_steep(name: str, value: Function, grid: Array, margin: float) -> None:
    spread = float(np.ptp(value(grid)))
    if margin > MOST_MARGIN * max(spread, np.finfo(np.float64).tiny) and spread > 0.0:
        raise NetworkError(
            f"The activation '{name}' changes too fast to be known from {grid.size:,} values between {grid[0]:g} and {grid[-1]:g}. "
            "Give a smaller reach, or scale it: a steep function of a is a gentler one of a multiple of a."
        )


def _noise(slope: Function, grid: Array, is_difference: bool) -> float:
    """Curvature below this is rounding."""
    rounding = 1e-14 * (1.0 + float(np.abs(slope(grid)).max()))
    return rounding / (STEP * float(grid[-1])) if is_difference else rounding


def _check(name: str, value: Function, slope: Function, grid: Array) -> None:
    values, slopes = np.asarray(value(grid), dtype=np.float64), np.asarray(slope(grid), dtype=np.float64)
    if values.shape != grid.shape or slopes.shape != grid.shape or not (np.isfinite(values).all() and np.isfinite(slopes).all()):
        raise NetworkError(
            f"The activation '{name}' does not give a finite number for every entry of an array between {grid[0]:g} and {grid[-1]:g}."
        )
    width = grid[1] - grid[0]
    # The mean slope of a cell lies between those at its ends, but for what they change by.
    missed = np.abs(np.diff(values) / width - 0.5 * (slopes[1:] + slopes[:-1])) - np.abs(np.diff(slopes))
    worst = int(missed.argmax())
    if missed[worst] > SLOPE_TOL * (1.0 + np.abs(slopes).max()):
        raise NetworkError(
            f"The slope of the activation '{name}' is not that of its value: near {grid[worst]:.4g} it is {slopes[worst]:.6g}, "
            f"and the value changes by {np.diff(values)[worst] / width:.6g} for each unit."
        )


def _margin(value: Function, slope: Function, grid: Array, kinks: Array) -> float:
    """How far the value may be from what the grid says: a cubic that is not seen between two points."""
    width = float(grid[1] - grid[0])
    away = np.abs(grid[1:-1, None] - kinks).min(axis=1, initial=np.inf) > width
    third = float(np.abs(np.diff(slope(grid), n=2))[away].max(initial=0.0)) / width**2
    return SAFETY * third * width**3 + 4.0 * np.finfo(np.float64).eps * float(np.abs(value(grid)).max())
