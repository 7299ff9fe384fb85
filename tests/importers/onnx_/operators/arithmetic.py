"""Sums, products and powers, and constants beside them."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from ..models import node
from .case import TABLE, case, positive

CASES = {
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
    "Constant": case([node("Constant", "", "c", value_floats=[1.0, 2.0, 3.0]), node("Add", "x c")], reference=False),
    "Constant tensor": case(
        [node("Constant", "", "c", value=numpy_helper.from_array(np.float32(2.5))), node("Mul", "x c")], reference=False
    ),
}
