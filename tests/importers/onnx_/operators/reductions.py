"""Reductions over axes."""

from __future__ import annotations

import numpy as np

from ..models import node
from .case import GRID, case, positive

CASES = {
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
    "TopK": case(node("TopK", "x two2", "y places", axis=1), ("batch", 5), constants={"two2": np.array([2])}),
    "TopK smallest": case(node("TopK", "x two2", "y places", axis=1, largest=0), ("batch", 5), constants={"two2": np.array([2])}),
}
