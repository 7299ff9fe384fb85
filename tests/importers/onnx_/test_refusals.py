"""What ONNX models have that cannot be embedded, with the reasons, and models that are broken."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper

from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError
from dcembed.importers import load_network, operations
from dcembed.importers.onnx_ import operators as onnx_operators

from ..models import build_onnx
from .models import CONSTANTS, HIDDEN, make_small, node


def test_all_unsupported_nodes_are_named():
    nodes = [
        HIDDEN,
        node("Floor", "h", "s"),
        node("Greater", "s low", "g"),
        node("Where", "g h b", "m"),
        helper.make_node("Fancy", ["m"], ["f"], domain="my.ops", name="fancy"),
        helper.make_node("FusedMatMul", ["f", "S"], ["u"], domain="com.microsoft"),
    ]
    nodes += [node("Cast", "u", "i", to=TensorProto.INT64), node("RandomUniformLike", "i")]
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(make_small(nodes))
    lines = str(info.value).splitlines()
    assert lines[0] == "The ONNX model has 6 layers that cannot be embedded:"
    assert lines[1].startswith("  layer 1, 's': Floor (jumps; only continuous functions can be embedded.")
    assert lines[2].startswith("  layer 3, 'm': Where (chooses by a computed value between two that may differ where the choice changes")
    assert lines[3] == "  layer 4, 'fancy': my.ops.Fancy"
    assert lines[4].startswith("  layer 5, 'u': com.microsoft.FusedMatMul (was put there by an optimizer of another runtime.")
    assert lines[5].startswith("  layer 6, 'i': Cast (converts a computed value to INT64; conversions between floating-point types")
    assert lines[6].startswith("  layer 7, 'y': RandomUniformLike (draws random numbers.")
    assert lines[-1] == f"Accepted are {onnx_operators.ACCEPTED}."


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([HIDDEN, node("BatchNormalization", "h p b b p", "y m v", training_mode=1)], "training mode"),
        ([HIDDEN, node("Dropout", "h half true")], "training mode"),
        ([node("RandomNormal", "", "r", shape=[1, 3]), node("Add", "x r")], "RandomNormal"),
        ([HIDDEN, node("Add", "h b", axis=1, broadcast=1)], "arguments are not known"),
        ([HIDDEN, node("ThresholdedRelu", "h", alpha=1.0)], "jumps from 0 to 1 at 1"),
        ([HIDDEN, node("Shrink", "h", lambd=0.5, bias=0.0)], r"jumps by 0\.5"),
        ([HIDDEN, node("LpNormalization", "h", p=2)], "divides by a norm that can be zero"),
        ([HIDDEN, node("Hardmax", "h")], "Hardmax .jumps; only continuous"),
        ([HIDDEN, node("Scan", "h", num_scan_inputs=1)], "goes through a sequence with a body of its own"),
        ([HIDDEN, node("ArgMax", "h")], "Choose the scores before it with outputs="),
        ([HIDDEN, node("Cast", "h", "i", to=TensorProto.INT32), node("Gather", "S i")], "converts a computed value to INT32"),
        ([HIDDEN, node("Gather", "S h")], "looks up rows of a table by the input"),
        ([HIDDEN, node("QuantizeLinear", "h one", "q"), node("Identity", "q")], "Pass the model before it was quantized"),
    ],
)
def test_unsupported_use(nodes, reason):
    with pytest.raises(UnsupportedLayerError, match=reason):
        load_network(make_small(nodes))


def test_trees_are_refused_with_who_takes_them():
    tree = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml")
    model = make_small([tree])
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    with pytest.raises(UnsupportedLayerError, match=r"gurobi-machinelearning, PySCIPOpt-ML, OMLT or MathOptAI"):
        load_network(model)


def test_a_divisor_of_both_signs_is_refused():
    with pytest.raises(ImportMismatchError, match=r"a divisor has to keep its sign|quotients or exponentials in it are defined at"):
        load_network(make_small([HIDDEN, node("Div", "one h")]))


def test_broken_graphs():
    with pytest.raises(NetworkError, match="input 'nowhere' is not computed"):
        load_network(make_small([node("Relu", "nowhere")]))
    with pytest.raises(NetworkError, match="The output 'z' of the ONNX graph is not computed"):
        load_network(make_small([node("Relu", "x")], output="z"))
    with pytest.raises(NetworkError, match=r"At layer 0, 'y': Gemm\. A linear layer takes 4 features"):
        load_network(make_small([node("Gemm", "x W", transB=0)]))
    with pytest.raises(NetworkError, match="The network is empty"):
        load_network(make_small([]))
    model = make_small([HIDDEN], output="h")
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    with pytest.raises(NetworkError, match="has type INT64"):
        load_network(model)
    with pytest.raises(InputError, match="GraphProto is not a model"):
        load_network(model.graph)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nonfinite_weights(value):
    weight = CONSTANTS["W"].copy()
    weight[1, 1] = value
    with pytest.raises(NetworkError, match="NaN or infinite"):
        load_network(make_small([node("Gemm", "x N b", "h", transB=1), node("Relu", "h")], constants={"N": weight}))


def test_wrong_import_is_noticed(monkeypatch):
    monkeypatch.setitem(onnx_operators.OPERATORS, "Relu", lambda builder, x: operations.leaky_relu(builder, x, 1e-4))
    with pytest.raises(ImportMismatchError, match="does not reproduce the ONNX model"):
        load_network(build_onnx())
