"""Powers, roots, quotients, exponentials and logarithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers.operations.arithmetic import add, multiply, negate, scale, subtract
from dcembed.importers.operations.ranges import lower_bound
from dcembed.importers.operations.structure import Units, read_units
from dcembed.importers.operations.units import activate, cube
from dcembed.importers.operations.values import Unsupported, Value
from dcembed.network.activations import Activation, smooth
from dcembed.network.builder import NetworkBuilder, Tensor

# Where a reciprocal, a logarithm or a root is continued in a straight line if nothing is known of its argument. A root of zero is off by half
# the root of its own.
LEAST = 1e-12
LEAST_UNDER_ROOT = 1e-24
# Powers beyond this one would be many stages deep.
LARGEST_POWER = 16
# Digits before the point that a power and its derivatives may have; floats have 308.
MOST_DIGITS = 300


def square(builder: NetworkBuilder, value: Value) -> Value:
    """value^2."""
    return activate(builder, value, smooth.square())


def exp(builder: NetworkBuilder, value: Value) -> Value:
    """The exponential function."""
    return activate(builder, value, smooth.exp()) if isinstance(value, Tensor) else np.exp(value)


def log(builder: NetworkBuilder, value: Value) -> Value:
    """The natural logarithm of a value that is positive; of exponentials and logistic functions what is inside, where it is one."""
    if not isinstance(value, Tensor):
        return np.log(value)
    units = read_units(builder, value.affine)
    known = None if units is None or (units.factor <= 0).any() else _known_log(builder, units)
    if known is not None:
        return builder.reshape(known, value.shape)
    return activate(builder, value, smooth.log(_least(lower_bound(builder, value.affine), LEAST)))


def _known_log(builder: NetworkBuilder, units: Units) -> Tensor | None:
    """log(c e^a) = a + log c, log(c e^a + d) = softplus(a + log(c / d)) + log d, log(c sigmoid(a)) = log c - softplus(-a)."""
    inner, inside = Tensor(units.before, units.factor.shape), np.log(units.factor)
    if units.activation.name == "exp" and not units.shift.any():
        return builder.shift(inner, inside)
    if units.activation.name == "exp" and (units.shift > 0).all():
        outside = np.log(units.shift)
        return builder.shift(builder.activate(builder.shift(inner, inside - outside), smooth.softplus()), outside)
    if units.activation.name == "sigmoid" and not units.shift.any():
        return builder.shift(builder.scale(builder.activate(builder.scale(inner, -1.0), smooth.softplus()), -1.0), inside)
    return None


def reciprocal(builder: NetworkBuilder, value: Value) -> Value:
    """1 / value. The value has one sign, positive where nothing is known of it."""
    if not isinstance(value, Tensor):
        return 1.0 / np.asarray(value, dtype=np.float64)
    units = read_units(builder, value.affine)
    if units is not None and units.activation.name == "exp" and (units.factor > 0).all() and (units.shift > 0).all():
        return builder.reshape(_logistic(builder, units), value.shape)
    if units is not None and units.activation.name == "power" and (units.factor > 0).all() and not units.shift.any():
        return builder.reshape(_inverse_power(builder, units), value.shape)
    least = lower_bound(builder, value.affine)
    if least.min() < 0 and lower_bound(builder, builder.scale(value, -1.0).affine).min() >= 0:
        return negate(builder, reciprocal(builder, builder.scale(value, -1.0)))
    return activate(builder, value, smooth.power(-1.0, _least(least, LEAST)))


def _inverse_power(builder: NetworkBuilder, units: Units) -> Tensor:
    """1 / (c a^p) = a^(-p) / c."""
    exponent, least = units.activation.parameters
    inside = Tensor(units.before, units.factor.shape)
    raised = inside if exponent == -1.0 else builder.activate(inside, _power_above(-exponent, max(least, LEAST)))
    return builder.scale(raised, 1.0 / units.factor)


def _logistic(builder: NetworkBuilder, units: Units) -> Tensor:
    """1 / (c e^a + d) = sigmoid(log(d / c) - a) / d."""
    inside = builder.shift(builder.scale(Tensor(units.before, units.factor.shape), -1.0), np.log(units.shift / units.factor))
    logistic = activate(builder, inside, smooth.sigmoid())
    assert isinstance(logistic, Tensor)
    return logistic if (units.shift == 1.0).all() else builder.scale(logistic, 1.0 / units.shift)


def _least(known: Array, otherwise: float) -> float:
    """Where to stop: at the least that all entries can be, if that is positive."""
    return max(float(known.min(initial=np.inf)), otherwise) if np.isfinite(known).all() else otherwise


def divide(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """left / right; a computed divisor has one sign."""
    if isinstance(right, Tensor):
        return multiply(builder, left, reciprocal(builder, right))
    divisor = np.asarray(right, dtype=np.float64)
    if (divisor == 0).any():
        raise Unsupported("divides by zero")
    if not isinstance(left, Tensor):
        return np.asarray(left) / divisor
    return multiply(builder, left, 1.0 / divisor)


def sqrt(builder: NetworkBuilder, value: Value) -> Value:
    """The square root of a value that is not negative."""
    return _fractional(builder, value, 0.5, LEAST_UNDER_ROOT)


def rsqrt(builder: NetworkBuilder, value: Value) -> Value:
    """One over the square root of a value that is positive."""
    return _fractional(builder, value, -0.5, LEAST)


def _fractional(builder: NetworkBuilder, value: Value, exponent: float, otherwise: float) -> Value:
    if not isinstance(value, Tensor):
        return np.power(np.asarray(value, dtype=np.float64), exponent)
    return activate(builder, value, _power_above(exponent, _least(lower_bound(builder, value.affine), otherwise)))


def _power_above(exponent: float, least: float) -> Activation:
    """a^exponent from `least` on. What a negative exponent makes of `least`, and the derivatives there, must be numbers."""
    if not math.isfinite(exponent):
        raise Unsupported(f"has the exponent {exponent:g}; finite ones are accepted")
    if (exponent - 2.0) * math.log10(least) > MOST_DIGITS and exponent < 0:
        enough = 10.0 ** -(MOST_DIGITS // (2.0 - exponent))
        raise Unsupported(
            f"raises a value that may be as small as {least:g} to the power {exponent:g}, which is beyond the largest float; exponents "
            f"down to {2 + math.ceil(MOST_DIGITS / math.log10(least))} are accepted, or add {enough:g} to the value if it is never negative"
        )
    return smooth.power(exponent, least)


def power(builder: NetworkBuilder, value: Value, exponent: Any) -> Value:
    """value^exponent: squares and products where the exponent is a whole number, else of a value that is positive."""
    if isinstance(exponent, Tensor):
        return _exponential(builder, value, exponent)
    exponents = np.asarray(exponent, dtype=np.float64)
    if not isinstance(value, Tensor):
        return np.power(np.asarray(value, dtype=np.float64), exponents)
    if exponents.size == 0 or (exponents != exponents.flat[0]).any():
        raise Unsupported("has exponents that are different for different entries")
    if exponents.ndim > len(value.shape):
        value = builder.reshape(value, (*(1,) * (exponents.ndim - len(value.shape)), *value.shape))
    return _one_power(builder, value, float(exponents.flat[0]))


def _exponential(builder: NetworkBuilder, base: Value, exponent: Tensor) -> Value:
    """base^exponent = exp(exponent * log(base))."""
    if not isinstance(base, Tensor) and (np.asarray(base) <= 0).any():
        raise Unsupported("raises a base that is not positive to a computed power")
    return exp(builder, multiply(builder, exponent, log(builder, base)))


def _one_power(builder: NetworkBuilder, value: Tensor, exponent: float) -> Value:
    if exponent == 0.5:
        return sqrt(builder, value)
    if not exponent.is_integer():
        return _fractional(builder, value, exponent, LEAST_UNDER_ROOT if exponent > 0 else LEAST)
    if abs(exponent) > LARGEST_POWER:
        raise Unsupported(f"has the exponent {exponent:g}; whole numbers up to {LARGEST_POWER} are accepted")
    whole = _whole_power(builder, value, int(abs(exponent)))
    return reciprocal(builder, whole) if exponent < 0 else whole


def _whole_power(builder: NetworkBuilder, value: Tensor, exponent: int) -> Value:
    if exponent == 0:
        return np.ones(value.shape)
    if exponent == 1:
        return value
    if exponent == 3:
        return cube(builder, value)
    if exponent % 2:
        return multiply(builder, value, _whole_power(builder, value, exponent - 1))
    return square(builder, _whole_power(builder, value, exponent // 2))


def log_of_base(builder: NetworkBuilder, value: Value, base: float) -> Value:
    """The logarithm to another base."""
    return scale(builder, log(builder, value), 1.0 / math.log(base))


def log1p(builder: NetworkBuilder, value: Value) -> Value:
    """log(1 + value)."""
    return log(builder, add(builder, value, np.asarray(1.0))) if isinstance(value, Tensor) else np.log1p(value)


def expm1(builder: NetworkBuilder, value: Value) -> Value:
    """exp(value) - 1."""
    return add(builder, exp(builder, value), np.asarray(-1.0)) if isinstance(value, Tensor) else np.expm1(value)


def logit(builder: NetworkBuilder, value: Value, least: float | None = None) -> Value:
    """log(value / (1 - value)) of a value between 0 and 1, which stays `least` away from both where that is given."""
    inside = value
    if least is not None and isinstance(value, Tensor):
        inside = builder.clip(value, least, 1.0 - least)
    elif least is not None:
        inside = np.clip(np.asarray(value), least, 1.0 - least)
    return subtract(builder, log(builder, inside), log(builder, subtract(builder, np.asarray(1.0), inside)))
