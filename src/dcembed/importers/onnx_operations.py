"""The operators of ONNX that can be embedded. Handlers take inputs by position and attributes by their ONNX names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.onnx_files import FLOAT_TYPES
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor

# Defaults of ONNX are single-precision numbers.
_LEAKY_SLOPE, _EPSILON = float(np.float32(0.01)), float(np.float32(1e-5))


def _constant(builder: NetworkBuilder, **attributes: Any) -> Array:
    if len(attributes) != 1 or next(iter(attributes)) not in ("value", "value_int", "value_ints"):
        raise Unsupported(f"holds {', '.join(attributes) or 'nothing'}; numbers are accepted")
    return np.asarray(next(iter(attributes.values())))


def _gemm(
    builder: NetworkBuilder,
    a: Value,
    b: Value,
    c: Value | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    left = ops.transpose(builder, a) if transA else a
    right = ops.transpose(builder, b) if transB else b
    product = ops.multiply(builder, ops.matmul(builder, left, right), np.asarray(alpha))
    return product if c is None else ops.add(builder, product, ops.multiply(builder, c, np.asarray(beta)))


def _leaky_relu(builder: NetworkBuilder, x: Value, alpha: float = _LEAKY_SLOPE) -> Tensor:
    return ops.leaky_relu(builder, x, alpha)


def _clip(
    builder: NetworkBuilder, x: Value, low: Any = None, high: Any = None, min: float | None = None, max: float | None = None
) -> Tensor:
    """The limits are attributes before opset 11 and inputs since."""
    return ops.clip(builder, x, min if low is None else low, max if high is None else high)


def _identity(builder: NetworkBuilder, x: Value) -> Value:
    return x


def _dropout(
    builder: NetworkBuilder, x: Value, ratio_input: Any = None, training: Any = None, ratio: float = 0.5, seed: int = 0, is_test: int = 1
) -> Value:
    if training is not None and np.any(training):
        raise Unsupported("is in training mode; export the model for inference")
    return x


def _cast(builder: NetworkBuilder, x: Value, to: int, saturate: int = 1) -> Value:
    if to not in FLOAT_TYPES:
        raise Unsupported(
            f"converts a computed value to {onnx.TensorProto.DataType.Name(to)}; conversions between floating-point types are accepted"
        )
    return x


def _batch_norm(
    builder: NetworkBuilder,
    x: Value,
    gamma: Value,
    beta: Value,
    mean: Value,
    variance: Value,
    epsilon: float = _EPSILON,
    momentum: float = 0.9,
    training_mode: int = 0,
    spatial: int = 1,
    is_test: int = 1,
) -> Tensor:
    if training_mode or not spatial:
        raise Unsupported("is in training mode; export the model for inference" if training_mode else "has spatial=0")
    return ops.batch_norm(builder, x, mean, variance, gamma, beta, epsilon)


def _flatten(builder: NetworkBuilder, x: Tensor, axis: int = 1) -> Value:
    start = axis % len(x.shape) if axis < 0 else axis
    return ops.reshape(builder, x, (math.prod(x.shape[:start]), math.prod(x.shape[start:])))


def _reshape(builder: NetworkBuilder, x: Tensor, shape: Any, allowzero: int = 0) -> Value:
    """A zero copies the size of the same axis."""
    if isinstance(shape, Tensor):
        raise Unsupported("has a shape that is computed from the input")
    sizes = [int(size) for size in np.asarray(shape).reshape(-1)]
    return ops.reshape(builder, x, [x.shape[axis] if size == 0 and not allowzero else size for axis, size in enumerate(sizes)])


def _squeeze(builder: NetworkBuilder, x: Tensor, axes_input: Any = None, axes: Any = None) -> Value:
    """Without axes, the first one stays: it is the batch axis, which has size 1 only because one point is looked at."""
    chosen = axes if axes_input is None else np.asarray(axes_input).reshape(-1)
    if chosen is None:
        return ops.reshape(builder, x, [size for axis, size in enumerate(x.shape) if axis == 0 or size != 1])
    return ops.select(builder, x, lambda entries: np.squeeze(entries, tuple(int(axis) for axis in chosen)))


def _unsqueeze(builder: NetworkBuilder, x: Tensor, axes_input: Any = None, axes: Any = None) -> Value:
    chosen = axes if axes_input is None else np.asarray(axes_input).reshape(-1)
    return ops.select(builder, x, lambda entries: np.expand_dims(entries, tuple(int(axis) for axis in chosen)))


def _transpose(builder: NetworkBuilder, x: Value, perm: Any = None) -> Value:
    return ops.transpose(builder, x, None if perm is None else list(perm))


def _concat(builder: NetworkBuilder, *values: Value, axis: int = 1) -> Value:
    return ops.concat(builder, values, axis)


def _shape(builder: NetworkBuilder, x: Tensor, start: int = 0, end: int | None = None) -> Array:
    return np.array(x.shape[start:end], dtype=np.int64)


def _prelu(builder: NetworkBuilder, x: Value, slope: Value) -> Tensor:
    return ops.leaky_relu(builder, x, slope)


def _chain(operation: Callable[[NetworkBuilder, Value, Value], Value]) -> Callable[..., Value]:
    """An operation of two values, for any number of them."""

    def handler(builder: NetworkBuilder, first: Value, *others: Value) -> Value:
        for other in others:
            first = operation(builder, first, other)
        return first

    return handler


OPERATORS: dict[str, Callable[..., Any]] = {
    "Abs": ops.absolute,
    "Add": ops.add,
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "Constant": _constant,
    "Div": ops.divide,
    "Dropout": _dropout,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "Identity": _identity,
    "LeakyRelu": _leaky_relu,
    "MatMul": ops.matmul,
    "Max": _chain(ops.maximum),
    "Min": _chain(ops.minimum),
    "Mul": ops.multiply,
    "Neg": ops.negate,
    "PRelu": _prelu,
    "Relu": ops.relu,
    "Reshape": _reshape,
    "Shape": _shape,
    "Squeeze": _squeeze,
    "Sub": ops.subtract,
    "Sum": _chain(ops.add),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
