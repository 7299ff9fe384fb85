"""Activations that frameworks have, as stages of the table's functions: exactly of ReLU where they are piecewise linear."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dcembed.importers.operations.arithmetic import add, multiply, negate, scale, subtract
from dcembed.importers.operations.powers import exp
from dcembed.importers.operations.rearranging import split
from dcembed.importers.operations.units import activate, relu
from dcembed.importers.operations.values import Unsupported, Value, as_constant, shape_of
from dcembed.network.activations import smooth
from dcembed.network.builder import NetworkBuilder, Tensor

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def leaky_relu(builder: NetworkBuilder, value: Value, slope: Any) -> Value:
    """value where positive, slope * value where negative."""
    slopes = as_constant(slope, "the slope")
    if isinstance(value, Tensor):
        return builder.leaky_relu(value, slopes)
    array = np.asarray(value, dtype=np.float64)
    return np.where(array > 0, array, slopes * array)


def clip(builder: NetworkBuilder, value: Value, low: Any, high: Any) -> Value:
    """Between `low` and `high`; None is no limit."""
    lower = as_constant(-np.inf if low is None else low, "the lower limit")
    upper = as_constant(np.inf if high is None else high, "the upper limit")
    if (lower > upper).any():
        raise Unsupported(f"has a lower limit ({lower}) above its upper limit ({upper})")
    if any(np.isinf(limit).any() and not np.isinf(limit).all() for limit in (lower, upper)):
        raise Unsupported("has limits that are finite for some entries only")
    return builder.clip(value, lower, upper) if isinstance(value, Tensor) else np.clip(value, lower, upper)


def relu6(builder: NetworkBuilder, value: Value) -> Value:
    """Between 0 and 6."""
    return clip(builder, value, 0.0, 6.0)


def hard_sigmoid(builder: NetworkBuilder, value: Value, slope: float = 1.0 / 6.0, middle: float = 0.5) -> Value:
    """slope * value + middle, between 0 and 1."""
    return clip(builder, add(builder, scale(builder, value, slope), np.asarray(middle)), 0.0, 1.0)


def soft_shrink(builder: NetworkBuilder, value: Value, width: float = 0.5) -> Value:
    """value moved towards zero by `width`, at most to zero."""
    if width < 0:
        raise Unsupported(f"shrinks by {width:g}, which jumps at zero; a width of zero or more is accepted")
    above = relu(builder, subtract(builder, value, np.asarray(width)))
    return subtract(builder, above, relu(builder, subtract(builder, negate(builder, value), np.asarray(width))))


def shrink(builder: NetworkBuilder, value: Value, width: float, amount: float) -> Value:
    """Zero up to `width` on both sides, beyond it the value moved towards zero by `amount`."""
    if width != amount:
        raise Unsupported(
            f"jumps by {abs(width - amount):g} at {width:g} (hard shrinkage); only continuous functions can be embedded, such as soft shrinkage"
        )
    return soft_shrink(builder, value, width)


def threshold(builder: NetworkBuilder, value: Value, limit: float, otherwise: float) -> Value:
    """value above `limit`, `otherwise` below it."""
    if limit != otherwise:
        raise Unsupported(
            f"jumps from {otherwise:g} to {limit:g} at {limit:g}; only continuous functions can be embedded: the two have to be equal"
        )
    return clip(builder, value, limit, None)


def sigmoid(builder: NetworkBuilder, value: Value) -> Value:
    """1 / (1 + exp(-value))."""
    return activate(builder, value, smooth.sigmoid())


def tanh(builder: NetworkBuilder, value: Value) -> Value:
    """The hyperbolic tangent."""
    return activate(builder, value, smooth.tanh())


def tanh_shrink(builder: NetworkBuilder, value: Value) -> Value:
    """value - tanh(value)."""
    return subtract(builder, value, tanh(builder, value))


def softplus(builder: NetworkBuilder, value: Value, beta: float = 1.0) -> Value:
    """log(1 + exp(beta * value)) / beta."""
    return scale(builder, activate(builder, scale(builder, value, beta), smooth.softplus()), 1.0 / beta)


def log_sigmoid(builder: NetworkBuilder, value: Value) -> Value:
    """log(sigmoid(value)) = -softplus(-value)."""
    return negate(builder, activate(builder, negate(builder, value), smooth.softplus()))


def silu(builder: NetworkBuilder, value: Value, beta: float = 1.0) -> Value:
    """value * sigmoid(beta * value), also called swish."""
    return scale(builder, activate(builder, scale(builder, value, beta), smooth.silu()), 1.0 / beta)


def elu(builder: NetworkBuilder, value: Value, alpha: float = 1.0) -> Value:
    """value above zero, alpha (exp(value) - 1) below."""
    return activate(builder, value, smooth.elu(float(alpha)))


def selu(builder: NetworkBuilder, value: Value, alpha: float = SELU_ALPHA, gamma: float = SELU_SCALE) -> Value:
    """gamma * elu(value)."""
    return scale(builder, elu(builder, value, alpha), gamma)


def celu(builder: NetworkBuilder, value: Value, alpha: float = 1.0) -> Value:
    """max(value, 0) + min(alpha (exp(value / alpha) - 1), 0)."""
    if alpha <= 0:
        raise Unsupported(f"has alpha={alpha:g}; a positive one is accepted")
    return scale(builder, elu(builder, scale(builder, value, 1.0 / alpha)), alpha)


def gelu(builder: NetworkBuilder, value: Value, tanh_form: bool = False) -> Value:
    """value times the normal distribution function of it, or the usual approximation by a tanh."""
    return activate(builder, value, smooth.gelu_tanh() if tanh_form else smooth.gelu())


def cos(builder: NetworkBuilder, value: Value) -> Value:
    """cos(value) = sin(value + pi / 2)."""
    if not isinstance(value, Tensor):
        return np.cos(value)
    return activate(builder, add(builder, value, np.asarray(0.5 * math.pi)), smooth.sin())


def cosh(builder: NetworkBuilder, value: Value) -> Value:
    """(exp(value) + exp(-value)) / 2."""
    return scale(builder, add(builder, exp(builder, value), exp(builder, negate(builder, value))), 0.5)


def sinh(builder: NetworkBuilder, value: Value) -> Value:
    """(exp(value) - exp(-value)) / 2."""
    return scale(builder, subtract(builder, exp(builder, value), exp(builder, negate(builder, value))), 0.5)


def glu(builder: NetworkBuilder, value: Value, axis: int = -1) -> Value:
    """The first half times the logistic function of the second."""
    size = shape_of(value)[axis]
    first, second = split(builder, value, [size // 2, size - size // 2], axis)
    return multiply(builder, first, sigmoid(builder, second))
