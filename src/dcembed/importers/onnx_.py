"""Read ONNX models, from a file or a ModelProto.

A double-precision copy of the model is walked and checked. Values have the shape they have for one point: a batch axis
has size 1. Operations on constants alone are folded by onnx's own reference implementation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
from onnx import external_data_helper, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from dcembed.errors import InputError, NetworkError
from dcembed.importers import operations as ops
from dcembed.importers.check import check
from dcembed.importers.lowering import UNKNOWN, Layer, Lowering, unknown_input
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.network import Array, Network

FLOAT_TYPES = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)

# Operations that are evaluated when all their inputs are constants. Random ones are not among them.
FOLDED = """
    Abs Add Cast Ceil Concat ConstantOfShape Div Equal Exp Expand Flatten Floor Gather Gemm Identity Log MatMul Max Min Mul Neg Pow Range
    Reciprocal ReduceMean ReduceProd ReduceSum Relu Reshape Shape Size Slice Sqrt Squeeze Sub Sum Tile Transpose Unsqueeze Where
"""


@dataclass(frozen=True)
class _Input:
    """The one input of a model.

    Parameters
    ----------
    shape
        Whole shape for one point.
    batch
        Size of the batch axis: 0 if free, None if there is no batch axis, or it is fixed at 1.
    """

    name: str
    shape: tuple[int, ...]
    batch: int | None


def load(source: Any, input_shape: tuple[int, ...] | None) -> Network:
    """Read an ONNX file or ModelProto."""
    model = _in_double(_read(source) if isinstance(source, Path) else _inline(_check_proto(source)))
    graph = model.graph
    proto, output = _only_input(graph), _only_output(graph)
    if not graph.node:
        raise NetworkError("The network is empty: the ONNX graph has no node. Pass a model with at least one layer.")
    point = _read_input(proto, input_shape)
    lowering, values = _walk(model, proto.name, point)
    lowering.raise_problems()
    if point is None:
        raise unknown_input("ONNX", f"its input '{proto.name}' has axes of unknown size besides the batch axis")
    if values.get(output, UNKNOWN) is UNKNOWN:
        raise NetworkError(f"The output '{output}' of the ONNX graph is not computed by the first output of any node.")
    return check(lowering.finish(values[output]), _forward(model, point), "ONNX model")


# Files and external data.


def _read(path: Path) -> onnx.ModelProto:
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:
        raise NetworkError(
            f"{path} is not a readable ONNX file ({type(error).__name__}). Export the model again, or check the download."
        ) from error
    if not model.HasField("graph"):
        raise NetworkError(f"{path} is not an ONNX model: it holds no graph. Export the model again, or check the download.")
    _load_external_data(model, path)
    return _inline(model)


def _check_proto(model: Any) -> onnx.ModelProto:
    if not isinstance(model, onnx.ModelProto):
        raise InputError(
            f"An ONNX object of type {type(model).__name__} is not a model. Pass the ModelProto or the path of the .onnx file."
        )
    if any(external_data_helper.uses_external_data(tensor) for tensor in _tensors(model)):
        raise InputError(
            "The ModelProto refers to weights in other files. Pass the path of the .onnx file instead, so that they can be found."
        )
    return model


def _inline(model: onnx.ModelProto) -> onnx.ModelProto:
    return onnx.inliner.inline_local_functions(model) if model.functions else model


def _load_external_data(model: onnx.ModelProto, path: Path) -> None:
    """Every location is looked at before the first one is read."""
    tensors = [tensor for tensor in _tensors(model) if external_data_helper.uses_external_data(tensor)]
    for tensor in tensors:
        _check_location(tensor, path)
    for tensor in tensors:
        try:
            external_data_helper.load_external_data_for_tensor(tensor, str(path.parent))
        except Exception as error:
            raise NetworkError(f"The weights '{tensor.name}' of {path} cannot be read from their file: {error}") from error
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]


def _check_location(tensor: onnx.TensorProto, path: Path) -> None:
    location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
    folder = path.parent.resolve()
    target = (folder / location).resolve()
    if not location or Path(location).is_absolute() or not target.is_relative_to(folder):
        raise InputError(
            f"The weights '{tensor.name}' of {path} are in '{location}', which is outside the folder of the model; it was not opened. "
            "Accepted are files in the folder of the model. Move the weights there, or save the model in one file."
        )
    if not target.is_file():
        raise InputError(
            f"The weights '{tensor.name}' of {path} should be in {target}, but there is no such file. Keep it next to the model."
        )


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """All tensors of a model, in subgraphs and functions too."""
    yield from _graph_tensors(model.graph)
    for function in model.functions:
        yield from _node_tensors(function.node)


def _graph_tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    yield from _node_tensors(graph.node)


def _node_tensors(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                yield from _graph_tensors(graph)


def _in_double(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which all floating-point numbers are doubles, so that the check is sharp."""
    double = onnx.ModelProto()
    double.CopyFrom(model)
    for tensor in _tensors(double):
        if tensor.data_type in FLOAT_TYPES:
            tensor.CopyFrom(numpy_helper.from_array(_to_array(tensor).astype(np.float64), tensor.name))
    for node in double.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i in FLOAT_TYPES:
                attribute.i = onnx.TensorProto.DOUBLE
            if node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
                number = np.array(helper.get_attribute_value(attribute), dtype=np.float64)
                attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(number)))
    for value in (*double.graph.input, *double.graph.output):
        if value.type.tensor_type.elem_type in FLOAT_TYPES:
            value.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    del double.graph.value_info[:]
    return double


def _to_array(tensor: onnx.TensorProto) -> Array:
    try:
        return numpy_helper.to_array(tensor)
    except Exception as error:
        raise NetworkError(f"The tensor '{tensor.name}' of the ONNX model is damaged: {error}. Export the model again.") from error


# Inputs and outputs.


def _only_input(graph: onnx.GraphProto) -> onnx.ValueInfoProto:
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    if len(inputs) != 1:
        raise NetworkError(f"The ONNX model has {_say(inputs, 'input')}; one is accepted. Export a model of one input vector.")
    kind = inputs[0].type.tensor_type.elem_type
    if kind not in FLOAT_TYPES:
        raise NetworkError(
            f"The input '{inputs[0].name}' of the ONNX model has type {onnx.TensorProto.DataType.Name(kind)}; floats are accepted."
        )
    return inputs[0]


def _only_output(graph: onnx.GraphProto) -> str:
    if len(graph.output) != 1:
        raise NetworkError(f"The ONNX model has {_say(list(graph.output), 'output')}; one is accepted. Export a model with one output.")
    return graph.output[0].name


def _say(values: list[onnx.ValueInfoProto], noun: str) -> str:
    names = ", ".join(f"'{value.name}'" for value in values)
    return f"{len(values)} {noun}s ({names})" if values else f"no {noun}"


def _read_input(proto: onnx.ValueInfoProto, input_shape: tuple[int, ...] | None) -> _Input | None:
    """The input with its shape for one point, or None when that is not known.

    An input of one axis has no batch axis. So has one whose whole shape is the `input_shape` that the user passed.
    """
    kind = proto.type.tensor_type
    sizes = tuple(axis.dim_value if axis.HasField("dim_value") else 0 for axis in kind.shape.dim) if kind.HasField("shape") else None
    if sizes is None:
        return None if input_shape is None else _Input(proto.name, (1, *input_shape), 0)
    if input_shape is not None and (len(sizes) == len(input_shape) and _fits(sizes, input_shape)):
        return _Input(proto.name, input_shape, None)
    if input_shape is not None and not (len(sizes) == len(input_shape) + 1 and _fits(sizes[1:], input_shape)):
        raise InputError(
            f"The input '{proto.name}' of the ONNX model has shape {sizes} (0 is free), which input_shape={input_shape} does not fit."
        )
    if len(sizes) <= 1:
        return _Input(proto.name, sizes, None) if sizes and sizes[0] else None
    features = input_shape or sizes[1:]
    if 0 in features:
        return None
    return _Input(proto.name, (1, *features), None if sizes[0] == 1 else sizes[0])


def _fits(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    return all(size in (0, wanted) for size, wanted in zip(sizes, shape, strict=True))


def _forward(model: onnx.ModelProto, point: _Input) -> Callable[[Array], Array]:
    evaluator = ReferenceEvaluator(model)

    def run(points: Array, shape: tuple[int, ...]) -> Array:
        return np.asarray(evaluator.run(None, {point.name: points.reshape(shape)})[0])

    def one_by_one(points: Array) -> Array:
        return np.stack([run(row, point.shape).reshape(-1) for row in points])

    def in_batches(points: Array) -> Array:
        size = point.batch or len(points)
        padded = np.vstack([points, np.zeros((-len(points) % size, points.shape[1]))])
        parts = [run(padded[start : start + size], (size, *point.shape[1:])) for start in range(0, len(padded), size)]
        # Rows that are too many are passed on, for `check` to see.
        return np.concatenate(parts)[: len(points) if sum(map(len, parts)) == len(padded) else None]

    def forward(points: Array) -> Array:
        if point.batch is None:
            return one_by_one(points)
        try:
            return in_batches(points)
        except Exception:
            # Some exporters declare a free batch axis but write reshapes for one point.
            return one_by_one(points)

    return forward


# The walk.


def _walk(model: onnx.ModelProto, input_name: str, point: _Input | None) -> tuple[Lowering, dict[str, Any]]:
    lowering = Lowering("ONNX", ", ".join(sorted(OPERATORS)), None if point is None else point.shape)
    values: dict[str, Any] = {tensor.name: _to_array(tensor) for tensor in model.graph.initializer}
    values[input_name] = lowering.input
    versions = {entry.domain: entry.version for entry in model.opset_import}
    for index, node in enumerate(model.graph.node):
        layer = Layer(index, node.name or (node.output[0] if node.output else ""), ".".join(filter(None, (node.domain, node.op_type))))
        inputs = [_get(values, name, layer) for name in node.input]
        if node.op_type == "Reshape" and point is not None and point.batch and len(inputs) == 2:
            inputs[1] = _for_one_point(inputs[1], point.batch)
        result = lowering.apply(layer, _find(node, inputs, versions), *inputs, **_attributes(node))
        values.update(dict.fromkeys(node.output[1:], UNKNOWN))
        values.update(dict.fromkeys(node.output[:1], result))
    return lowering, values


def _get(values: dict[str, Any], name: str, layer: Layer) -> Any:
    """A missing optional input is written as an empty name."""
    if name and name not in values:
        raise NetworkError(f"The ONNX graph is broken at {layer}: its input '{name}' is not computed before it.")
    return values[name] if name else None


def _for_one_point(shape: Any, batch: int) -> Any:
    """A reshape that repeats the fixed batch size keeps the batch axis."""
    if not isinstance(shape, np.ndarray) or shape.size == 0 or shape[0] != batch:
        return shape
    return np.concatenate([[1], shape[1:]])


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    read = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {name: _to_array(value) if isinstance(value, onnx.TensorProto) else value for name, value in read.items()}


def _find(node: onnx.NodeProto, inputs: list[Any], versions: dict[str, int]) -> Callable[..., Any] | None:
    if node.domain not in ("", "ai.onnx"):
        return None
    constant = bool(inputs) and all(value is None or isinstance(value, np.ndarray | np.generic) for value in inputs)
    if constant and node.op_type in FOLDED.split():
        return lambda builder, *args, **kwargs: _fold(node, args, versions)
    return OPERATORS.get(node.op_type)


def _fold(node: onnx.NodeProto, inputs: Sequence[Any], versions: dict[str, int]) -> Array:
    names = {name: value for name, value in zip(node.input, inputs, strict=True) if name}
    types = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), None) for name, value in names.items()]
    outputs = [helper.make_tensor_value_info(node.output[0], onnx.TensorProto.UNDEFINED, None)]
    model = helper.make_model(
        helper.make_graph([node], "fold", types, outputs),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in versions.items()],
    )
    return np.asarray(ReferenceEvaluator(model).run([node.output[0]], names)[0])


# Defaults of ONNX are single-precision numbers.
_LEAKY_SLOPE, _EPSILON = float(np.float32(0.01)), float(np.float32(1e-5))

# Handlers: inputs by position, attributes by their ONNX names.


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
