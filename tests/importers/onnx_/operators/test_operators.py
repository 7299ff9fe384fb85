"""Every operator of ONNX that can be embedded, in its variants, against onnx's reference implementation and onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from dcembed.errors import NetworkError
from dcembed.importers import load_network, save_network
from dcembed.importers.onnx_.operators import OPERATORS
from dcembed.importers.onnx_.operators.refused import REFUSED

from ..models import assert_same, draw
from . import activations, arithmetic, comparisons, normalization, places, recurrence, reductions, sequences, shapes, tables

TABLES = (arithmetic, activations, shapes, places, normalization, reductions, tables, comparisons, sequences, recurrence)
CASES = {name: case for table in TABLES for name, case in table.CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_operator(name):
    build, options = CASES[name]
    assert_same(build, **options)


def test_all_operators_are_tested():
    tested = {f"{item.domain}.{item.op_type}" if item.domain else item.op_type for build, _ in CASES.values() for item in build.args[0]}
    assert set(OPERATORS) <= tested
    # No case hides another one.
    assert len(CASES) == sum(len(table.CASES) for table in TABLES)


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
