"""Normalization, softmax and attention."""

from __future__ import annotations

import numpy as np

from ..models import node
from .case import GRID, RNG, TABLE, case, positive

CASES = {
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
    "Attention": case(node("Attention", "x x x", q_num_heads=2, kv_num_heads=2, is_causal=1), ("batch", 3, 4), opset=23),
    "Attention heads": case(
        [node("Mul", "x half", "k"), node("Attention", "x k x m", scale=0.5)],
        ("batch", 2, 3, 2),
        opset=23,
        constants={"m": np.array([[0.0, 1.0, 0.5]] * 3)},
        atol=1e-6,
    ),
}
