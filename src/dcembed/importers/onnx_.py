"""Read ONNX models, from a file or a ModelProto.

A double-precision copy of the model is walked and checked. Values have the shape they have for one point: a batch axis
has size 1. Operations on constants alone are folded by onnx's own reference implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError
from dcembed.importers.check import check
from dcembed.importers.lowering import UNKNOWN, Layer, Lowering, unknown_input
from dcembed.importers.onnx_files import FLOAT_TYPES, check_proto, in_double, read_file, to_array
from dcembed.importers.onnx_folding import FOLDED, fold
from dcembed.importers.onnx_functions import inline
from dcembed.importers.onnx_operations import OPERATORS
from dcembed.importers.request import Request
from dcembed.network.growth import growth_of
from dcembed.network.network import Network

# Numbers in a batch of fixed size; larger ones are not filled up with zeros for the few points that are compared.
MOST_IN_BATCH = 1_000_000


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


def load(source: Any, request: Request) -> Network:
    """Read an ONNX file or ModelProto."""
    request.allow_only("ONNX model")
    model = in_double(inline(read_file(source) if isinstance(source, Path) else check_proto(source)))
    graph = model.graph
    proto, output = _only_input(graph), _only_output(graph)
    if not graph.node:
        raise NetworkError("The network is empty: the ONNX graph has no node. Pass a model with at least one layer.")
    point = _read_input(proto, request.input_shape)
    lowering, values = _walk(model, proto.name, point)
    lowering.raise_problems()
    if point is None:
        raise unknown_input("ONNX", f"its input '{proto.name}' has axes of unknown size besides the batch axis")
    if values.get(output, UNKNOWN) is UNKNOWN:
        raise NetworkError(f"The output '{output}' of the ONNX graph is not computed by the first output of any node.")
    return check(lowering.finish(values[output]), _forward(model, point), "ONNX model")


def reference(source: Any, input_shape: tuple[int, ...]) -> Callable[[Array], Array]:
    """The predictions (k, n_out) of an ONNX file or ModelProto at points (k, n_in), as ONNX itself defines them, in double precision.

    Unlike `load` this takes every operator there is, since nothing is translated.
    """
    model = in_double(read_file(source) if isinstance(source, Path) else inline(check_proto(source)))
    proto = _only_input(model.graph)
    _only_output(model.graph)
    point = _read_input(proto, None) or _read_input(proto, input_shape)
    if point is None:
        raise unknown_input("ONNX", f"its input '{proto.name}' has axes of unknown size besides the batch axis")
    return _forward(model, point)


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
    return str(graph.output[0].name)


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
        if point.batch is None or point.batch * points.shape[1] > MOST_IN_BATCH:
            return one_by_one(points)
        try:
            return in_batches(points)
        except Exception:
            # Some exporters declare a free batch axis but write reshapes for one point.
            return one_by_one(points)

    return forward


# The walk.


def _walk(model: onnx.ModelProto, input_name: str, point: _Input | None) -> tuple[Lowering, dict[str, Any]]:
    values: dict[str, Any] = {tensor.name: to_array(tensor) for tensor in model.graph.initializer}
    growth = growth_of(sum(array.size for array in values.values()))
    lowering = Lowering("ONNX", ", ".join(sorted(OPERATORS)), None if point is None else point.shape, growth)
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
    return {name: to_array(value) if isinstance(value, onnx.TensorProto) else value for name, value in read.items()}


def _find(node: onnx.NodeProto, inputs: list[Any], versions: dict[str, int]) -> Callable[..., Any] | None:
    if node.domain not in ("", "ai.onnx"):
        return None
    constant = bool(inputs) and all(value is None or isinstance(value, np.ndarray | np.generic) for value in inputs)
    if constant and node.op_type in FOLDED:
        return lambda builder, *args, **kwargs: fold(node, args, versions, builder.growth)
    return OPERATORS.get(node.op_type)
