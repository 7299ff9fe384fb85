"""The operations of torch that can be embedded, and the tables that find them.

Handlers of functions and methods have the parameter names of torch, so that keywords fit.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder, Tensor

FLOAT_TYPES = (torch.float32, torch.float64)


def _numpy(tensor: torch.Tensor | None) -> Array | None:
    return None if tensor is None else tensor.detach().numpy().astype(np.float64)


def _linear(builder: NetworkBuilder, input: Tensor, weight: Any, bias: Any = None) -> Tensor:
    return builder.linear(
        ops.as_tensor(input), ops.as_constant(weight, "the weight"), None if bias is None else ops.as_constant(bias, "the bias")
    )


def _batch_norm_module(builder: NetworkBuilder, module: nn.BatchNorm1d, input: Tensor) -> Tensor:
    if module.running_mean is None:
        raise Unsupported("track_running_stats=False normalizes with the batch itself, also at inference")
    mean, variance, gamma, beta = (_numpy(tensor) for tensor in (module.running_mean, module.running_var, module.weight, module.bias))
    return ops.batch_norm(builder, input, mean, variance, gamma, beta, module.eps)


def _batch_norm(
    builder: NetworkBuilder,
    input: Value,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if training or running_mean is None:
        raise Unsupported("normalizes with the batch itself")
    return ops.batch_norm(builder, input, running_mean, running_var, weight, bias, eps)


def _relu(builder: NetworkBuilder, input: Value, inplace: bool = False) -> Value:
    return ops.relu(builder, input)


def _leaky_relu(builder: NetworkBuilder, input: Value, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return ops.leaky_relu(builder, input, negative_slope)


def _prelu(builder: NetworkBuilder, input: Value, weight: Any) -> Tensor:
    """One slope, or one per channel; the channels are axis 1."""
    slope = ops.as_constant(weight, "the slope")
    value = ops.as_tensor(input)
    return ops.leaky_relu(builder, value, slope.reshape(()) if slope.size == 1 else ops.along_axis(slope, 1, len(value.shape)))


def _hardtanh(builder: NetworkBuilder, input: Value, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    return ops.clip(builder, input, min_val, max_val)


def _relu6(builder: NetworkBuilder, input: Value, inplace: bool = False) -> Tensor:
    return ops.clip(builder, input, 0.0, 6.0)


def _clamp(builder: NetworkBuilder, input: Value, min: Any = None, max: Any = None) -> Tensor:
    return ops.clip(builder, input, min, max)


def _clamp_min(builder: NetworkBuilder, input: Value, min: Any) -> Tensor:
    return ops.clip(builder, input, min, None)


def _clamp_max(builder: NetworkBuilder, input: Value, max: Any) -> Tensor:
    return ops.clip(builder, input, None, max)


def _dropout(builder: NetworkBuilder, input: Value, p: float = 0.5, training: bool = True, inplace: bool = False) -> Value:
    if training and p > 0:
        raise Unsupported("training=True drops entries at random also at inference; pass training=self.training")
    return input


def _same(builder: NetworkBuilder, input: Value) -> Value:
    return input


def _clone(builder: NetworkBuilder, input: Value) -> Value:
    """A new object: in-place operations on the clone leave the original alone."""
    return Tensor(Affine(input.affine.weights, input.affine.bias), input.shape) if isinstance(input, Tensor) else np.array(input)


def _to(builder: NetworkBuilder, input: Value, *args: Any, **kwargs: Any) -> Value:
    """Moves between devices and between float32 and float64 change nothing here."""
    types = [item for item in (*args, *kwargs.values()) if isinstance(item, torch.dtype)]
    if any(item not in FLOAT_TYPES for item in types):
        raise Unsupported(f"converts to {types[0]}, which rounds")
    return input


def _add(builder: NetworkBuilder, input: Value, other: Value, *, alpha: float = 1) -> Value:
    return ops.add(builder, input, other if alpha == 1 else ops.multiply(builder, other, np.asarray(alpha)))


def _sub(builder: NetworkBuilder, input: Value, other: Value, *, alpha: float = 1) -> Value:
    return _add(builder, input, other, alpha=-alpha)


def _rsub(builder: NetworkBuilder, input: Value, other: Value, *, alpha: float = 1) -> Value:
    return _add(builder, other, input, alpha=-alpha)


def _mul(builder: NetworkBuilder, input: Value, other: Value) -> Value:
    return ops.multiply(builder, input, other)


def _div(builder: NetworkBuilder, input: Value, other: Value, *, rounding_mode: str | None = None) -> Value:
    if rounding_mode is not None:
        raise Unsupported(f"rounding_mode='{rounding_mode}' is not continuous")
    return ops.divide(builder, input, other)


def _matmul(builder: NetworkBuilder, input: Value, other: Value) -> Value:
    return ops.matmul(builder, input, other)


def _addmm(builder: NetworkBuilder, input: Value, mat1: Value, mat2: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    product = ops.multiply(builder, ops.matmul(builder, mat1, mat2), np.asarray(alpha))
    return ops.add(builder, ops.multiply(builder, input, np.asarray(beta)), product)


def _maximum(builder: NetworkBuilder, input: Value, other: Value) -> Value:
    return ops.maximum(builder, input, other)


def _minimum(builder: NetworkBuilder, input: Value, other: Value) -> Value:
    return ops.minimum(builder, input, other)


def _concat(builder: NetworkBuilder, tensors: Sequence[Value], dim: int = 0) -> Value:
    values = [ops.as_tensor(value) for value in tensors]
    if dim % len(values[0].shape) == 0:
        raise Unsupported("joins along the batch axis")
    return ops.concat(builder, values, dim)


def _keep_batch(value: Tensor, shape: Sequence[int]) -> None:
    """One point is a batch of one: a first axis of another size has features in it."""
    if not shape or shape[0] != 1:
        raise Unsupported(f"takes one point from shape {value.shape} to {tuple(shape)}: it merges or moves the batch axis")


def _reshape(builder: NetworkBuilder, input: Tensor, *shape: Any) -> Tensor:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape
    result = builder.reshape(input, sizes)
    _keep_batch(input, result.shape)
    return result


def _flatten(builder: NetworkBuilder, input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    num_axes = len(input.shape)
    start, end = start_dim % num_axes, end_dim % num_axes
    return _reshape(builder, input, (*input.shape[:start], math.prod(input.shape[start : end + 1]), *input.shape[end + 1 :]))


def _unflatten(builder: NetworkBuilder, input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    axis = dim % len(input.shape)
    pieces = [int(size) for size in sizes]
    if -1 in pieces:
        rest = math.prod(size for size in pieces if size != -1)
        pieces[pieces.index(-1)] = input.shape[axis] // rest
    return _reshape(builder, input, (*input.shape[:axis], *pieces, *input.shape[axis + 1 :]))


def _squeeze(builder: NetworkBuilder, input: Tensor, dim: int | None = None) -> Tensor:
    """The batch axis stays: it has size 1 only because one point is looked at."""
    chosen = range(len(input.shape)) if dim is None else [dim % len(input.shape)]
    return builder.reshape(input, [size for axis, size in enumerate(input.shape) if axis == 0 or axis not in chosen or size != 1])


def _unsqueeze(builder: NetworkBuilder, input: Tensor, dim: int) -> Tensor:
    axis = dim % (len(input.shape) + 1)
    if axis == 0:
        raise Unsupported("puts an axis before the batch axis")
    return builder.reshape(input, (*input.shape[:axis], 1, *input.shape[axis:]))


def _permute(builder: NetworkBuilder, input: Tensor, *dims: Any) -> Value:
    axes = [axis % len(input.shape) for axis in (dims[0] if len(dims) == 1 and isinstance(dims[0], list | tuple) else dims)]
    if axes[0] != 0:
        raise Unsupported("moves the batch axis")
    return ops.transpose(builder, input, axes)


def _transpose(builder: NetworkBuilder, input: Tensor, dim0: int, dim1: int) -> Value:
    axes = list(range(len(input.shape)))
    axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return _permute(builder, input, axes)


def _getitem(builder: NetworkBuilder, input: Any, index: Any) -> Any:
    if not isinstance(input, Tensor):
        return input[index]
    items = index if isinstance(index, tuple) else (index,)
    if not all(item is None or item is Ellipsis or isinstance(item, int | np.integer | slice) for item in items):
        raise Unsupported("is indexed with something other than integers and slices")
    if items[0] is not Ellipsis and items[0] != slice(None):
        raise Unsupported("picks points of the batch")
    return ops.select(builder, input, lambda entries: entries[items])


def _getattr(builder: NetworkBuilder, input: Any, name: str) -> Any:
    if name == "shape" and isinstance(input, Tensor):
        return input.shape
    if name == "ndim" and isinstance(input, Tensor):
        return len(input.shape)
    raise Unsupported(f"reads the attribute '{name}'")


def _size(builder: NetworkBuilder, input: Tensor, dim: int | None = None) -> Any:
    return input.shape if dim is None else input.shape[dim]


def _dim(builder: NetworkBuilder, input: Tensor) -> int:
    return len(input.shape)


MODULES: dict[type, Callable[..., Any]] = {
    nn.Linear: lambda builder, module, input: _linear(builder, input, _numpy(module.weight), _numpy(module.bias)),
    nn.ReLU: lambda builder, module, input: ops.relu(builder, input),
    nn.LeakyReLU: lambda builder, module, input: ops.leaky_relu(builder, input, module.negative_slope),
    nn.PReLU: lambda builder, module, input: _prelu(builder, input, _numpy(module.weight)),
    nn.ReLU6: lambda builder, module, input: ops.clip(builder, input, 0.0, 6.0),
    nn.Hardtanh: lambda builder, module, input: ops.clip(builder, input, module.min_val, module.max_val),
    nn.BatchNorm1d: _batch_norm_module,
    nn.Flatten: lambda builder, module, input: _flatten(builder, input, module.start_dim, module.end_dim),
    nn.Unflatten: lambda builder, module, input: _unflatten(builder, input, module.dim, module.unflattened_size),
} | dict.fromkeys(
    (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout),
    lambda builder, module, input: input,
)

# Methods of tensors, without the underscore of their in-place form.
METHODS: dict[str, Callable[..., Any]] = {
    "relu": _relu,
    "clamp": _clamp,
    "clip": _clamp,
    "clamp_min": _clamp_min,
    "clamp_max": _clamp_max,
    "add": _add,
    "sub": _sub,
    "subtract": _sub,
    "mul": _mul,
    "multiply": _mul,
    "div": _div,
    "divide": _div,
    "neg": ops.negate,
    "negative": ops.negate,
    "abs": ops.absolute,
    "maximum": _maximum,
    "minimum": _minimum,
    "matmul": _matmul,
    "mm": _matmul,
    "reshape": _reshape,
    "view": _reshape,
    "flatten": _flatten,
    "unflatten": _unflatten,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "permute": _permute,
    "transpose": _transpose,
    "size": _size,
    "dim": _dim,
    "contiguous": _same,
    "detach": _same,
    "cpu": _same,
    "float": _same,
    "double": _same,
    "clone": _clone,
    "to": _to,
    "type": _to,
}

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    F.linear: _linear,
    F.batch_norm: _batch_norm,
    F.relu: _relu,
    F.relu_: _relu,
    torch.relu: _relu,
    torch.relu_: _relu,
    F.leaky_relu: _leaky_relu,
    F.leaky_relu_: _leaky_relu,
    F.prelu: _prelu,
    torch.prelu: _prelu,
    F.relu6: _relu6,
    F.hardtanh: _hardtanh,
    F.hardtanh_: _hardtanh,
    torch.clamp: _clamp,
    torch.clip: _clamp,
    torch.clamp_min: _clamp_min,
    torch.clamp_max: _clamp_max,
    torch.add: _add,
    operator.add: _add,
    operator.iadd: _add,
    torch.sub: _sub,
    torch.subtract: _sub,
    operator.sub: _sub,
    operator.isub: _sub,
    torch.rsub: _rsub,
    torch.mul: _mul,
    torch.multiply: _mul,
    operator.mul: _mul,
    operator.imul: _mul,
    torch.div: _div,
    torch.divide: _div,
    torch.true_divide: _div,
    operator.truediv: _div,
    operator.itruediv: _div,
    torch.neg: ops.negate,
    operator.neg: ops.negate,
    torch.abs: ops.absolute,
    abs: ops.absolute,
    operator.abs: ops.absolute,
    torch.maximum: _maximum,
    torch.minimum: _minimum,
    torch.matmul: _matmul,
    torch.mm: _matmul,
    operator.matmul: _matmul,
    torch.addmm: _addmm,
    torch.cat: _concat,
    torch.concat: _concat,
    torch.concatenate: _concat,
    torch.flatten: _flatten,
    torch.reshape: _reshape,
    torch.squeeze: _squeeze,
    torch.unsqueeze: _unsqueeze,
    torch.permute: _permute,
    torch.transpose: _transpose,
    operator.getitem: _getitem,
    getattr: _getattr,
}
FUNCTIONS |= dict.fromkeys((F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout, F.feature_alpha_dropout), _dropout)

ACCEPTED = (
    ", ".join(sorted({kind.__name__ for kind in MODULES}))
    + ", and sums, constant factors, concatenation, reshaping and clipping of tensors"
)
