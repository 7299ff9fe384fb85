"""The inputs of an ONNX model: which of them become inputs of the network, which are constants, and their shapes for one point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError
from dcembed.importers.onnx_.double import FLOAT_TYPES
from dcembed.importers.request import Request
from dcembed.reading import show

# What whole numbers and flags may go through on their way to where they become floats.
_REARRANGED = ("Concat", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze")
_TAKES_NUMBERS = ("FeatureVectorizer", "LinearClassifier", "LinearRegressor", "Scaler")
_WHOLE_TYPES = ("BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")


@dataclass(frozen=True)
class Input:
    """One input of a model.

    Parameters
    ----------
    shape
        Whole shape for one point; None where it is not known.
    batch
        Size of the batch axis: 0 if free, None if there is no batch axis, or it is fixed at 1.
    value
        For an input that is a constant, of this shape.
    """

    name: str
    shape: tuple[int, ...] | None
    batch: int | None
    value: Array | None = None

    @property
    def size(self) -> int:
        """Numbers in one point."""
        return math.prod(self.shape or ())


@dataclass(frozen=True)
class Inputs:
    """All inputs of a model: those of the network in their order, and those that are constants."""

    free: tuple[Input, ...]
    fixed: tuple[Input, ...] = ()

    @property
    def batch(self) -> int | None:
        """Size of the batch axis, 0 if free; None where some input has none, or they disagree: then points go one by one."""
        sizes = {item.batch for item in (*self.free, *self.fixed)}
        return sizes.pop() if len(sizes) == 1 else None

    @property
    def unknown(self) -> Input | None:
        """An input of the network whose shape is not known."""
        return next((item for item in self.free if item.shape is None), None)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the inputs of the network where each of several is one number, as in models of named columns."""
        return tuple(item.name for item in self.free) if len(self.free) > 1 and all(item.size == 1 for item in self.free) else None


def read_inputs(graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto], request: Request) -> Inputs:
    """The inputs that a user asks for, all that have no value in the file by default."""
    given = {tensor.name for tensor in graph.initializer} | {tensor.values.name for tensor in graph.sparse_initializer}
    protos = {str(proto.name): proto for proto in graph.input}
    names = request.choose_inputs("ONNX", protos, given)
    free = tuple(_read_free(protos[name], nodes, request, only=len(names) == 1) for name in names)
    return Inputs(free, tuple(_read_fixed(protos[name], value) for name, value in (request.fixed or {}).items()))


# Inputs of the network.


def _read_free(proto: onnx.ValueInfoProto, nodes: Sequence[onnx.NodeProto], request: Request, only: bool) -> Input:
    """With its shape for one point. Of several inputs, one `input_shape` without a name is that of those whose own is not known."""
    _check_type(proto, nodes)
    named = (request.input_shapes or {}).get(proto.name)
    if only or named is not None:
        return _read_shape(proto, named or request.input_shape)
    known = _read_shape(proto, None)
    return known if known.shape is not None or request.input_shape is None else _read_shape(proto, request.input_shape)


def _read_shape(proto: onnx.ValueInfoProto, input_shape: tuple[int, ...] | None) -> Input:
    """An input of one axis has no batch axis. So has one whose whole shape is the `input_shape` that the user passed."""
    name, sizes = proto.name, _declared(proto)
    if sizes is None:
        return Input(name, None if input_shape is None else (1, *input_shape), 0)
    if input_shape is not None and len(sizes) == len(input_shape) and _fits(sizes, input_shape):
        return Input(name, input_shape, None)
    if input_shape is not None and not (len(sizes) == len(input_shape) + 1 and _fits(sizes[1:], input_shape)):
        raise InputError(
            f"The input '{name}' of the ONNX model has shape {sizes} (0 is free), which input_shape={input_shape} does not fit."
        )
    if len(sizes) <= 1:
        return Input(name, None if sizes == (0,) else sizes, None)
    features = input_shape or sizes[1:]
    batch = None if sizes[0] == 1 else sizes[0]
    return Input(name, None if 0 in features else (1, *features), batch)


def _declared(proto: onnx.ValueInfoProto) -> tuple[int, ...] | None:
    """The sizes that a model gives, 0 for a free one; None for a value of any shape."""
    kind = proto.type.tensor_type
    if not kind.HasField("shape"):
        return None
    return tuple(max(axis.dim_value, 0) if axis.HasField("dim_value") else 0 for axis in kind.shape.dim)


def _fits(sizes: Sequence[int], shape: Sequence[int]) -> bool:
    return all(size in (0, wanted) for size, wanted in zip(sizes, shape, strict=True))


def _check_type(proto: onnx.ValueInfoProto, nodes: Sequence[onnx.NodeProto]) -> None:
    """Floats, and whole numbers that are made floats before anything is computed: those may lie between whole numbers here."""
    kind = proto.type.tensor_type.elem_type
    if kind in FLOAT_TYPES or (type_name(proto) in _WHOLE_TYPES and _becomes_float(proto.name, nodes)):
        return
    raise NetworkError(
        f"The input '{proto.name}' of the ONNX model has type {type_name(proto)}; floats are accepted, and whole numbers that the model "
        f"makes floats first. Give it a value if it is a constant: load_network(model, inputs={{'{proto.name}': ...}})."
    )


def type_name(proto: onnx.ValueInfoProto) -> str:
    """The type of a value for messages."""
    if not proto.type.HasField("tensor_type"):
        return str(proto.type.WhichOneof("value") or "nothing").removesuffix("_type")
    kind = proto.type.tensor_type.elem_type
    try:
        return str(onnx.TensorProto.DataType.Name(kind))
    except ValueError:
        return str(kind)


def _becomes_float(name: str, nodes: Sequence[onnx.NodeProto]) -> bool:
    names = {name}
    for node in nodes:
        if names.isdisjoint(node.input):
            continue
        if node.op_type in _REARRANGED and node.input[0] in names:
            names.update(node.output)
        elif node.op_type not in _TAKES_NUMBERS and not _casts_to_float(node):
            return False
    return True


def _casts_to_float(node: onnx.NodeProto) -> bool:
    return bool(node.op_type == "Cast") and any(item.name == "to" and item.i in FLOAT_TYPES for item in node.attribute)


# Constants.


def _read_fixed(proto: onnx.ValueInfoProto, value: Any) -> Input:
    """A value is given with or without the batch axis; one number stands for all of them."""
    array, sizes = _convert(proto, value), _declared(proto)
    if sizes is None:
        return Input(proto.name, array.shape, None, array)
    if array.ndim == len(sizes) - 1 and _fits(sizes[1:], array.shape):
        array = array[None]
    elif array.ndim == 0:
        array = np.broadcast_to(array, _for_one_point(sizes))
    has_batch = array.shape[:1] == (1,) == _for_one_point(sizes)[:1]
    if array.ndim != len(sizes) or not _fits((1, *sizes[1:]) if has_batch else sizes, array.shape):
        raise InputError(
            f"load_network: the value of the input '{proto.name}' has shape {np.shape(value)}; the ONNX model takes {sizes} (0 is free)."
        )
    return Input(proto.name, array.shape, sizes[0] if has_batch and sizes[0] != 1 else None, array)


def _for_one_point(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The smallest shape that fits."""
    shape = tuple(size or 1 for size in sizes)
    return shape if len(sizes) <= 1 else (1, *shape[1:])


def _convert(proto: onnx.ValueInfoProto, value: Any) -> Array:
    kind = proto.type.tensor_type.elem_type
    try:
        if kind == onnx.TensorProto.STRING:
            return np.asarray(value, dtype=np.str_)
        dtype = np.float64 if kind in FLOAT_TYPES else helper.tensor_dtype_to_np_dtype(kind)
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or (dtype != np.float64 and (array.astype(dtype) != array).any()):
            raise TypeError
        return array.astype(dtype)
    except (KeyError, OverflowError, TypeError, ValueError):
        raise InputError(
            f"load_network: the value of the input '{proto.name}' is not accepted: numbers of type {type_name(proto)} are expected, "
            f"received {show(value)}."
        ) from None
