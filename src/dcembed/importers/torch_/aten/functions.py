"""Operators that go entry by entry: arithmetic and activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.operations.ranges import lower_bound
from dcembed.importers.operations.structure import blocks
from dcembed.network.activations import Activation, smooth
from dcembed.network.builder import NetworkBuilder, Tensor


def _times(builder: NetworkBuilder, value: Value, factor: Any) -> Value:
    return ops.multiply(builder, value, np.asarray(factor))


def _add(builder: NetworkBuilder, left: Value, right: Value, alpha: float = 1) -> Value:
    return ops.add(builder, left, right if alpha == 1 else _times(builder, right, alpha))


def _subtract(builder: NetworkBuilder, left: Value, right: Value, alpha: float = 1) -> Value:
    return _add(builder, left, right, -alpha)


def _subtract_from(builder: NetworkBuilder, left: Value, right: Value, alpha: float = 1) -> Value:
    return _add(builder, right, left, -alpha)


def _divide(builder: NetworkBuilder, left: Value, right: Value, rounding_mode: str | None = None) -> Value:
    if rounding_mode is not None:
        raise Unsupported(f"rounding_mode='{rounding_mode}' is not continuous")
    return ops.divide(builder, left, right)


def _add_product(builder: NetworkBuilder, input: Value, left: Value, right: Value, *, value: float = 1) -> Value:
    return ops.add(builder, input, _times(builder, ops.multiply(builder, left, right), value))


def _add_quotient(builder: NetworkBuilder, input: Value, left: Value, right: Value, *, value: float = 1) -> Value:
    return ops.add(builder, input, _times(builder, ops.divide(builder, left, right), value))


def _interpolate(builder: NetworkBuilder, start: Value, end: Value, weight: Value) -> Value:
    return ops.add(builder, start, ops.multiply(builder, ops.subtract(builder, end, start), weight))


def _clamp(builder: NetworkBuilder, value: Value, low: Any = None, high: Any = None) -> Value:
    """Computed limits are maxima and minima."""
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        value = value if low is None else ops.maximum(builder, value, low)
        return value if high is None else ops.minimum(builder, value, high)
    return ops.clip(builder, value, low, high)


def _clamp_min(builder: NetworkBuilder, value: Value, low: Any) -> Value:
    return _clamp(builder, value, low)


def _clamp_max(builder: NetworkBuilder, value: Value, high: Any) -> Value:
    return _clamp(builder, value, None, high)


def _leaky_relu(builder: NetworkBuilder, value: Value, slope: float = 0.01) -> Value:
    return ops.leaky_relu(builder, value, slope)


def _prelu(builder: NetworkBuilder, value: Value, weight: Any) -> Value:
    """One slope, or one per channel; the channels are axis 1."""
    slope = ops.as_constant(weight, "the slope")
    if slope.ndim > 1:
        return ops.leaky_relu(builder, value, slope)
    return ops.leaky_relu(builder, value, slope.reshape(()) if slope.size == 1 else ops.along_axis(slope, 1, len(ops.shape_of(value))))


def _rrelu(builder: NetworkBuilder, value: Value, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *_: Any) -> Value:
    """At inference the slope is the mean of both."""
    if training:
        raise Unsupported("draws its slopes at random; export the model in evaluation mode (model.eval())")
    return ops.leaky_relu(builder, value, 0.5 * (lower + upper))


def _rrelu_functional(builder: NetworkBuilder, value: Value, noise: Any, *args: Any) -> tuple[Value, Any]:
    return _rrelu(builder, value, *args), noise


def _rrelu_with_noise(builder: NetworkBuilder, value: Value, noise: Any, *args: Any) -> Value:
    return _rrelu(builder, value, *args)


def _elu(builder: NetworkBuilder, value: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    """scale * (x if x > 0 else alpha (exp(input_scale x) - 1))."""
    inner = ops.elu(builder, _times(builder, value, input_scale), alpha)
    if input_scale == 1.0:
        return ops.scale(builder, inner, scale)
    # The part above zero has not been scaled.
    above = _times(builder, ops.relu(builder, value), 1.0 - input_scale)
    return ops.scale(builder, ops.add(builder, inner, above), scale)


def _gelu(builder: NetworkBuilder, value: Value, approximate: str = "none") -> Value:
    return ops.gelu(builder, value, approximate == "tanh")


def _softplus(builder: NetworkBuilder, value: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """Torch takes the identity above the threshold; it jumps there, by next to nothing at the usual threshold of 20."""
    if threshold < 20.0:
        raise Unsupported(
            f"switches to the identity at {threshold / beta:g} with a jump of {math.log1p(math.exp(-threshold)) / abs(beta):.1e}; "
            "use the usual threshold of 20 or a larger one"
        )
    return ops.softplus(builder, value, beta)


def _hardtanh(builder: NetworkBuilder, value: Value, low: float = -1.0, high: float = 1.0) -> Value:
    return ops.clip(builder, value, low, high)


def _hardshrink(builder: NetworkBuilder, value: Value, width: float = 0.5) -> Value:
    return ops.shrink(builder, value, width, 0.0)


def _log_add_exp(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """log(exp(a) + exp(b)) = b + softplus(a - b)."""
    return ops.add(builder, right, ops.softplus(builder, ops.subtract(builder, left, right)))


def _hypot(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    return ops.sqrt(builder, ops.add(builder, ops.square(builder, left), ops.square(builder, right)))


# Units that are positive but for single points.
_POSITIVE = frozenset({"square", "exp", "softplus", "sigmoid"})


def _sign(builder: NetworkBuilder, value: Tensor) -> Value:
    """One, of what is positive whatever the input is."""
    positive = all(source and builder.stage(source)[1].name in _POSITIVE for source in blocks(value.affine))
    if not positive or lower_bound(builder, value.affine).min() < 0:
        raise Unsupported("takes the sign, which jumps")
    return np.ones(value.shape)


def _unit(activation: Callable[[], Activation]) -> Callable[..., Value]:
    return lambda builder, value: ops.activate(builder, value, activation())


def _erfc(builder: NetworkBuilder, value: Value) -> Value:
    return ops.subtract(builder, np.asarray(1.0), ops.activate(builder, value, smooth.erf()))


def _normal(builder: NetworkBuilder, value: Value) -> Value:
    """The normal distribution function, (1 + erf(x / sqrt 2)) / 2."""
    inner = ops.activate(builder, _times(builder, value, math.sqrt(0.5)), smooth.erf())
    return ops.add(builder, _times(builder, inner, 0.5), np.asarray(0.5))


def _base(base: float) -> Callable[..., Value]:
    return lambda builder, value: ops.log_of_base(builder, value, base)


def _angle(factor: float) -> Callable[..., Value]:
    return lambda builder, value: _times(builder, value, factor)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": _add,
    **dict.fromkeys(("sub", "subtract"), _subtract),
    **dict.fromkeys(("div", "divide", "true_divide"), _divide),
    **dict.fromkeys(("neg", "negative"), ops.negate),
    **dict.fromkeys(("abs", "absolute"), ops.absolute),
    **dict.fromkeys(("maximum", "fmax"), ops.maximum),
    **dict.fromkeys(("minimum", "fmin"), ops.minimum),
    **dict.fromkeys(("clamp", "clip"), _clamp),
    **dict.fromkeys(("sigmoid", "special_expit"), ops.sigmoid),
    **dict.fromkeys(("erf", "special_erf"), _unit(smooth.erf)),
    **dict.fromkeys(("erfc", "special_erfc"), _erfc),
    **dict.fromkeys(("atan", "arctan"), _unit(smooth.arctan)),
    **dict.fromkeys(("log1p", "special_log1p"), ops.log1p),
    **dict.fromkeys(("expm1", "special_expm1"), ops.expm1),
    "rsub": _subtract_from,
    "addcmul": _add_product,
    "addcdiv": _add_quotient,
    "lerp": _interpolate,
    "clamp_min": _clamp_min,
    "clamp_max": _clamp_max,
    "relu": ops.relu,
    "relu6": ops.relu6,
    "leaky_relu": _leaky_relu,
    "prelu": _prelu,
    "_prelu_kernel": _prelu,
    "rrelu": _rrelu,
    "rrelu_with_noise": _rrelu_with_noise,
    "rrelu_with_noise_functional": _rrelu_functional,
    "sign": _sign,
    "hardtanh": _hardtanh,
    "hardsigmoid": lambda builder, value: ops.hard_sigmoid(builder, value),
    "hardswish": _unit(smooth.hardswish),
    "hardshrink": _hardshrink,
    "softshrink": lambda builder, value, width=0.5: ops.soft_shrink(builder, value, width),
    "threshold": ops.threshold,
    "tanh": ops.tanh,
    "softplus": _softplus,
    "log_sigmoid": ops.log_sigmoid,
    "log_sigmoid_forward": lambda builder, value: (ops.log_sigmoid(builder, value), None),
    "elu": _elu,
    "selu": lambda builder, value: ops.selu(builder, value),
    "celu": lambda builder, value, alpha=1.0: ops.celu(builder, value, alpha),
    "gelu": _gelu,
    "silu": lambda builder, value: ops.silu(builder, value),
    "mish": _unit(smooth.mish),
    "glu": lambda builder, value, dim=-1: ops.glu(builder, value, dim),
    "sin": _unit(smooth.sin),
    "cos": ops.cos,
    "sinh": ops.sinh,
    "cosh": ops.cosh,
    "special_ndtr": _normal,
    "exp": ops.exp,
    "exp2": lambda builder, value: ops.exp(builder, _times(builder, value, math.log(2.0))),
    "log": ops.log,
    "log2": _base(2.0),
    "log10": _base(10.0),
    "logaddexp": _log_add_exp,
    "hypot": _hypot,
    "sqrt": ops.sqrt,
    "rsqrt": ops.rsqrt,
    "square": ops.square,
    "reciprocal": ops.reciprocal,
    "pow": ops.power,
    "float_power": ops.power,
    "deg2rad": _angle(math.pi / 180.0),
    "rad2deg": _angle(180.0 / math.pi),
}
