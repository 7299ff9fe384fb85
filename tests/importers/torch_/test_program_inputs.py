"""Programs of torch.export: several inputs and outputs, given values, and logits."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402

from dcembed.errors import InputError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from importers.torch_.comparing import assert_same, export  # noqa: E402
from importers.torch_.constructions import Apply  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.left, self.right = nn.Linear(3, 4), nn.Linear(2, 4)

    def forward(self, x, z):
        y = self.left(x) + self.right(z)
        return {"score": y.softmax(1), "rest": (torch.relu(y), y.sum(1))}


class Labels(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 4)

    def forward(self, x):
        y = self.linear(x)
        return {"label": y.argmax(1), "score": y.softmax(1), "top": tuple(y.max(1))}


@pytest.fixture(params=["program", "file"])
def kind(request, tmp_path):
    """How a program is passed on: as it is, or as a file."""

    def pass_on(program):
        torch.export.save(program, tmp_path / "program.pt2")
        return program if request.param == "program" else tmp_path / "program.pt2"

    return pass_on


def test_several_inputs_and_outputs(kind):
    source = kind(export(Several().double(), (3,), (2,)))
    network = load_network(source)
    assert (network.num_inputs, network.num_outputs) == (5, 9)
    assert_same(network, Several(), (3,), (2,))
    points = np.random.default_rng(0).normal(size=(6, 5))
    turned = load_network(source, inputs=["z", "x"], outputs=["rest.1", "score"])
    np.testing.assert_allclose(turned(points[:, [3, 4, 0, 1, 2]]), network(points)[:, [8, 0, 1, 2, 3]], atol=1e-12)
    fixed = load_network(source, inputs={"x": None, "z": [0.5, -1.0]}, outputs="rest.0")
    points[:, 3:] = 0.5, -1.0
    np.testing.assert_allclose(fixed(points[:, :3]), network(points)[:, 4:8], atol=1e-12)


def test_logits(kind):
    source = kind(export(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Softmax(1)).double(), (3,)))
    logits, points = load_network(source, outputs="logits"), np.random.default_rng(0).normal(size=(5, 3))
    values = np.exp(logits(points))
    np.testing.assert_allclose(load_network(source)(points), values / values.sum(axis=1, keepdims=True), atol=1e-12)
    with pytest.raises(InputError, match="does not end in one"):
        load_network(kind(export(nn.Linear(3, 2).double(), (3,))), outputs="logits")


def test_outputs_that_cannot_be_embedded(kind):
    source = kind(export(Labels().double(), (3,)))
    with pytest.raises(UnsupportedLayerError) as info:
        load_network(source)
    assert "argmax (gives places of entries, which jump" in str(info.value)
    assert "This is about the outputs 'label', 'top.1'; the outputs 'score', 'top.0' can be embedded: " in str(info.value)
    assert load_network(source, outputs=["score", "top.0"]).num_outputs == 5


def test_live_outputs_that_cannot_be_embedded():
    with pytest.raises(UnsupportedLayerError, match=r"load_network\(model, outputs=\['score', 'top.0'\]\)"):
        load_network(Labels())
    assert_same(load_network(Labels(), outputs="score"), Apply(lambda m, x: m.linear(x).softmax(1), linear=Labels().linear), (3,))


def test_indices_are_given(kind):
    class Embedded(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.table, self.linear = nn.Embedding(5, 2), nn.Linear(5, 1)

        def forward(self, x, place):
            return self.linear(torch.cat([x, self.table(place)], dim=1))

    inputs = (torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2, dtype=torch.int64))
    source = kind(torch.export.export(Embedded().double(), inputs, dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO})))
    with pytest.raises(InputError, match=r"input 'place' of the program is of type torch.int64.*inputs=\{'place': value, ...\}"):
        load_network(source)
    network = load_network(source, inputs={"x": None, "place": 3})
    points = np.random.default_rng(0).normal(size=(4, 3))
    with torch.no_grad():
        expected = Embedded().double()(torch.tensor(points), torch.full((4,), 3)).numpy()
    np.testing.assert_allclose(network(points), expected, atol=1e-9)
    np.testing.assert_allclose(load_network(source, inputs={"x": None, "place": 3.0})(points), expected, atol=1e-9)
    with pytest.raises(InputError, match=r"value of 'place' is 2\.7, and the program takes numbers of type torch\.int64"):
        load_network(source, inputs={"x": None, "place": 2.7})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"inputs": ["x"]},
            r"inputs leaves out 'z', which the torch model needs\. Name it as well, or give it a value: inputs=\{'x': None, 'z': \.\.\.\}",
        ),
        ({"inputs": ["x", "y", "z"]}, r"the torch model has no input 'y'\. Its inputs are 'x', 'z'"),
        ({"outputs": "scores"}, r"outputs has 'scores', but the torch model returns score, rest\.0, rest\.1"),
        ({"inputs": {"x": None, "z": [1.0]}}, r"value of 'z' has shape \(1,\).*Accepted are numbers of shape \(2,\)"),
        ({"input_shape": 3}, r"is one shape, but the torch model has 2 inputs \(x, z\)"),
        ({"input_shape": {"y": 3}}, r"the torch model has no input 'y'\. Its inputs are 'x', 'z'"),
        ({"architecture": "relu"}, "architecture does not apply to a torch model"),
    ],
)
def test_wrong_choices(options, text):
    with pytest.raises(InputError, match=text):
        load_network(export(Several(), (3,), (2,), dtype=torch.float32), **options)
