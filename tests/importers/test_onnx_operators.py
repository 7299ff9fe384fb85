"""Every operator of ONNX that can be embedded, in its variants, against onnx's reference implementation and onnxruntime."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, numpy_helper  # noqa: E402

from dcembed.errors import NetworkError  # noqa: E402
from dcembed.importers import load_network, save_network  # noqa: E402
from dcembed.importers.onnx_.operators import OPERATORS  # noqa: E402
from dcembed.importers.onnx_.operators.refused import REFUSED  # noqa: E402

from .onnx_models import ML, assert_same, draw, make, node  # noqa: E402

RNG = np.random.default_rng(0)
GRID = ("batch", 4, 5, 6)
ROW = ("batch", 3)
TABLE = ("batch", 3, 4)
C = {
    "W": RNG.normal(size=(4, 3)),
    "V": RNG.normal(size=(3, 4)),
    "b": RNG.normal(size=4),
    "row": RNG.normal(size=(1, 4)),
    "p": np.array([0.5, 1.0, 2.0]),
    "q": np.array([0.5, 1.0, 2.0, 0.25]),
    "low": np.array(-0.4),
    "high": np.array(0.6),
    "one": np.array(1.0),
    "two": np.array(2.0),
    "three": np.array(3.0),
    "half": np.array(0.5),
    "flat": np.array([0, -1]),
    "grid": np.array([0, 2, 2]),
    "a0": np.array([0]),
    "a1": np.array([1]),
    "a2": np.array([2]),
    "a12": np.array([1, 2]),
    "i0": np.array(0),
    "i1": np.array(1),
    "i20": np.array([2, 0]),
    "mask": np.array([True, False, True]),
    "kernel": RNG.normal(size=(6, 4, 3, 2)),
    "kernel1": RNG.normal(size=(5, 3, 2)),
    "grouped": RNG.normal(size=(6, 2, 3, 3)),
    "spread": RNG.normal(size=(4, 3, 3, 2)),
    "spread2": RNG.normal(size=(4, 3, 2, 2)),
    "shift6": RNG.normal(size=6),
    "shift3": RNG.normal(size=3),
    "shift5": RNG.normal(size=5),
    "gamma": RNG.normal(size=4),
    "beta": RNG.normal(size=4),
    "mean": RNG.normal(size=4),
    "variance": RNG.uniform(0.5, 2.0, size=4),
    "matrices": RNG.normal(size=(3, 4, 2)),
    "left": RNG.normal(size=(2, 3)),
    "minus": np.array(-1),
}


def used(nodes):
    names = {name for item in nodes for name in item.input}
    return {name: value for name, value in C.items() if name in names}


def case(nodes, shape=ROW, opset=17, **options):
    nodes = nodes if isinstance(nodes, list) else [nodes]
    return partial(make, nodes, shape, opset, used(nodes) | options.pop("constants", {})), options


def positive(*nodes, **options):
    """Behind an exponential, where only positive numbers are defined."""
    return case([node("Exp", "x", "e"), *nodes], **options)


def steps(kind, inputs, gates, outputs="y", one=False, **attributes):
    """A recurrent layer of three inputs and two units over four steps, between transpositions that bring the batch axis to the front."""
    both, layout = attributes.get("direction") == "bidirectional", attributes.get("layout", 0)
    shapes = {"w": (gates * 2, 3), "r": (gates * 2, 2), "b": (gates * 4,), "h": (1, 2)}
    constants = {name: RNG.normal(size=(1 + both, *shape)) for name, shape in shapes.items() if name in inputs.split()}
    names = " ".join("raw" if name == "y" else name for name in outputs.split())
    perm = ([1, 0, 2] if outputs != "y" else [2, 0, 1, 3]) if not layout else [0, 1, 2, 3]
    first = [] if layout else [node("Transpose", "x", "t", perm=[1, 0, 2])]
    layer = node(kind, inputs if layout else inputs.replace("x", "t", 1), names, hidden_size=2, **attributes)
    nodes = [*first, layer, node("Transpose", "raw", perm=perm)]
    shape = (1 if one else "batch", 4, 3)
    # The reference goes forward only and knows few functions, and onnxruntime has no other layout.
    plain = not {"direction", "activations"} & attributes.keys()
    return partial(make, nodes, shape, 17, constants), {"reference": plain, "runtime": not layout}


CASES = {
    # Arithmetic
    "Gemm": case(node("Gemm", "x V")),
    "Gemm all": case(node("Gemm", "x W b", alpha=0.5, beta=2.0, transB=1)),
    "Gemm constant first": case(
        [node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "t V", "m"), node("Relu", "m")], ("batch", 3, 2)
    ),
    "MatMul": case([node("MatMul", "x V", "m"), node("Add", "m b")]),
    "MatMul left": case(node("MatMul", "left x"), TABLE),
    "MatMul batched": case(node("MatMul", "x matrices"), ("batch", 3, 5, 4)),
    "MatMul computed": case([node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "x t")], TABLE),
    "MatMul vector": case(node("MatMul", "x p")),
    "Add": case([node("Relu", "x", "r"), node("Add", "x r")]),
    "Add constant": case(node("Add", "p x")),
    "Sub": case([node("Relu", "x", "r"), node("Sub", "r x", "s"), node("Sub", "p s")]),
    "Mul": case(node("Mul", "p x")),
    "Mul computed": case([node("Gemm", "x W b", "h", transB=1), node("Gemm", "x V", "g"), node("Mul", "h g")]),
    "Div": case(node("Div", "x p")),
    "Div computed": positive(node("Add", "e one", "d"), node("Div", "x d")),
    "Pow square": case(node("Pow", "x two")),
    "Pow cube": case(node("Pow", "x three")),
    "Pow root": positive(node("Pow", "e half")),
    "Neg": case(node("Neg", "x")),
    "Abs": case(node("Abs", "x")),
    "Sum": case([node("Relu", "x", "r"), node("Sum", "x r p")]),
    "Mean": case([node("Relu", "x", "r"), node("Mean", "x r p")]),
    "Max": case([node("Neg", "x", "n"), node("Max", "x n p low half")]),
    "Max alone": case(node("Max", "x")),
    "Min": case([node("Neg", "x", "n"), node("Min", "x n p")]),
    "Einsum": case(node("Einsum", "x V", equation="bi,ij->bj")),
    "Einsum computed": case(node("Einsum", "x x", equation="bij,bkj->bik"), TABLE),
    "Einsum dots": case(node("Einsum", "x V", equation="...i,ij->...j"), ("batch", 2, 3), runtime=True),
    "CumSum": case(node("CumSum", "x i1")),
    "CumSum from the end": case(node("CumSum", "x minus", exclusive=1, reverse=1), TABLE),
    "Where": case([node("Relu", "x", "r"), node("Where", "mask r x")]),
    "Exp": case(node("Exp", "x")),
    "Log": positive(node("Add", "e one", "d"), node("Log", "d")),
    "Sqrt": positive(node("Sqrt", "e")),
    "Reciprocal": positive(node("Reciprocal", "e")),
    # Activations
    "Relu": case(node("Relu", "x")),
    "LeakyRelu": case(node("LeakyRelu", "x", alpha=0.3)),
    "LeakyRelu default": case(node("LeakyRelu", "x"), atol=1e-8),
    "PRelu": case(node("PRelu", "x p")),
    "PRelu channels": case(node("PRelu", "x s"), GRID, constants={"s": RNG.uniform(size=(4, 1, 1))}),
    "Clip": case(node("Clip", "x low high")),
    "Clip above": case(node("Clip", "x _ high")),
    "Clip no limit": case(node("Clip", "x low most"), constants={"most": np.array(np.finfo(np.float32).max)}),
    "Elu": case(node("Elu", "x", alpha=0.5)),
    "Selu": case(node("Selu", "x"), atol=1e-7),
    "Celu": case(node("Celu", "x", alpha=2.0), reference=False),
    "Gelu": case(node("Gelu", "x"), opset=20, atol=1e-6),
    "Gelu tanh": case(node("Gelu", "x", approximate="tanh"), opset=20, atol=1e-6),
    "Softplus": case(node("Softplus", "x")),
    "Softsign": case(node("Softsign", "x")),
    "Sigmoid": case(node("Sigmoid", "x")),
    "Tanh": case(node("Tanh", "x")),
    "HardSigmoid": case(node("HardSigmoid", "x", alpha=0.25, beta=0.5)),
    "HardSwish": case(node("HardSwish", "x"), atol=1e-6),
    "Mish": case(node("Mish", "x"), opset=18),
    "Swish": case(node("Swish", "x", alpha=1.5), opset=24, runtime=False),
    "ThresholdedRelu": case(node("ThresholdedRelu", "x", alpha=0.0)),
    "Shrink": case(node("Shrink", "x", lambd=0.25, bias=0.25)),
    "Erf": case(node("Erf", "x"), atol=1e-6),
    "Sin": case(node("Sin", "x")),
    "Cos": case(node("Cos", "x")),
    "Sinh": case(node("Sinh", "x")),
    "Cosh": case(node("Cosh", "x")),
    "Atan": case(node("Atan", "x")),
    "Identity": case(node("Identity", "x")),
    "Dropout": case(node("Dropout", "x")),
    "Dropout mask": case(node("Dropout", "x half", "y mask")),
    "Cast": case([node("Cast", "x", "d", to=TensorProto.DOUBLE), node("Cast", "d", to=TensorProto.FLOAT)], reference=False),
    "CastLike": case(node("CastLike", "x p")),
    # Entries
    "Flatten": case([node("Relu", "x", "r"), node("Flatten", "r")], GRID),
    "Flatten from behind": case(node("Flatten", "x", axis=-3), GRID),
    "Reshape": case([node("Reshape", "x flat", "f"), node("Relu", "f")], GRID),
    "Squeeze": case([node("Unsqueeze", "x a1", "u"), node("Relu", "u", "r"), node("Squeeze", "r a1")]),
    "Squeeze all": case([node("Unsqueeze", "x a2", "u"), node("Squeeze", "u")]),
    "Unsqueeze": case(node("Unsqueeze", "x a12")),
    "Transpose": case(node("Transpose", "x", perm=[0, 2, 3, 1]), GRID),
    "Concat": case([node("Relu", "x", "r"), node("Concat", "x r row", axis=-1)], (1, 3)),
    "Concat channels": case([node("Relu", "x", "r"), node("Concat", "x r", axis=1)], GRID),
    "Shape": case(
        [
            node("Shape", "x", "s"),
            node("Gather", "s i0", "k"),
            node("Unsqueeze", "k a0", "u"),
            node("Concat", "u minus1", "t", axis=0),
            node("Reshape", "x t"),
        ],
        GRID,
        constants={"minus1": np.array([-1])},
    ),
    "Size": case(
        [node("Size", "p", "s"), node("Cast", "s", "f", to=TensorProto.DOUBLE), node("Add", "x g")],
        constants={"g": np.array(3.0)},
        reference=False,
        runtime=False,
    ),
    "Slice": case(
        node("Slice", "x s e a t"),
        GRID,
        constants={"s": np.array([1, -2]), "e": np.array([100, -100]), "a": np.array([1, -1]), "t": np.array([2, -1])},
    ),
    "Slice default": case(node("Slice", "x s e"), constants={"s": np.array([0, 1]), "e": np.array([2**40, 3])}),
    "Split": case(
        [node("Split", "x s", "a c", axis=1), node("Relu", "a", "r"), node("Concat", "c r", axis=1)], constants={"s": np.array([2, 1])}
    ),
    "Split evenly": case([node("Split", "x", "a c", axis=1), node("Sub", "a c")], GRID),
    "Split in three": case([node("Split", "x", "a c d", axis=2, num_outputs=3), node("Concat", "d c a", axis=2)], GRID, opset=18),
    "Gather": case(node("Gather", "x i20", axis=1), GRID),
    "Gather one": case(node("Gather", "x i1", axis=2), GRID),
    "GatherElements": case(
        [node("Flatten", "x", "f", axis=1), node("GatherElements", "f i", axis=1)], (1, 3), constants={"i": np.array([[2, 0]])}
    ),
    "GatherND": case(
        [node("Transpose", "x", "t", perm=[1, 0]), node("GatherND", "t i", "g"), node("Transpose", "g", perm=[1, 0])],
        constants={"i": np.array([[2], [0], [2]])},
    ),
    "GatherND pairs": case(node("GatherND", "x i", batch_dims=1), (1, 3, 4), constants={"i": np.array([[[2, 0], [0, 3]]])}),
    "ScatterND": case(
        [
            node("Transpose", "x", "t", perm=[1, 0]),
            node("Gather", "t a1", "u"),
            node("ScatterND", "t a00 u", "s"),
            node("Transpose", "s", perm=[1, 0]),
        ],
        constants={"a00": np.array([[0]])},
    ),
    "ScatterElements": case(node("ScatterElements", "x i v", axis=1), (1, 3), constants={"i": np.array([[1]]), "v": np.array([[5.0]])}),
    "ScatterElements add": case(
        node("ScatterElements", "x i v", axis=1, reduction="add"),
        (1, 3),
        opset=18,
        constants={"i": np.array([[1, 1]]), "v": np.array([[5.0, 2.0]])},
    ),
    "Scatter": case(
        node("Scatter", "x i v", axis=1), (1, 3), opset=9, constants={"i": np.array([[1]]), "v": np.array([[5.0]])}, reference=False
    ),
    "Expand": case([node("Unsqueeze", "x a1", "u"), node("Expand", "u s")], constants={"s": np.array([1, 2, 1])}),
    "Tile": case(node("Tile", "x t"), constants={"t": np.array([1, 3])}),
    "Trilu": case(node("Trilu", "x i1", upper=0), TABLE),
    "Trilu upper": case(node("Trilu", "x"), TABLE),
    "EyeLike": case(
        [
            node("Gather", "x i0", "s", axis=1),
            node("Transpose", "V", "VT"),
            node("EyeLike", "VT", "e"),
            node("MatMul", "x e3", "m"),
            node("Add", "m x"),
        ],
        constants={"e3": np.eye(3)},
        runtime=False,
    ),
    "DepthToSpace": case(node("DepthToSpace", "x", blocksize=2), ("batch", 8, 2, 3)),
    "DepthToSpace CRD": case(node("DepthToSpace", "x", blocksize=2, mode="CRD"), ("batch", 8, 2, 3)),
    "SpaceToDepth": case(node("SpaceToDepth", "x", blocksize=2), ("batch", 2, 4, 6)),
    # Places
    "Conv": case(node("Conv", "x kernel shift6"), GRID),
    "Conv stride and padding": case(node("Conv", "x kernel", strides=[2, 1], pads=[1, 0, 2, 1]), GRID),
    "Conv dilation": case(node("Conv", "x kernel", dilations=[2, 3], kernel_shape=[3, 2]), GRID),
    "Conv groups": case(node("Conv", "x grouped shift6", group=2, pads=[1, 1, 1, 1]), GRID),
    "Conv same upper": case(node("Conv", "x kernel", auto_pad="SAME_UPPER", strides=[2, 2]), GRID),
    "Conv same lower": case(node("Conv", "x kernel", auto_pad="SAME_LOWER", strides=[2, 1]), GRID),
    "Conv valid": case(node("Conv", "x kernel", auto_pad="VALID"), GRID),
    "Conv 1d": case(node("Conv", "x kernel1 shift5", strides=[2]), ("batch", 3, 7)),
    "Conv 3d": case(node("Conv", "x k"), ("batch", 2, 3, 4, 3), constants={"k": RNG.normal(size=(2, 2, 2, 2, 2))}),
    "ConvTranspose": case(node("ConvTranspose", "x spread shift3", strides=[2, 3]), GRID),
    "ConvTranspose padding": case(node("ConvTranspose", "x spread", strides=[2, 2], pads=[1, 0, 1, 1], output_padding=[1, 0]), GRID),
    "ConvTranspose dilation": case(node("ConvTranspose", "x spread", dilations=[2, 2]), GRID),
    "ConvTranspose groups": case(
        node("ConvTranspose", "x spread2 s", group=2, strides=[2, 2]), GRID, constants={"s": RNG.normal(size=6)}, reference=False
    ),
    "ConvTranspose output shape": case(node("ConvTranspose", "x spread", strides=[2, 2], output_shape=[10, 12]), GRID, reference=False),
    "ConvTranspose same upper": case(node("ConvTranspose", "x spread", strides=[2, 2], auto_pad="SAME_UPPER"), GRID, reference=False),
    "ConvTranspose output shape beyond reach": case(
        node("ConvTranspose", "x spread", strides=[2, 2], output_shape=[12, 12], auto_pad="SAME_UPPER"), GRID, reference=False
    ),
    "ConvTranspose 1d": case(node("ConvTranspose", "x k"), ("batch", 2, 4), constants={"k": RNG.normal(size=(2, 3, 2))}),
    "MaxPool": case(node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2]), GRID),
    "MaxPool padding": case(node("MaxPool", "x", kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[1, 2]), GRID),
    "MaxPool dilation": case(node("MaxPool", "x", kernel_shape=[2, 2], dilations=[2, 3]), GRID),
    "MaxPool ceil": case(node("MaxPool", "x", kernel_shape=[2, 2], strides=[3, 4], ceil_mode=1), GRID),
    "MaxPool same": case(node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"), GRID),
    "MaxPool same lower": case(node("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_LOWER"), GRID, reference=False),
    "MaxPool 1d": case(node("MaxPool", "x", kernel_shape=[3]), ("batch", 2, 7)),
    "MaxPool 3d": case(node("MaxPool", "x", kernel_shape=[2, 2, 2], strides=[1, 2, 1]), ("batch", 1, 3, 4, 3)),
    "AveragePool": case(node("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2]), GRID),
    "AveragePool padding": case(node("AveragePool", "x", kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[1, 2]), GRID),
    "AveragePool padding counts": case(node("AveragePool", "x", kernel_shape=[3, 2], pads=[1, 0, 1, 1], count_include_pad=1), GRID),
    "AveragePool ceil": case(node("AveragePool", "x", kernel_shape=[2, 2], strides=[3, 4], ceil_mode=1), GRID, reference=False),
    "AveragePool ceil counts": case(
        node("AveragePool", "x", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1, count_include_pad=1),
        GRID,
        opset=19,
        reference=False,
    ),
    "AveragePool same": case(node("AveragePool", "x", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"), GRID),
    "AveragePool dilation": case(node("AveragePool", "x", kernel_shape=[2, 2], dilations=[2, 1]), GRID, opset=19, reference=False),
    "LpPool": case(node("LpPool", "x", kernel_shape=[2, 2], strides=[2, 2], p=2), GRID, atol=1e-6),
    "GlobalAveragePool": case(node("GlobalAveragePool", "x"), GRID),
    "GlobalMaxPool": case(node("GlobalMaxPool", "x"), GRID),
    "GlobalLpPool": case(node("GlobalLpPool", "x", p=2), GRID, reference=False),
    "Pad": case(node("Pad", "x w c"), ("batch", 2, 3), constants={"w": np.array([0, 1, 0, 0, 0, 2]), "c": np.array(1.5)}),
    "Pad axes": case(
        node("Pad", "x w _ a", mode="reflect"), ("batch", 2, 3), opset=18, constants={"w": np.array([1, 2]), "a": np.array([-1])}
    ),
    "Pad edge": case(node("Pad", "x w", mode="edge"), ("batch", 2, 3), constants={"w": np.array([0, 1, 0, 0, 0, 2])}),
    "Pad wrap": case(node("Pad", "x w", mode="wrap"), ("batch", 2, 3), opset=19, constants={"w": np.array([0, 0, 1, 0, 0, 2])}),
    "Pad crop": case(node("Pad", "x w"), ("batch", 2, 3), constants={"w": np.array([0, 0, -1, 0, 0, 0])}, reference=False),
    "Resize nearest": case(node("Resize", "x _ s"), GRID, constants={"s": np.array([1.0, 1.0, 2.0, 1.5])}),
    "Resize asymmetric": case(
        node("Resize", "x _ s", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        GRID,
        constants={"s": np.array([1.0, 1.0, 2.0, 2.0])},
    ),
    "Resize linear": case(node("Resize", "x _ s", mode="linear"), GRID, constants={"s": np.array([1.0, 1.0, 2.0, 1.5])}),
    "Resize linear corners": case(
        node("Resize", "x _ _ s", mode="linear", coordinate_transformation_mode="align_corners"),
        (1, 4, 5, 6),
        constants={"s": np.array([1, 4, 9, 7])},
    ),
    "Resize pytorch": case(
        node("Resize", "x _ s", mode="linear", coordinate_transformation_mode="pytorch_half_pixel"),
        GRID,
        constants={"s": np.array([1.0, 1.0, 0.5, 0.4])},
    ),
    "Resize cubic": case(node("Resize", "x _ s", mode="cubic", cubic_coeff_a=-0.5), GRID, constants={"s": np.array([1.0, 1.0, 2.0, 2.0])}),
    "Resize axes": case(node("Resize", "x _ s", axes=[2, 3], mode="linear"), GRID, opset=18, constants={"s": np.array([2.0, 2.0])}),
    "Upsample": case(node("Upsample", "x s"), GRID, opset=9, constants={"s": np.array([1.0, 1.0, 2.0, 3.0])}),
    "Upsample linear": case(
        node("Upsample", "x s", mode="linear"), GRID, opset=9, constants={"s": np.array([1.0, 1.0, 2.0, 3.0])}, reference=False
    ),
    # Normalization
    "BatchNormalization": case(node("BatchNormalization", "x gamma beta mean variance", epsilon=0.125), GRID),
    "BatchNormalization rows": case(node("BatchNormalization", "x p p p p", epsilon=0.125)),
    "InstanceNormalization": case(node("InstanceNormalization", "x gamma beta", epsilon=0.125), GRID),
    "LayerNormalization": case(
        node("LayerNormalization", "x g h", axis=-1, epsilon=0.125), GRID, constants={"g": RNG.normal(size=6), "h": RNG.normal(size=6)}
    ),
    "LayerNormalization axes": case(node("LayerNormalization", "x g", axis=2), GRID, constants={"g": RNG.normal(size=(5, 6))}, atol=1e-8),
    "GroupNormalization": case(
        node("GroupNormalization", "x g h", num_groups=2, epsilon=0.125),
        GRID,
        opset=18,
        constants={"g": np.array([1.0, 2.0]), "h": np.array([0.5, -1.0])},
        reference=False,
    ),
    "GroupNormalization channels": case(node("GroupNormalization", "x gamma beta", num_groups=2, epsilon=0.125), GRID, opset=21, atol=1e-5),
    "RMSNormalization": case(
        node("RMSNormalization", "x g", epsilon=0.125), GRID, opset=23, constants={"g": RNG.normal(size=6)}, runtime=False
    ),
    "LRN": case(node("LRN", "x", size=3, alpha=0.5, beta=0.75, bias=1.5), GRID, reference=False),
    "LRN even": case(node("LRN", "x", size=2, alpha=0.5, beta=0.5, bias=1.0), GRID, reference=False, runtime=False),
    "LpNormalization": positive(node("LpNormalization", "e", axis=1, p=1), opset=22),
    "Softmax": case(node("Softmax", "x")),
    "Softmax two": case(node("Softmax", "x", axis=1), ("batch", 2)),
    "Softmax inside": case([node("Softmax", "x", "s", axis=1), node("Mul", "s x")], GRID),
    "LogSoftmax": case(node("LogSoftmax", "x", axis=-1), TABLE),
    # Reductions
    "ReduceSum": case(node("ReduceSum", "x a12"), GRID),
    "ReduceSum noop": case([node("ReduceSum", "x _", "s", noop_with_empty_axes=1), node("Relu", "s")]),
    "ReduceMean": case(node("ReduceMean", "x", axes=[2, 3], keepdims=0), GRID),
    "ReduceMean input": case(node("ReduceMean", "x a2"), GRID, opset=18),
    "ReduceMax": case(node("ReduceMax", "x", axes=[-1]), GRID),
    "ReduceMin": case(node("ReduceMin", "x", axes=[1], keepdims=0), GRID),
    "ReduceProd": case(node("ReduceProd", "x", axes=[1])),
    "ReduceL1": case(node("ReduceL1", "x", axes=[1]), GRID),
    "ReduceL2": case(node("ReduceL2", "x", axes=[1]), atol=1e-7),
    "ReduceSumSquare": case(node("ReduceSumSquare", "x", axes=[1]), GRID),
    "ReduceLogSum": positive(node("ReduceLogSum", "e", axes=[1])),
    "ReduceLogSumExp": case(node("ReduceLogSumExp", "x", axes=[1]), GRID),
    # Tables
    "Scaler": case(node("Scaler", "x", domain=ML, offset=[0.5, 1.0, -1.0], scale=[2.0, 0.25, 1.0])),
    "Scaler one": case(node("Scaler", "x", domain=ML, offset=[0.5], scale=[2.0])),
    "Normalizer": positive(node("Normalizer", "e", domain=ML, norm="L1"), runtime=False),
    "LinearRegressor": case(
        node("LinearRegressor", "x", domain=ML, coefficients=[1.0, 2.0, 3.0, -1.0, 0.5, 0.25], intercepts=[0.5, 1.0], targets=2)
    ),
    "LinearRegressor without": case(node("LinearRegressor", "x", domain=ML, coefficients=[1.0, 2.0, 3.0]), reference=False),
    "FeatureVectorizer": case([node("Relu", "x", "r"), node("FeatureVectorizer", "x r", domain=ML, inputdimensions=[3, 3])], runtime=False),
    "ArrayFeatureExtractor": case(node("ArrayFeatureExtractor", "x i20", domain=ML)),
    "Imputer": case(
        node("Imputer", "x", domain=ML, imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan")), runtime=False
    ),
    "LinearClassifier": case(
        node(
            "LinearClassifier",
            "x",
            "label y",
            domain=ML,
            coefficients=[1.0, 2.0, 3.0, -1.0, 0.5, 0.25],
            intercepts=[0.5, 1.0],
            classlabels_ints=[0, 1],
            post_transform="SOFTMAX",
        ),
        atol=1e-6,
    ),
    "LinearClassifier two": case(
        node(
            "LinearClassifier",
            "x",
            "label y",
            domain=ML,
            coefficients=[1.0, 2.0, 3.0],
            intercepts=[0.5],
            classlabels_ints=[0, 1],
            post_transform="LOGISTIC",
        ),
        atol=1e-6,
        runtime=False,
    ),
    "LinearClassifier scores": case(
        node("LinearClassifier", "x", "label y", domain=ML, coefficients=[1.0, 2.0, 3.0], intercepts=[0.5], classlabels_strings=["a", "b"]),
        atol=1e-5,
        runtime=False,
    ),
    # Comparisons that do not jump
    "Greater": case([node("Neg", "x", "n"), node("Greater", "x n", "g"), node("Where", "g x n")]),
    "Less": case([node("Mul", "x half", "h"), node("Less", "x zero", "g"), node("Where", "g h x")], constants={"zero": np.array(0.0)}),
    "GreaterOrEqual": case([node("GreaterOrEqual", "x low", "g"), node("Where", "g x low")]),
    "LessOrEqual": case([node("LessOrEqual", "x low", "g"), node("Not", "g", "n"), node("Where", "n x low")]),
    "mask": case(
        [
            node("Greater", "x zero", "g"),
            node("Cast", "g", "m", to=TensorProto.FLOAT),
            node("Cast", "m", "k", to=TensorProto.FLOAT),
            node("Cast", "x", "f", to=TensorProto.FLOAT),
            node("Mul", "k f"),
        ],
        constants={"zero": np.array(0.0)},
        reference=False,
        runtime=False,
    ),
    "Sign": case([node("Mul", "x x", "s"), node("Sign", "s", "g"), node("Mul", "s g")]),
    # Sequences
    "Sequence": case(
        [
            node("Relu", "x", "r"),
            node("SequenceConstruct", "x r", "s"),
            node("SequenceAt", "s i1", "a"),
            node("SequenceInsert", "s a", "t"),
            node("ConcatFromSequence", "t", axis=1),
        ],
        runtime=False,
    ),
    "SplitToSequence": case(
        [
            node("SplitToSequence", "x i1", "s", axis=1),
            node("SequenceAt", "s i0", "a"),
            node("SequenceAt", "s minus", "c"),
            node("Sub", "a c"),
        ],
        runtime=False,
    ),
    "SequenceEmpty": case(
        [
            node("SequenceEmpty", "", "e", dtype=TensorProto.FLOAT),
            node("SequenceInsert", "e x", "s"),
            node("ConcatFromSequence", "s", axis=0),
        ],
        runtime=False,
    ),
    # Steps
    "RNN": steps("RNN", "x w r b", 1),
    "RNN relu": steps("RNN", "x w r", 1, activations=["Relu"]),
    "RNN state": steps("RNN", "x w r b", 1, "all y"),
    "LSTM": steps("LSTM", "x w r b", 4),
    "LSTM states": steps("LSTM", "x w r b", 4, "all last y"),
    "LSTM started": steps("LSTM", "x w r b _ h h", 4, one=True),
    "LSTM both": steps("LSTM", "x w r b", 4, direction="bidirectional"),
    "LSTM reverse": steps("LSTM", "x w r b", 4, direction="reverse"),
    "LSTM layout": steps("LSTM", "x w r b", 4, layout=1),
    "GRU": steps("GRU", "x w r b", 3),
    "GRU reset after": steps("GRU", "x w r b", 3, linear_before_reset=1),
    "GRU both": steps("GRU", "x w r b", 3, direction="bidirectional"),
    "TopK": case(node("TopK", "x two2", "y places", axis=1), ("batch", 5), constants={"two2": np.array([2])}),
    "TopK smallest": case(node("TopK", "x two2", "y places", axis=1, largest=0), ("batch", 5), constants={"two2": np.array([2])}),
    # Others
    "Col2Im": case(
        node("Col2Im", "x image block", strides=[2, 1], pads=[0, 1, 0, 1]),
        ("batch", 8, 8),
        opset=18,
        constants={"image": np.array([4, 3]), "block": np.array([2, 2])},
    ),
    "Attention": case(node("Attention", "x x x", q_num_heads=2, kv_num_heads=2, is_causal=1), ("batch", 3, 4), opset=23),
    "Attention heads": case(
        [node("Mul", "x half", "k"), node("Attention", "x k x m", scale=0.5)],
        ("batch", 2, 3, 2),
        opset=23,
        constants={"m": np.array([[0.0, 1.0, 0.5]] * 3)},
        atol=1e-6,
    ),
    # Constants
    "Constant": case([node("Constant", "", "c", value_floats=[1.0, 2.0, 3.0]), node("Add", "x c")], reference=False),
    "Constant tensor": case(
        [node("Constant", "", "c", value=numpy_helper.from_array(np.float32(2.5))), node("Mul", "x c")], reference=False
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_operator(name):
    build, options = CASES[name]
    assert_same(build, **options)


def test_all_operators_are_tested():
    tested = {f"{item.domain}.{item.op_type}" if item.domain else item.op_type for build, _ in CASES.values() for item in build.args[0]}
    assert set(OPERATORS) <= tested


def test_labels_are_not_given():
    build, _ = CASES["LinearClassifier"]
    model = build(double=True)
    model.graph.output[0].name = "label"
    with pytest.raises(NetworkError, match="The output 'label' of the ONNX graph is not computed"):
        load_network(model)


@pytest.mark.parametrize(
    "name", ["Gelu", "Conv stride and padding", "MaxPool ceil", "LayerNormalization", "Softmax inside", "LRN", "Attention"]
)
def test_round_trip(name, tmp_path):
    build, _ = CASES[name]
    network = load_network(build(double=True))
    save_network(network, tmp_path / "network.npz")
    points = draw(network)
    np.testing.assert_allclose(load_network(tmp_path / "network.npz")(points), network(points), rtol=1e-12, atol=1e-12)


def test_no_operator_is_both_accepted_and_refused():
    assert not {name.rpartition(".")[2] for name in OPERATORS} & set(REFUSED)
