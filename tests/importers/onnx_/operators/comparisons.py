"""Comparisons that do not jump."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..models import node
from .case import case

CASES = {
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
}
