"""The smooth activations, each by its value, its first two derivatives, and where it changes from convex to concave.

Functions that are not defined everywhere (logarithm, roots and reciprocals) go on in a straight line where their domain ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, wraps

import numpy as np
import scipy.special

from dcembed.arrays import Array
from dcembed.network.activations.activation import Activation, Function, find_inflections

ROOT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)
CUBIC = 0.044715
# exp is continued in a straight line from here on, where it is about 1e217: a step that overflows is a step that cannot be compared.
LARGEST_EXPONENT = 500.0
# Beyond this GELU is zero or the identity to the last digit.
FAR_OUT = 1e3


def entry(factory: Callable[..., Activation]) -> Callable[..., Activation]:
    """Make an activation once for all who ask for it, and let it know how to be made again."""

    @cache
    @wraps(factory)
    def made(*parameters: float, **named: float) -> Activation:
        activation = factory(*parameters, **named)
        return replace(activation, made_by=(globals()[factory.__name__], activation.parameters))

    return made


def _softplus(a: Array) -> Array:
    value: Array = np.maximum(a, 0.0) + np.log1p(np.exp(-np.abs(a)))
    return value


def _logistic(a: Array) -> Array:
    value: Array = scipy.special.expit(a)
    return value


def _logistic_slope(a: Array) -> Array:
    s = _logistic(a)
    return s * (1.0 - s)


def _normal_density(a: Array) -> Array:
    value: Array = np.exp(-0.5 * a * a) / math.sqrt(2.0 * math.pi)
    return value


@entry
def softplus() -> Activation:
    """log(1 + exp(a))."""
    return Activation("softplus", _softplus, _logistic, _logistic_slope)


@entry
def sigmoid() -> Activation:
    """1 / (1 + exp(-a))."""

    def curvature(a: Array) -> Array:
        s = _logistic(a)
        return s * (1.0 - s) * (1.0 - 2.0 * s)

    return Activation("sigmoid", _logistic, _logistic_slope, curvature, breaks=(0.0,), signs=(1, -1))


@entry
def tanh() -> Activation:
    """The hyperbolic tangent."""

    def slope(a: Array) -> Array:
        t = np.tanh(a)
        return 1.0 - t * t

    def curvature(a: Array) -> Array:
        t = np.tanh(a)
        return -2.0 * t * (1.0 - t * t)

    return Activation("tanh", np.tanh, slope, curvature, breaks=(0.0,), signs=(1, -1))


@entry
def elu(alpha: float = 1.0) -> Activation:
    """a above zero, alpha (exp(a) - 1) below."""

    def value(a: Array) -> Array:
        return np.where(a > 0, a, alpha * np.expm1(np.minimum(a, 0.0)))

    def slope(a: Array) -> Array:
        return np.where(a >= 0, 1.0, alpha * np.exp(np.minimum(a, 0.0)))

    def curvature(a: Array) -> Array:
        return np.where(a >= 0, 0.0, alpha * np.exp(np.minimum(a, 0.0)))

    return Activation("elu", value, slope, curvature, breaks=(0.0,), signs=(int(np.sign(alpha)), 0), parameters=(float(alpha),))


@entry
def gelu() -> Activation:
    """a times the normal distribution function of a."""

    def value(a: Array) -> Array:
        product: Array = a * scipy.special.ndtr(a)
        return product

    def slope(a: Array) -> Array:
        total: Array = scipy.special.ndtr(a) + a * _normal_density(a)
        return total

    def curvature(a: Array) -> Array:
        return _normal_density(a) * (2.0 - a * a)

    return Activation("gelu", value, slope, curvature, breaks=(-math.sqrt(2.0), math.sqrt(2.0)), signs=(-1, 1, -1))


@entry
def gelu_tanh() -> Activation:
    """The usual approximation of GELU, a (1 + tanh(sqrt(2 / pi) (a + 0.044715 a^3))) / 2."""

    # (1 + tanh u) / 2 is the logistic function of 2 u, which keeps its digits far below zero.
    def inner(a: Array) -> tuple[Array, Array, Array]:
        # Far out it is zero, or the identity, and cubes overflow.
        a = np.clip(a, -FAR_OUT, FAR_OUT)
        return (
            2.0 * ROOT_TWO_OVER_PI * (a + CUBIC * a**3),
            2.0 * ROOT_TWO_OVER_PI * (1.0 + 3.0 * CUBIC * a * a),
            12.0 * ROOT_TWO_OVER_PI * CUBIC * a,
        )

    def value(a: Array) -> Array:
        return a * _logistic(inner(a)[0])

    def slope(a: Array) -> Array:
        u, first, _ = inner(a)
        total: Array = _logistic(u) + a * _logistic_slope(u) * first
        return total

    def curvature(a: Array) -> Array:
        u, first, second = inner(a)
        bend: Array = 2.0 * first + a * (second + (1.0 - 2.0 * _logistic(u)) * first * first)
        return _logistic_slope(u) * bend

    return _with_inflections("gelu_tanh", value, slope, curvature, signs=(-1, 1, -1))


@entry
def silu() -> Activation:
    """a / (1 + exp(-a)), also called swish."""

    def value(a: Array) -> Array:
        return a * _logistic(a)

    def slope(a: Array) -> Array:
        s = _logistic(a)
        return s * (1.0 + a * (1.0 - s))

    def curvature(a: Array) -> Array:
        s = _logistic(a)
        return s * (1.0 - s) * (2.0 + a * (1.0 - 2.0 * s))

    return _with_inflections("silu", value, slope, curvature, signs=(-1, 1, -1))


@entry
def mish() -> Activation:
    """a tanh(log(1 + exp(a)))."""

    def value(a: Array) -> Array:
        product: Array = a * np.tanh(_softplus(a))
        return product

    def slope(a: Array) -> Array:
        t = np.tanh(_softplus(a))
        total: Array = t + a * (1.0 - t * t) * _logistic(a)
        return total

    def curvature(a: Array) -> Array:
        t, s = np.tanh(_softplus(a)), _logistic(a)
        steep = 1.0 - t * t
        total: Array = steep * s * (2.0 + a * (1.0 - s) - 2.0 * a * t * s)
        return total

    return _with_inflections("mish", value, slope, curvature, signs=(-1, 1, -1))


@entry
def softsign() -> Activation:
    """a / (1 + |a|)."""

    def slope(a: Array) -> Array:
        return 1.0 / (1.0 + np.abs(a)) ** 2

    def curvature(a: Array) -> Array:
        return -2.0 * np.sign(a) / (1.0 + np.abs(a)) ** 3

    return Activation("softsign", lambda a: a / (1.0 + np.abs(a)), slope, curvature, breaks=(0.0,), signs=(1, -1))


@entry
def hardswish() -> Activation:
    """a clip(a + 3, 0, 6) / 6: zero, a parabola, a."""

    def slope(a: Array) -> Array:
        return np.where(a < -3.0, 0.0, np.where(a < 3.0, (2.0 * a + 3.0) / 6.0, 1.0))

    def curvature(a: Array) -> Array:
        return np.where((a >= -3.0) & (a < 3.0), 1.0 / 3.0, 0.0)

    return Activation("hardswish", lambda a: a * np.clip(a + 3.0, 0.0, 6.0) / 6.0, slope, curvature, breaks=(-3.0, 3.0), signs=(0, 1, 0))


@entry
def sin() -> Activation:
    """The sine; the cosine is the sine of a + pi / 2."""
    return Activation("sin", np.sin, np.cos, lambda a: -np.sin(a), breaks=(0.0, math.pi), signs=(1, -1, 1), period=2.0 * math.pi)


@entry
def erf() -> Activation:
    """The error function."""

    def slope(a: Array) -> Array:
        steep: Array = 2.0 / math.sqrt(math.pi) * np.exp(-a * a)
        return steep

    return Activation("erf", scipy.special.erf, slope, lambda a: -2.0 * a * slope(a), breaks=(0.0,), signs=(1, -1))


@entry
def arctan() -> Activation:
    """The arc tangent."""
    return Activation(
        "arctan", np.arctan, lambda a: 1.0 / (1.0 + a * a), lambda a: -2.0 * a / (1.0 + a * a) ** 2, breaks=(0.0,), signs=(1, -1)
    )


@entry
def exp() -> Activation:
    """The exponential function."""

    def value(a: Array) -> Array:
        return np.exp(np.minimum(a, LARGEST_EXPONENT)) * (1.0 + np.maximum(a - LARGEST_EXPONENT, 0.0))

    def slope(a: Array) -> Array:
        steep: Array = np.exp(np.minimum(a, LARGEST_EXPONENT))
        return steep

    def curvature(a: Array) -> Array:
        return np.where(a < LARGEST_EXPONENT, slope(a), 0.0)

    return Activation("exp", value, slope, curvature)


@entry
def square() -> Activation:
    """a^2; products of two values are differences of squares."""
    return Activation("square", lambda a: a * a, lambda a: 2.0 * a, lambda a: np.full_like(a, 2.0))


@entry
def log(least: float = 1e-12) -> Activation:
    """The logarithm, continued in a straight line below `least`."""

    def value(a: Array) -> Array:
        inside = np.maximum(a, least)
        return np.log(inside) + np.minimum(a - least, 0.0) / least

    def slope(a: Array) -> Array:
        return 1.0 / np.maximum(a, least)

    def curvature(a: Array) -> Array:
        return np.where(a >= least, -1.0 / np.maximum(a, least) ** 2, 0.0)

    limits = ((-np.inf, 1.0 / least), (np.inf, 0.0))
    return Activation("log", value, slope, curvature, breaks=(least,), signs=(0, -1), parameters=(float(least),), limits=limits)


@entry
def power(exponent: float, least: float = 1e-12) -> Activation:
    """a^exponent, as of roots and reciprocals, continued in a straight line below `least`."""

    def value(a: Array) -> Array:
        inside = np.maximum(a, least)
        total: Array = inside**exponent + np.minimum(a - least, 0.0) * exponent * np.float64(least) ** (exponent - 1.0)
        return total

    def slope(a: Array) -> Array:
        steep: Array = exponent * np.maximum(a, least) ** (exponent - 1.0)
        return steep

    def curvature(a: Array) -> Array:
        return np.where(a >= least, exponent * (exponent - 1.0) * np.maximum(a, least) ** (exponent - 2.0), 0.0)

    sign = 1 if exponent < 0 or exponent > 1 else -1
    steep = float(exponent * np.float64(least) ** (exponent - 1.0))
    limits = ((-math.copysign(np.inf, steep), steep), (0.0 if exponent < 0 else np.inf, np.inf if exponent > 1 else 0.0))
    own = (float(exponent), float(least))
    return Activation("power", value, slope, curvature, breaks=(least,), signs=(0, sign), parameters=own, limits=limits)


def _with_inflections(name: str, value: Function, slope: Function, curvature: Function, signs: tuple[int, ...]) -> Activation:
    return Activation(name, value, slope, curvature, breaks=find_inflections(curvature), signs=signs)
