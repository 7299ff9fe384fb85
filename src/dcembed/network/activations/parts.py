"""An activation as an affine function and a sum of convex units, each with a weight of either sign.

    phi(a) = constant + tilt * a + sum_j weight_j psi_j(direction_j * a),    direction_j = 1 or -1

Every psi_j is convex, nondecreasing and nonnegative, as max(a, 0) is: what holds for networks of ReLU units in the paper holds for
networks of such units, with the largest slope of a unit in place of 1. From a break r of phi on, its tangent there is what is taken out;
each piece to the right of r adds what phi gains by its curvature on that piece, and so does each to the left, seen from the other side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from dcembed.arrays import Array
from dcembed.network.activations.activation import Activation
from dcembed.network.activations.relu import RELU

# Jumps of the slope below this part of it are rounding; slopes above its inverse are steep.
STEEP = 1e-3


@dataclass(frozen=True, eq=False)
class Part:
    """weight * unit(direction * a)."""

    weight: float
    direction: float
    unit: Activation


@dataclass(frozen=True, eq=False)
class ConvexParts:
    """constant + tilt * a + the sum of the parts."""

    constant: float
    tilt: float
    parts: tuple[Part, ...]


@cache
def convex_parts(activation: Activation) -> ConvexParts:
    """The parts of an activation.

    Examples
    --------
    tanh(a) = a + psi(-a) - psi(a) with psi(a) = max(a - tanh(a), 0).

    >>> from dcembed.network.activations import find_activation
    >>> parts = convex_parts(find_activation("tanh"))
    >>> parts.constant, parts.tilt, [(part.weight, part.direction) for part in parts.parts]
    (0.0, 1.0, [(1.0, -1.0), (-1.0, 1.0)])
    """
    if activation is RELU:
        return ConvexParts(0.0, 0.0, (Part(1.0, 1.0, RELU),))
    found = _by_largest_curvature(activation) if activation.period is not None else _whole(activation) or _from_a_break(activation)
    known = (
        part if part.unit is activation else replace(part, unit=replace(part.unit, made_by=(unit_of, (activation, number))))
        for number, part in enumerate(found.parts)
    )
    return replace(found, parts=tuple(known))


def unit_of(activation: Activation, number: int) -> Activation:
    """The unit of one of the parts."""
    return convex_parts(activation).parts[number].unit


def is_convex_unit(activation: Activation) -> bool:
    """Whether it is convex, nondecreasing and nonnegative itself."""
    parts = convex_parts(activation).parts
    return len(parts) == 1 and parts[0].unit == activation


def _whole(activation: Activation) -> ConvexParts | None:
    """One unit, where phi or -phi is convex everywhere and comes to rest on a line on one side."""
    sign = 1.0 if activation.is_convex else -1.0 if max(activation.signs) <= 0 and not activation.breaks else 0.0
    for side, direction in ((0, 1.0), (1, -1.0)):
        tilt, rest = activation.slopes_at_infinity[side], activation.values_at_infinity[side]
        if sign and tilt == 0.0 and np.isfinite(rest):
            if sign == direction == 1.0 and rest == 0.0:
                return ConvexParts(0.0, 0.0, (Part(1.0, 1.0, activation),))
            return ConvexParts(rest, 0.0, (Part(sign, direction, _lifted(activation, sign, direction, rest)),))
    return None


def _lifted(activation: Activation, sign: float, direction: float, rest: float) -> Activation:
    """sign * (phi(direction * a) - rest)."""
    other = 1 if direction > 0 else 0
    far = sign * (activation.values_at_infinity[other] - rest), sign * direction * activation.slopes_at_infinity[other]
    return Activation(
        f"{activation} from its limit",
        lambda a: np.maximum(sign * (activation.value(direction * a) - rest), 0.0),
        lambda a: sign * direction * activation.slope(direction * a),
        lambda a: sign * activation.curvature(direction * a),
        parameters=(sign, direction),
        limits=((0.0, 0.0), far),
        identity=_owner(activation),
    )


def _pieces(activation: Activation) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Breaks and the signs between them.

    Where it bends to one side only, any place will do, and one where it is not steep keeps the digits: 1 / a goes on in a line of slope
    -1e24 below 1e-12, and what is counted from there cancels.
    """
    bends, turns = {sign for sign in activation.signs if sign}, [abs(right - left) for left, right in activation.slopes_at_breaks]
    if len(bends) == 1 and max(turns, default=0.0) <= STEEP * max((abs(left) for left, _ in activation.slopes_at_breaks), default=1.0):
        steep = [place for place, (left, _) in zip(activation.breaks, activation.slopes_at_breaks, strict=True) if abs(left) > 1.0 / STEEP]
        if not activation.breaks or steep:
            return (max((*steep, 1.0)) if steep else 0.0,), (*bends, *bends)
    return activation.breaks, activation.signs


def _owner(activation: Activation) -> str:
    """What a unit is a part of, to the last digit."""
    return f"{activation.name} {activation.parameters} {activation.identity}"


def _from_a_break(activation: Activation) -> ConvexParts:
    breaks, signs = _pieces(activation)
    middle = breaks[len(breaks) // 2 if len(breaks) > 2 else 0]
    ends = [-np.inf, *breaks, np.inf]
    parts = [
        *(_piece(activation, ends[i], ends[i + 1], signs[i], middle) for i in range(len(signs)) if signs[i]),
        *_kinks(activation, breaks, middle),
    ]
    # The tangent from the left: what the slope jumps by at the middle is a kink like others.
    tilt = float(_slope_left(activation, middle))
    constant = float(activation.value(np.array([middle]))[0]) - tilt * middle
    return ConvexParts(constant, tilt, tuple(parts))


def _slope_left(activation: Activation, place: float) -> float:
    return float(activation.slope(np.array([np.nextafter(place, -np.inf)]))[0])


def _slope_right(activation: Activation, place: float) -> float:
    return float(activation.slope(np.array([place]))[0])


def _kinks(activation: Activation, breaks: tuple[float, ...], middle: float) -> Iterator[Part]:
    """max(a - b, 0) for each jump of the slope at b, to the left of the middle from the other side."""
    for place in breaks:
        jump = _slope_right(activation, place) - _slope_left(activation, place)
        if abs(jump) > 1e-12:
            direction = 1.0 if place >= middle else -1.0
            yield Part(jump, direction, _ramp(direction * place))


def _ramp(place: float) -> Activation:
    return Activation(
        "ramp", lambda a: np.maximum(a - place, 0.0), lambda a: (a >= place).astype(np.float64), np.zeros_like, (place,), (0, 0), (place,)
    )


def _piece(activation: Activation, left: float, right: float, sign: int, middle: float) -> Part:
    """What the curvature on [left, right] adds, counted from the end that is nearer to the middle."""
    direction = 1.0 if left >= middle else -1.0
    near, far = (left, right) if direction > 0 else (right, left)
    base = float(activation.value(np.array([near]))[0])
    steep = _slope_right(activation, near) if direction > 0 else _slope_left(activation, near)
    end = (_slope_left(activation, far) if direction > 0 else _slope_right(activation, far)) if np.isfinite(far) else 0.0

    def value(t: Array) -> Array:
        a = direction * t
        inside = np.clip(a, left, right)
        bend = activation.value(inside) - base - steep * (inside - near)
        beyond = (a - inside) * (end - steep) if np.isfinite(far) else 0.0
        gain = np.where((a - near) * direction > 0, bend + np.where((a - far) * direction > 0, beyond, 0.0), 0.0)
        positive: Array = np.maximum(sign * gain, 0.0)
        return positive

    def slope(t: Array) -> Array:
        a = direction * t
        inside = np.clip(a, left, right)
        local = np.where((a - far) * direction >= 0, end, activation.slope(inside)) if np.isfinite(far) else activation.slope(inside)
        return np.where((a - near) * direction > 0, np.maximum(sign * direction * (local - steep), 0.0), 0.0)

    def curvature(t: Array) -> Array:
        a = direction * t
        return np.where((a > left) & (a < right), sign * activation.curvature(np.clip(a, left, right)), 0.0)

    name = f"{activation} on [{left:g}, {right:g}]"
    return Part(
        float(sign), direction, Activation(name, value, slope, curvature, parameters=(direction, left, right), identity=_owner(activation))
    )


def _by_largest_curvature(activation: Activation) -> ConvexParts:
    """phi + M a^2 / 2 and -M a^2 / 2, both halves of each, where |phi''| <= M; counted from the tangent at zero."""
    zero = np.zeros(1)
    period = activation.period or 1.0
    largest = float(np.abs(activation.curvature(np.linspace(0.0, period, 100_001))).max()) * (1.0 + 1e-6)
    base, steep = float(activation.value(zero)[0]), float(activation.slope(zero)[0])

    def bent(direction: float) -> Activation:
        def value(t: Array) -> Array:
            a = direction * np.maximum(t, 0.0)
            return np.maximum(activation.value(a) - base - steep * a + 0.5 * largest * a * a, 0.0)

        def slope(t: Array) -> Array:
            a = direction * np.maximum(t, 0.0)
            return np.maximum(direction * (activation.slope(a) - steep + largest * a), 0.0)

        def curvature(t: Array) -> Array:
            return np.where(t > 0, activation.curvature(direction * t) + largest, 0.0)

        return Activation(f"{activation} and a parabola", value, slope, curvature, parameters=(direction,), identity=_owner(activation))

    half = Activation(
        "half a parabola",
        lambda t: 0.5 * np.maximum(t, 0.0) ** 2,
        lambda t: np.maximum(t, 0.0),
        lambda t: (t > 0).astype(np.float64),
    )
    sides = ((1.0, bent(1.0)), (-1.0, bent(-1.0)))
    parts = itertools.chain.from_iterable((Part(1.0, side, unit), Part(-largest, side, half)) for side, unit in sides)
    return ConvexParts(base, steep, tuple(parts))
