"""Operations on constants alone are evaluated by onnx's own reference implementation, unless what comes out is out of all proportion."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from dcembed.arrays import Array
from dcembed.importers.onnx_.evaluation import make_evaluator
from dcembed.importers.operations import Unsupported
from dcembed.network.growth import Growth

# What comes out of these is not the same twice, or is the business of the walk: subgraphs, sequences, and what is left out at inference.
NOT_FOLDED = frozenset(
    [
        "Bernoulli",
        "ConcatFromSequence",
        "Dropout",
        "If",
        "Loop",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "Scan",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceInsert",
        "SequenceMap",
        "SplitToSequence",
    ]
)
FOLDED_DOMAINS = ("", "ai.onnx.ml")
# Constants of more entries than this are no shapes, and are not shown to onnx when it is asked how large a result becomes.
MOST_SHOWN = 1_000


def is_folded(node: onnx.NodeProto, inputs: Sequence[Any]) -> bool:
    """Whether a node is a constant by itself."""
    constant = all(value is None or isinstance(value, np.ndarray | np.generic) for value in inputs)
    return constant and node.domain in FOLDED_DOMAINS and node.op_type not in NOT_FOLDED


def fold(node: onnx.NodeProto, inputs: Sequence[Any], opsets: Mapping[str, int], growth: Growth) -> tuple[Array, ...]:
    """The values of a node whose inputs are constants."""
    named = {name: np.asarray(value) for name, value in zip(node.input, inputs, strict=True) if name}
    growth.check(_count(node, named, opsets), f"A constant made by {node.op_type}")
    outputs = [name for name in node.output if name]
    values = dict(zip(outputs, make_evaluator([node], outputs, opsets).run(outputs, named), strict=True))
    return tuple(np.asarray(values[name]) if name else np.zeros(0) for name in node.output)


# How many entries come out, before they do.


def _count(node: onnx.NodeProto, named: dict[str, Array], opsets: Mapping[str, int]) -> int:
    arrays = list(named.values())
    if node.op_type in COUNTS:
        return COUNTS[node.op_type](node, arrays)
    return _infer(node, named, opsets)


def _infer(node: onnx.NodeProto, named: dict[str, Array], opsets: Mapping[str, int]) -> int:
    """What onnx says."""
    version = opsets.get(node.domain, 1)
    imports = [helper.make_opsetid(domain, number) for domain, number in opsets.items()]
    try:
        schema = onnx.defs.get_schema(node.op_type, version, node.domain)
        # Not every operator is defined for doubles.
        types = {name: helper.make_tensor_type_proto(_type(array), array.shape) for name, array in named.items()}
        shown = {name: numpy_helper.from_array(_single(array), name) for name, array in named.items() if array.size <= MOST_SHOWN}
        results = onnx.shape_inference.infer_node_outputs(schema, node, types, shown, opset_imports=imports)
    except Exception as error:
        # Whatever it stumbles over: sizes that do not fit, a name that it does not know.
        raise Unsupported(f"is a constant that cannot be evaluated: {' '.join(str(error).split())}") from error
    shapes = [results[name].tensor_type for name in node.output if name in results]
    if not shapes or not all(kind.HasField("shape") and all(axis.HasField("dim_value") for axis in kind.shape.dim) for kind in shapes):
        raise Unsupported("is a constant that is not evaluated: how large it becomes is not known before it is. Export its value")
    return sum(math.prod(axis.dim_value for axis in kind.shape.dim) for kind in shapes)


def _type(array: Array) -> int:
    return int(onnx.TensorProto.FLOAT if array.dtype == np.float64 else helper.np_dtype_to_tensor_dtype(array.dtype))


def _single(array: Array) -> Array:
    return array.astype(np.float32) if array.dtype == np.float64 else array


Count = Callable[[onnx.NodeProto, list[Array]], int]


def _no_more(node: onnx.NodeProto, arrays: list[Array]) -> int:
    return sum(array.size for array in arrays)


def _per_axis(node: onnx.NodeProto, arrays: list[Array]) -> int:
    """A place for every entry."""
    return max(arrays[0].ndim, 1) * arrays[0].size


def _einsum(node: onnx.NodeProto, arrays: list[Array]) -> int:
    """All combinations of all indices, since that is also what it takes."""
    equation = next((item.s.decode() for item in node.attribute if item.name == "equation"), "").replace(" ", "")
    terms = equation.partition("->")[0].split(",")
    sizes = {letter: size for term, array in zip(terms, arrays, strict=False) for letter, size in zip(term, array.shape, strict=False)}
    return 10**18 if "..." in equation else math.prod(sizes.values())


def _windows(node: onnx.NodeProto, arrays: list[Array]) -> int:
    """Entries of all windows, at most: one window per entry, padding included."""
    pads = [sum(item.ints) for item in node.attribute if item.name == "pads"]
    kernel = [math.prod(max(size, 1) for size in item.ints) for item in node.attribute if item.name == "kernel_shape"]
    taps = arrays[1].size if len(arrays) > 1 else math.prod(kernel)
    return int(math.prod(size + max(sum(pads), 0) for size in arrays[0].shape) * taps)


def _resized(node: onnx.NodeProto, arrays: list[Array]) -> int:
    """By sizes or by factors, which are the last input or an attribute."""
    factors = [list(item.floats) for item in node.attribute if item.name == "scales"] or [arrays[-1].reshape(-1).tolist()]
    size = math.prod(max(number, 0.0) for number in map(float, factors[0]))
    whole = arrays[-1].dtype.kind in "iu" and len(arrays) > 1
    # More than all memory, so that no product overflows.
    return int(min(size if whole else size * arrays[0].size, 1e18)) if math.isfinite(size) else 10**18


def _range(node: onnx.NodeProto, arrays: list[Array]) -> int:
    first, limit, step = (float(array.reshape(-1)[0]) for array in arrays)
    length = (limit - first) / step if step else 0.0
    return math.ceil(max(length, 0.0)) if math.isfinite(length) else 10**18


def _categories(node: onnx.NodeProto, arrays: list[Array]) -> int:
    return arrays[0].size * max([1, *(len(item.ints) + len(item.strings) for item in node.attribute)])


# Where onnx does not say, or says less than what it takes.
COUNTS: dict[str, Count] = {
    "ArrayFeatureExtractor": lambda node, arrays: arrays[0].size * arrays[1].size,
    "AveragePool": _windows,
    "Binarizer": _no_more,
    "Compress": _no_more,
    "Conv": _windows,
    "ConvTranspose": lambda node, arrays: 10**18,
    "Einsum": _einsum,
    "FeatureVectorizer": _no_more,
    "Imputer": _no_more,
    "LabelEncoder": _no_more,
    "LpPool": _windows,
    "MaxPool": _windows,
    "NonZero": _per_axis,
    "Normalizer": _no_more,
    "OneHot": lambda node, arrays: arrays[0].size * max(int(arrays[1].reshape(-1)[0]), 0),
    "OneHotEncoder": _categories,
    "Range": _range,
    "Resize": _resized,
    "Scaler": _no_more,
    "Unique": lambda node, arrays: 4 * arrays[0].size,
    "Upsample": _resized,
}
