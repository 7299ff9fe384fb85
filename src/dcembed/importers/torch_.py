"""Read PyTorch modules through torch.fx: the graph of the module's forward pass, one operation at a time.

The user's module is never touched: a copy in double precision, on the CPU and in evaluation mode is traced and
checked. Values have the shape they have for a batch of one point.
"""

from __future__ import annotations

import copy
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import fx, nn

from dcembed.errors import InputError, NetworkError, UnsupportedLayerError
from dcembed.importers import operations as ops
from dcembed.importers.check import check
from dcembed.importers.lowering import Layer, Lowering, find_handler, unknown_input
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.network import Affine, Array, Network

FLOAT_TYPES = (torch.float32, torch.float64)


class _OneInput(nn.Module):
    """The module as a function of its first argument, so that defaults of the others are plain values in the trace."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)


def load(model: Any, input_shape: tuple[int, ...] | None) -> Network:
    """Read a torch module."""
    if not isinstance(model, nn.Module):
        raise InputError(
            f"A torch object of type {type(model).__name__} is not a model. Pass the nn.Module itself, for example nn.Sequential."
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise InputError("A TorchScript module cannot be traced. Pass the Python module it was made from, or export it to ONNX.")
    _check_signature(model)
    root = _OneInput(_copy(model))
    graph = _trace(root)
    shape = input_shape or _infer_shape(graph, root)
    lowering, output = _walk(graph, root, shape)
    lowering.raise_problems()
    if shape is None:
        raise unknown_input("torch", "no layer that uses the input fixes it")
    if not isinstance(output, Tensor):
        raise NetworkError(f"The torch model returns {_say_output(output)}. Accepted is one tensor: wrap the model to return just that.")
    rounds = any(node.op == "call_method" and node.target in ("float", "to", "type") for node in graph.nodes)
    return _check_forward(lowering.finish(output), root, shape, rounds)


def _copy(model: nn.Module) -> nn.Module:
    if any(nn.parameter.is_lazy(tensor) for tensor in (*model.parameters(), *model.buffers())):
        raise NetworkError("The torch model has lazy layers without weights. Call it once on a batch of data, then load it.")
    # A compiled module keeps the original, which is the one that can be traced.
    original = getattr(model, "_orig_mod", model)
    try:
        with torch.no_grad():
            return copy.deepcopy(original).cpu().double().eval()
    except Exception as error:
        raise NetworkError(f"The torch model cannot be copied to the CPU in double precision: {type(error).__name__}: {error}.") from error


def _check_signature(model: nn.Module) -> None:
    parameters = inspect.signature(model.forward).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(required) > 1:
        raise NetworkError(
            f"The torch model takes {len(required)} inputs ({', '.join(required)}); one is accepted. "
            "Wrap it in a module that takes one vector and splits it."
        )


def _trace(root: _OneInput) -> fx.Graph:
    try:
        with torch.no_grad():
            graph = fx.Tracer().trace(root)
    except Exception as error:
        raise UnsupportedLayerError(
            f"torch.fx cannot trace the forward pass of {type(root.model).__name__}: {type(error).__name__}: {error}\n"
            "Branches and loops that depend on the data cannot be embedded. Move them out of forward, "
            "or export the model with torch.onnx.export and load the .onnx file."
        ) from error
    if all(node.op in ("placeholder", "output", "get_attr") for node in graph.nodes):
        raise NetworkError(f"The network is empty: {type(root.model).__name__} has no layer. Pass a model with at least one.")
    return graph


def _walk(graph: fx.Graph, root: _OneInput, shape: tuple[int, ...] | None) -> tuple[Lowering, Any]:
    """Lower every node; the second value is what the module returns."""
    lowering = Lowering("torch", _ACCEPTED, None if shape is None else (1, *shape))
    values: dict[fx.Node, Any] = {}
    index = 0
    output: Any = None
    for node in graph.nodes:
        args, kwargs = (fx.node.map_arg(item, values.__getitem__) for item in (node.args, node.kwargs))
        if node.op == "placeholder":
            values[node] = lowering.input
        elif node.op == "get_attr":
            values[node] = _fetch(root, node)
        elif node.op == "output":
            output = args[0]
        else:
            values[node] = lowering.apply(_describe(root, node, index), _find(root, node), *args, **kwargs)
            _follow_inplace(root, node, values)
            index += 1
    return lowering, output


def _say_output(output: Any) -> str:
    if isinstance(output, list | tuple | dict):
        return f"a {type(output).__name__} of {len(output)} values"
    return "a value that does not depend on its input"


def _check_forward(network: Network, root: _OneInput, shape: tuple[int, ...], rounds: bool) -> Network:
    """In double precision, or in single precision where the model insists on it; `rounds` says that it converts to it on the way."""
    dtype = torch.float64
    try:
        with torch.no_grad():
            root(torch.zeros((2, *shape), dtype=dtype))
    except Exception:
        root, dtype = root.float(), torch.float32

    def forward(points: Array) -> Array:
        with torch.no_grad():
            return root(torch.tensor(points.reshape(-1, *shape), dtype=dtype)).double().numpy()

    return check(network, forward, "torch model", precision="float32" if rounds or dtype is torch.float32 else "float64")


# The graph: attributes, names, handlers, in-place operations.


def _fetch(root: nn.Module, node: fx.Node) -> Array:
    value = operator.attrgetter(str(node.target))(root)
    return value.detach().numpy().astype(np.float64) if isinstance(value, torch.Tensor) else value


def _describe(root: nn.Module, node: fx.Node, index: int) -> Layer:
    if node.op == "call_module":
        name = str(node.target).removeprefix("model").removeprefix(".")
        return Layer(index, name or "model", type(root.get_submodule(str(node.target))).__name__)
    if node.op == "call_method":
        return Layer(index, node.name, f"Tensor.{node.target}")
    return Layer(index, node.name, _say_function(node.target))


def _say_function(function: Any) -> str:
    module = (
        str(getattr(function, "__module__", None) or "torch")
        .replace("_operator", "operator")
        .replace("torch._C._nn", "torch.nn.functional")
    )
    return f"{module}.{getattr(function, '__name__', function)}"


def _find(root: nn.Module, node: fx.Node) -> Callable[..., Any] | None:
    if node.op == "call_module":
        module = root.get_submodule(str(node.target))
        handler = find_handler(MODULES, module, "forward")
        if handler is None:
            return None
        return lambda builder, input: handler(builder, module, input)
    if node.op == "call_method":
        return METHODS.get(str(node.target).removesuffix("_")) or METHODS.get(str(node.target))
    return FUNCTIONS.get(node.target)


def _follow_inplace(root: nn.Module, node: fx.Node, values: dict[fx.Node, Any]) -> None:
    """After an in-place operation every name of the old value, or of a view of it, stands for the new one."""
    result = values[node]
    if not isinstance(result, Tensor) or not _is_inplace(root, node):
        return
    old = values[node.all_input_nodes[0]]
    for other, value in values.items():
        if isinstance(old, Tensor) and isinstance(value, Tensor) and value.affine is old.affine:
            values[other] = Tensor(result.affine, value.shape)


def _is_inplace(root: nn.Module, node: fx.Node) -> bool:
    if node.op == "call_module":
        return bool(getattr(root.get_submodule(str(node.target)), "inplace", False))
    name = _target_name(node)
    return bool(node.kwargs.get("inplace", False)) or (name.endswith("_") and not name.endswith("__"))


# The input size.

# Operations after which the features are no longer those of the input.
_REARRANGING = frozenset({"cat", "concat", "concatenate", "getitem", "transpose", "permute", "getattr", "size", "dim"})
_RESHAPING = frozenset({"reshape", "view"})


def _infer_shape(graph: fx.Graph, root: nn.Module) -> tuple[int, ...] | None:
    """The size that the first layer fixes, looked for through operations that keep the features; None if no layer does."""
    same: set[fx.Node] = set()
    for node in graph.nodes:
        if node.op == "placeholder":
            same.add(node)
        if not same.intersection(node.all_input_nodes):
            continue
        size = _fixed_size(root, node)
        if size is not None:
            return (size,)
        if _keeps_features(root, node):
            same.add(node)
    return None


def _keeps_features(root: nn.Module, node: fx.Node) -> bool:
    name = _target_name(node)
    if name in _RESHAPING:
        return _feature_sizes(node) == (-1,)
    return _find(root, node) is not None and name not in _REARRANGING


def _fixed_size(root: nn.Module, node: fx.Node) -> int | None:
    if node.op == "call_module":
        return _module_size(root.get_submodule(str(node.target)))
    if _target_name(node) in _RESHAPING:
        sizes = _feature_sizes(node)
        return math.prod(sizes) if sizes and all(isinstance(size, int) and size > 0 for size in sizes) else None
    axis = 0 if _target_name(node) in ("matmul", "mm") else -1
    constants = [_fetch(root, other) for other in node.all_input_nodes if other.op == "get_attr"]
    fixed = [constant.shape[axis] for constant in constants if isinstance(constant, np.ndarray) and constant.ndim and constant.size > 1]
    return fixed[0] if fixed else None


def _target_name(node: fx.Node) -> str:
    return node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")


def _feature_sizes(node: fx.Node) -> tuple[Any, ...]:
    """The sizes that a reshape gives to all but the batch axis."""
    sizes = node.args[1:]
    return tuple(sizes[0][1:] if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else sizes[1:])


def _module_size(module: nn.Module) -> int | None:
    if isinstance(module, nn.Linear):
        return module.in_features
    if isinstance(module, nn.BatchNorm1d):
        return module.num_features
    if isinstance(module, nn.PReLU) and module.num_parameters > 1:
        return module.num_parameters
    if isinstance(module, nn.Unflatten) and all(size > 0 for size in module.unflattened_size):
        return math.prod(module.unflattened_size)
    return None


# Handlers. Those of functions and methods have the parameter names of torch, so that keywords fit.


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

_ACCEPTED = (
    ", ".join(sorted({kind.__name__ for kind in MODULES}))
    + ", and sums, constant factors, concatenation, reshaping and clipping of tensors"
)
