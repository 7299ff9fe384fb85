"""What exporters write out is recognized, also with constants in single precision."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from dcembed.importers import load_network

from .models import draw, make, node, run_reference

C = {
    "half": 0.5,
    "one": 1.0,
    "root": float(np.float32(np.sqrt(2))),
    "slope": float(np.float32(np.sqrt(2 / np.pi))),
    "cubic": float(np.float32(0.044715)),
    "three": 3.0,
    "six": 6.0,
    "zero": 0.0,
    "eps": 1e-5,
    "two": 2.0,
    "twenty": 20.0,
    "width": 0.5,
    "ax": np.array([1]),
}
WRITTEN_OUT = {
    "SiLU": ([node("Sigmoid", "x", "s"), node("Mul", "x s")], {"silu"}),
    "SiLU as a quotient": ([node("Neg", "x", "n"), node("Exp", "n", "e"), node("Add", "e one", "d"), node("Div", "x d")], {"silu"}),
    "GELU": (
        [node("Div", "x root", "d"), node("Erf", "d", "e"), node("Add", "e one", "a"), node("Mul", "x a", "m"), node("Mul", "m half")],
        {"gelu"},
    ),
    "GELU tanh": (
        [
            node("Pow", "x three", "c"),
            node("Mul", "c cubic", "k"),
            node("Add", "x k", "s"),
            node("Mul", "s slope", "u"),
            node("Tanh", "u", "t"),
            node("Add", "t one", "a"),
            node("Mul", "x half", "h"),
            node("Mul", "h a"),
        ],
        {"gelu_tanh"},
    ),
    "GELU tanh by products": (
        [
            node("Mul", "x x", "q"),
            node("Mul", "q x", "c"),
            node("Mul", "cubic c", "k"),
            node("Add", "x k", "s"),
            node("Mul", "slope s", "u"),
            node("Tanh", "u", "t"),
            node("Add", "one t", "a"),
            node("Mul", "half a", "g"),
            node("Mul", "x g"),
        ],
        {"gelu_tanh"},
    ),
    "GELU tanh of a multiple": (
        [
            node("Mul", "x two", "z"),
            node("Pow", "z three", "c"),
            node("Mul", "c cubic", "k"),
            node("Add", "z k", "s"),
            node("Mul", "s slope", "u"),
            node("Tanh", "u", "t"),
            node("Add", "t one", "a"),
            node("Mul", "z a", "h"),
            node("Mul", "h half"),
        ],
        {"gelu_tanh"},
    ),
    "Mish": ([node("Softplus", "x", "p"), node("Tanh", "p", "t"), node("Mul", "x t")], {"mish"}),
    "HardSwish": (
        [node("Add", "x three", "a"), node("Clip", "a zero six", "c"), node("Mul", "x c", "m"), node("Div", "m six")],
        {"hardswish"},
    ),
    "HardSwish by HardSigmoid": ([node("HardSigmoid", "x", "s", alpha=1.0 / 6.0, beta=0.5), node("Mul", "x s")], {"hardswish"}),
    "layer normalization": (
        [
            node("ReduceMean", "x", "m", axes=[1]),
            node("Sub", "x m", "c"),
            node("Pow", "c two", "q"),
            node("ReduceMean", "q", "v", axes=[1]),
            node("Add", "v eps", "w"),
            node("Sqrt", "w", "r"),
            node("Div", "c r"),
        ],
        {"square", "power"},
    ),
    "softmax": ([node("Exp", "x", "e"), node("ReduceSum", "e ax", "t"), node("Div", "e t")], {"softplus", "exp"}),
    "softplus above a threshold": ([node("Softplus", "x", "p"), node("Greater", "x twenty", "g"), node("Where", "g x p")], {"softplus"}),
    "soft shrinkage": (
        [
            node("Abs", "x", "a"),
            node("Greater", "a width", "g"),
            node("Sign", "x", "s"),
            node("Mul", "s width", "m"),
            node("Sub", "x m", "d"),
            node("Mul", "x zero", "z"),
            node("Where", "g d z"),
        ],
        {"relu"},
    ),
}


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_written_out(name):
    nodes, kinds = WRITTEN_OUT[name]
    used = {item for entry in nodes for item in entry.input}
    model = make(nodes, ("batch", 4), 17, {key: np.asarray(value) for key, value in C.items() if key in used})
    network = load_network(model)
    assert {kind.name for kind in network.activations} == kinds
    points = draw(network)
    np.testing.assert_allclose(network(points), run_reference(model, points), rtol=1e-5, atol=1e-6)


def test_one_root_of_a_quotient():
    """Not a root and a quotient."""
    nodes, _ = WRITTEN_OUT["layer normalization"]
    model = make(nodes, ("batch", 4), 17, {key: np.asarray(C[key]) for key in ("two", "eps")})
    assert [str(kind) for kind in load_network(model).activations] == ["square", "power(-0.5, 1e-05)", "square"]
