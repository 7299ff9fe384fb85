"""A copy of an ONNX graph in double precision, so that the comparison with it is sharp.

Weights become arrays of their own: they are given to whoever evaluates the graph, and no copy of them is kept in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import onnx
from onnx import helper, numpy_helper

from dcembed.arrays import Array
from dcembed.errors import NetworkError
from dcembed.importers.onnx_.files import node_tensors, to_array
from dcembed.importers.onnx_.graph import all_nodes, subgraphs
from dcembed.network.growth import Growth, growth_of

FLOAT_TYPES = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
# Where a tensor has its numbers if not in bytes.
_LISTS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
# Attributes that name the type of a result.
_TYPES = ("to", "dtype", "output_dtype")


def node_in_double(node: onnx.NodeProto) -> onnx.NodeProto:
    """A copy of a node in which all floating-point numbers are doubles."""
    double = onnx.NodeProto()
    double.CopyFrom(node)
    for tensor in node_tensors([double]):
        if tensor.data_type in FLOAT_TYPES:
            tensor.CopyFrom(numpy_helper.from_array(to_array(tensor).astype(np.float64), tensor.name))
    for inner in all_nodes([double]):
        inner.domain = "" if inner.domain == "ai.onnx" else inner.domain
        _convert_attributes(inner)
        for graph in subgraphs(inner):
            _convert_types(graph)
    return double


def _convert_attributes(node: onnx.NodeProto) -> None:
    for attribute in node.attribute:
        if attribute.name == "to" and attribute.type == onnx.AttributeProto.STRING:
            # Before opset 6 types are names.
            attribute.CopyFrom(helper.make_attribute("to", onnx.TensorProto.DataType.Value(attribute.s.decode())))
        if attribute.name in _TYPES and attribute.i in FLOAT_TYPES:
            attribute.i = onnx.TensorProto.DOUBLE
        elif node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
            number = np.array(helper.get_attribute_value(attribute), dtype=np.float64)
            attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(number)))
        elif node.op_type == "Constant" and attribute.name == "sparse_value":
            dense = to_dense(attribute.sparse_tensor, growth_of(len(attribute.sparse_tensor.values.raw_data)))
            attribute.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(dense)))
    if node.op_type == "ConstantOfShape" and not node.attribute:
        node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))
    _drop_old_attributes(node)


def _drop_old_attributes(node: onnx.NodeProto) -> None:
    """What the first opsets wrote and means nothing for the value."""
    kept = [item for item in node.attribute if item.name != "consumed_inputs" and (node.op_type, item.name) != ("Gemm", "broadcast")]
    if node.op_type == "Concat" and not any(item.name == "axis" for item in kept):
        kept.append(helper.make_attribute("axis", 1))
    if len(kept) != len(node.attribute):
        copies = [onnx.AttributeProto() for _ in kept]
        for copy, item in zip(copies, kept, strict=True):
            copy.CopyFrom(item)
        del node.attribute[:]
        node.attribute.extend(copies)


def _convert_types(graph: onnx.GraphProto) -> None:
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type in FLOAT_TYPES:
            value.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE


def read_weights(graph: onnx.GraphProto, needed: set[str], growth: Growth) -> dict[str, Array]:
    """The initializers that are needed, floats in double precision."""
    weights = {tensor.name: _as_double(to_array(tensor)) for tensor in graph.initializer if tensor.name in needed}
    sparse = {tensor.values.name: tensor for tensor in graph.sparse_initializer if tensor.values.name in needed}
    return weights | {name: _as_double(to_dense(tensor, growth)) for name, tensor in sparse.items()}


def _as_double(array: Array) -> Array:
    """Floats as float64, the types that numpy does not know included; other types stay as they are."""
    is_float = array.dtype.kind == "f" or array.dtype.name in ("bfloat16", "float16")
    return array.astype(np.float64) if is_float else array


def to_dense(sparse: onnx.SparseTensorProto, growth: Growth) -> Array:
    """A sparse tensor with its zeros."""
    shape = tuple(sparse.dims)
    name = sparse.values.name
    if min(shape, default=0) < 0:
        raise NetworkError(f"The sparse tensor '{name}' of the ONNX model has shape {shape}. Export the model again.")
    growth.check(math.prod(shape), f"The sparse tensor '{name}'")
    values, places = to_array(sparse.values), to_array(sparse.indices)
    dense = np.zeros(math.prod(shape), dtype=values.dtype)
    try:
        flat = places if places.ndim == 1 else np.ravel_multi_index(tuple(places.T), shape)
        if flat.size and flat.min() < 0:
            raise IndexError("negative places")
        dense[flat] = values
    except (IndexError, ValueError) as error:
        raise NetworkError(f"The sparse tensor '{name}' of the ONNX model is damaged: {error}. Export the model again.") from error
    return dense.reshape(shape)


def count_numbers(graph: onnx.GraphProto, nodes: Iterable[onnx.NodeProto]) -> int:
    """Numbers that the weights in a file are made of; a tensor that claims more than its bytes hold counts as what it holds."""
    tensors = [*graph.initializer, *(tensor.values for tensor in graph.sparse_initializer), *node_tensors(list(nodes))]
    return sum(_count(tensor) for tensor in tensors)


def _count(tensor: onnx.TensorProto) -> int:
    claimed = math.prod(max(size, 0) for size in tensor.dims)
    held = len(tensor.raw_data) + sum(len(getattr(tensor, name)) for name in _LISTS)
    return int(min(claimed, held))
