"""Functions of single entries."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ..models import node
from .case import GRID, RNG, case

CASES = {
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
}
