"""ONNX files and their weights: read, with external data only from the model's own folder, and copied in double precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import external_data_helper, helper, numpy_helper

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError

FLOAT_TYPES = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


def read_file(path: Path) -> onnx.ModelProto:
    """A model with all its weights."""
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:
        raise NetworkError(
            f"{path} is not a readable ONNX file ({type(error).__name__}). Export the model again, or check the download."
        ) from error
    if not model.HasField("graph"):
        raise NetworkError(f"{path} is not an ONNX model: it holds no graph. Export the model again, or check the download.")
    _load_external_data(model, path)
    return model


def check_proto(model: Any) -> onnx.ModelProto:
    """The ModelProto, if it is one that has its weights with it."""
    if not isinstance(model, onnx.ModelProto):
        raise InputError(
            f"An ONNX object of type {type(model).__name__} is not a model. Pass the ModelProto or the path of the .onnx file."
        )
    if any(external_data_helper.uses_external_data(tensor) for tensor in _tensors(model)):
        raise InputError(
            "The ModelProto refers to weights in other files. Pass the path of the .onnx file instead, so that they can be found."
        )
    return model


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
    _check_extent(tensor, path, target)


def _check_extent(tensor: onnx.TensorProto, path: Path, target: Path) -> None:
    """Room is made for as many bytes as are claimed before they are read."""
    extent = {entry.key: entry.value for entry in tensor.external_data if entry.key in ("offset", "length")}
    size = target.stat().st_size
    try:
        offset, length = int(extent.get("offset") or 0), int(extent.get("length") or 0)
    except ValueError:
        offset = length = -1
    if offset < 0 or length < 0 or offset + length > size:
        raise NetworkError(
            f"The weights '{tensor.name}' of {path} should be {extent.get('length', 'all')} bytes at {extent.get('offset', 0)} of {target}, "
            f"which has {size}. Export the model again, or check the download."
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


def in_double(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which all floating-point numbers are doubles, so that the check is sharp."""
    double = onnx.ModelProto()
    double.CopyFrom(model)
    for tensor in _tensors(double):
        if tensor.data_type in FLOAT_TYPES:
            tensor.CopyFrom(numpy_helper.from_array(to_array(tensor).astype(np.float64), tensor.name))
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


def to_array(tensor: onnx.TensorProto) -> Array:
    """The numbers of a tensor."""
    try:
        array: Array = numpy_helper.to_array(tensor)
    except Exception as error:
        raise NetworkError(f"The tensor '{tensor.name}' of the ONNX model is damaged: {error}. Export the model again.") from error
    return array
