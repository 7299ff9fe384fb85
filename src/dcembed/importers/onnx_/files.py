"""ONNX files and their weights: read, gzipped or not, with external data only from the model's own folder."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import external_data_helper, numpy_helper

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError
from dcembed.importers.archives import most_unpacked
from dcembed.importers.onnx_.graph import subgraphs


def read_file(path: Path) -> onnx.ModelProto:
    """A model with all its weights."""
    model = parse_file(path)
    if not model.HasField("graph"):
        raise NetworkError(f"{path} is not an ONNX model: it holds no graph. Export the model again, or check the download.")
    _load_external_data(model, path)
    return model


def parse_file(path: Path) -> onnx.ModelProto:
    """A model without what is in other files."""
    try:
        if path.suffix.lower() == ".gz":
            return onnx.load_model_from_string(_unpack(path))
        return onnx.load(str(path), load_external_data=False)
    except NetworkError:
        raise
    except Exception as error:
        raise NetworkError(
            f"{path} is not a readable ONNX file ({type(error).__name__}). Export the model again, or check the download."
        ) from error


def _unpack(path: Path) -> bytes:
    most = most_unpacked(path)
    try:
        with gzip.open(path) as stream:
            content = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise NetworkError(f"{path} cannot be unpacked: {error}. Pack the model again, or check the download.") from error
    if len(content) > most:
        raise NetworkError(
            f"{path} is not read: its {path.stat().st_size} bytes unpack to more than {most}, which no trained weights do. "
            "If it is not damaged, unpack it and pass the .onnx file."
        )
    return content


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
        yield from node_tensors(function.node)


def _graph_tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from node_tensors(graph.node)


def node_tensors(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    """The tensors in the attributes of nodes and in their subgraphs."""
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("sparse_tensor"):
                yield from (attribute.sparse_tensor.values, attribute.sparse_tensor.indices)
            yield from attribute.tensors
        for graph in subgraphs(node):
            yield from _graph_tensors(graph)


def to_array(tensor: onnx.TensorProto) -> Array:
    """The numbers of a tensor."""
    try:
        array: Array = numpy_helper.to_array(tensor)
    except Exception as error:
        raise NetworkError(f"The tensor '{tensor.name}' of the ONNX model is damaged: {error}. Export the model again.") from error
    return array
