"""Operations on constants alone are evaluated by onnx's own reference implementation, unless what comes out is out of all proportion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from dcembed.arrays import Array
from dcembed.network.growth import Growth

# Operations that are evaluated when all their inputs are constants. Random ones are not among them.
_NAMES = """
    Abs Add Cast Ceil Concat ConstantOfShape Div Equal Exp Expand Flatten Floor Gather Gemm Identity Log MatMul Max Min Mul Neg Pow Range
    Reciprocal ReduceMean ReduceProd ReduceSum Relu Reshape Shape Size Slice Sqrt Squeeze Sub Sum Tile Transpose Unsqueeze Where
"""
FOLDED = frozenset(_NAMES.split())


def fold(node: onnx.NodeProto, inputs: Sequence[Any], versions: dict[str, int], growth: Growth) -> Array:
    """The value of a node whose inputs are constants."""
    arrays = [np.asarray(value) for value in inputs if value is not None]
    growth.check(SIZES.get(node.op_type, _broadcast)(arrays), f"A constant made by {node.op_type}")
    names = {name: value for name, value in zip(node.input, inputs, strict=True) if name}
    types = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), None) for name, value in names.items()]
    outputs = [helper.make_tensor_value_info(node.output[0], onnx.TensorProto.UNDEFINED, None)]
    model = helper.make_model(
        helper.make_graph([node], "fold", types, outputs),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in versions.items()],
    )
    return np.asarray(ReferenceEvaluator(model).run([node.output[0]], names)[0])


# How many entries come out, before they do.


def _broadcast(arrays: list[Array]) -> int:
    """Of all operations that go entry by entry; those on one array give no more than it has."""
    sizes = [list(array.shape) for array in arrays]
    longest = max((len(shape) for shape in sizes), default=0)
    padded = [[1] * (longest - len(shape)) + shape for shape in sizes]
    return math.prod(max(column) for column in zip(*padded, strict=True))


def _no_more(arrays: list[Array]) -> int:
    return sum(array.size for array in arrays)


def _from_shape(arrays: list[Array]) -> int:
    return math.prod(int(size) for size in arrays[0].reshape(-1))


def _expand(arrays: list[Array]) -> int:
    return _from_shape([arrays[1]]) * arrays[0].size


def _range(arrays: list[Array]) -> int:
    first, limit, step = (float(array.reshape(-1)[0]) for array in arrays)
    length = (limit - first) / step if step else 0.0
    return math.ceil(max(length, 0.0)) if math.isfinite(length) else 10**18


def _product(arrays: list[Array]) -> int:
    """At most: matrices of one row and one column give the most."""
    left, right = arrays[:2]
    shared = max(left.shape[-1] if left.ndim else 1, 1)
    return (left.size // shared) * (right.size // min(shared, max(right.size, 1))) + sum(array.size for array in arrays[2:])


def _gather(arrays: list[Array]) -> int:
    return arrays[1].size * max(arrays[0].size // max(min(arrays[0].shape, default=1), 1), 1)


SIZES: dict[str, Callable[[list[Array]], int]] = {
    "Concat": _no_more,
    "ConstantOfShape": _from_shape,
    "Expand": _expand,
    "Flatten": _no_more,
    "Gather": _gather,
    "Gemm": _product,
    "MatMul": _product,
    "Range": _range,
    "ReduceMean": _no_more,
    "ReduceProd": _no_more,
    "ReduceSum": _no_more,
    "Reshape": _no_more,
    "Slice": _no_more,
    "Squeeze": _no_more,
    "Tile": _expand,
    "Unsqueeze": _no_more,
}
