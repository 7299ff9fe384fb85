"""Activations of ONNX, and what is left of a model at inference. Handlers take inputs by position and attributes by their ONNX names."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from dcembed.importers import operations as ops
from dcembed.importers.onnx_.double import FLOAT_TYPES
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.activations import Activation
from dcembed.network.builder import NetworkBuilder

# Defaults of ONNX are single-precision numbers.
_LEAKY_SLOPE, _HARD_SLOPE = float(np.float32(0.01)), float(np.float32(0.2))
_SELU_ALPHA, _SELU_GAMMA = float(np.float32(1.67326319217681884765625)), float(np.float32(1.05070102214813232421875))


def function_of(activation: Activation) -> Any:
    """A function of the table, without attributes."""

    def handler(builder: NetworkBuilder, x: Value) -> Value:
        return ops.activate(builder, x, activation)

    return handler


def leaky_relu(builder: NetworkBuilder, x: Value, alpha: float = _LEAKY_SLOPE) -> Value:
    """x, or alpha x where negative."""
    return ops.leaky_relu(builder, x, alpha)


def prelu(builder: NetworkBuilder, x: Value, slope: Value) -> Value:
    """With slopes that broadcast to x, or one per channel as exporters of old wrote them."""
    shape, own = ops.shape_of(x), ops.shape_of(slope)
    per_channel = len(own) == 1 and len(shape) > 2 and own[0] == shape[1] and own[0] not in (1, shape[-1])
    return ops.leaky_relu(builder, x, ops.along_axis(ops.as_constant(slope, "the slope"), 1, len(shape)) if per_channel else slope)


def old_prelu(builder: NetworkBuilder, x: Value, slope: Value) -> Value:
    """Before opset 7: one slope per channel."""
    along = len(ops.shape_of(slope)) == 1 and ops.shape_of(slope) != (1,)
    return ops.leaky_relu(builder, x, ops.along_axis(ops.as_constant(slope, "the slope"), 1, len(ops.shape_of(x))) if along else slope)


def elu(builder: NetworkBuilder, x: Value, alpha: float = 1.0) -> Value:
    """x, or alpha (exp(x) - 1) where negative."""
    return ops.elu(builder, x, alpha)


def selu(builder: NetworkBuilder, x: Value, alpha: float = _SELU_ALPHA, gamma: float = _SELU_GAMMA) -> Value:
    """gamma elu(x)."""
    return ops.selu(builder, x, alpha, gamma)


def celu(builder: NetworkBuilder, x: Value, alpha: float = 1.0) -> Value:
    """alpha elu(x / alpha)."""
    return ops.celu(builder, x, alpha)


def gelu(builder: NetworkBuilder, x: Value, approximate: str = "none") -> Value:
    """In the form with erf or with tanh."""
    return ops.gelu(builder, x, approximate == "tanh")


def swish(builder: NetworkBuilder, x: Value, alpha: float = 1.0) -> Value:
    """x sigmoid(alpha x)."""
    return ops.silu(builder, x, alpha)


def hard_sigmoid(builder: NetworkBuilder, x: Value, alpha: float = _HARD_SLOPE, beta: float = 0.5) -> Value:
    """alpha x + beta, between 0 and 1."""
    return ops.hard_sigmoid(builder, x, alpha, beta)


def thresholded_relu(builder: NetworkBuilder, x: Value, alpha: float = 1.0) -> Value:
    """x above alpha, else 0."""
    return ops.threshold(builder, x, alpha, 0.0)


def shrink(builder: NetworkBuilder, x: Value, bias: float = 0.0, lambd: float = 0.5) -> Value:
    """Zero up to lambd, beyond it moved by bias."""
    return ops.shrink(builder, x, lambd, bias)


def clip(builder: NetworkBuilder, x: Value, low: Any = None, high: Any = None, min: float | None = None, max: float | None = None) -> Value:
    """The limits are attributes before opset 11 and inputs since."""
    return ops.clip(builder, x, _limit(min if low is None else low), _limit(max if high is None else high))


def _limit(value: Any) -> Any:
    """The largest single-precision number, which exporters write where there is no limit, is no limit."""
    if (
        isinstance(value, float | np.ndarray)
        and np.size(value) == 1
        and abs(float(np.reshape(value, ()))) >= float(np.finfo(np.float32).max)
    ):
        return None
    return value


def identity(builder: NetworkBuilder, x: Value) -> Value:
    """x."""
    return x


def dropout(
    builder: NetworkBuilder, x: Value, ratio_input: Any = None, training: Any = None, ratio: float = 0.5, seed: int = 0, is_test: int = 1
) -> Value:
    """x: nothing is dropped at inference."""
    if training is not None and np.any(training):
        raise Unsupported("is in training mode; export the model for inference")
    return x


def cast(builder: NetworkBuilder, x: Value, to: int, saturate: int = 1, round_mode: str = "up") -> Value:
    """x, in another floating-point type."""
    if to not in FLOAT_TYPES:
        raise Unsupported(
            f"converts a computed value to {onnx.TensorProto.DataType.Name(to)}; conversions between floating-point types are accepted"
        )
    return x


def cast_like(builder: NetworkBuilder, x: Value, other: Value, saturate: int = 1, round_mode: str = "up") -> Value:
    """x, in the floating-point type of another value."""
    if isinstance(other, np.ndarray) and other.dtype.kind != "f":
        raise Unsupported(f"converts a computed value to {other.dtype}; conversions between floating-point types are accepted")
    return x
