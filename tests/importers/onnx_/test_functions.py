"""Functions that an ONNX model defines."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")

from onnx import helper

from .models import HIDDEN, assert_reproduced, make_small, node


def test_local_functions_are_inlined():
    body = [node("Relu", "a", "r"), node("Add", "r a", "c")]
    function = helper.make_function("custom", "Residual", ["a"], ["c"], body, [helper.make_opsetid("", 17)])
    plain = make_small([HIDDEN, helper.make_node("Residual", ["h"], ["y"], domain="custom")])
    model = helper.make_model(
        plain.graph, functions=[function], opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)], ir_version=9
    )
    assert_reproduced(model)
