"""Entries that are chosen, moved and repeated."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..models import node
from .case import GRID, TABLE, case

CASES = {
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
}
