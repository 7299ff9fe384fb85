"""Several inputs and outputs of live modules, inputs that are constants, and logits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from dcembed.errors import InputError, NetworkError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from importers.torch_.comparing import Behind  # noqa: E402


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.one = nn.Linear(3, 2)
        self.other = nn.Linear(4, 2)

    def forward(self, x, y, scale=1.0):
        total = self.one(x) + scale * self.other(y)
        return {"total": total, "parts": (self.one(x), torch.relu(self.other(y)))}


POINTS = np.random.default_rng(2).normal(size=(5, 7))


def run_two(points, scale=1.0):
    x, y = torch.tensor(points[:, :3]), torch.tensor(points[:, 3:])
    with torch.no_grad():
        result = Two().double()(x, y, scale)
    return result["total"].numpy(), result["parts"][0].numpy(), result["parts"][1].numpy()


def test_several_inputs_and_outputs():
    """Inputs and outputs one after the other, in the order of the model; names change the order or choose."""
    total, first, second = run_two(POINTS)
    np.testing.assert_allclose(load_network(Two())(POINTS), np.hstack([total, first, second]), atol=1e-6)
    np.testing.assert_allclose(load_network(Two(), outputs="total")(POINTS), total, atol=1e-6)
    np.testing.assert_allclose(load_network(Two(), outputs=["parts.1", "total"])(POINTS), np.hstack([second, total]), atol=1e-6)
    turned = load_network(Two(), inputs=["y", "x"], outputs="total")
    np.testing.assert_allclose(turned(np.hstack([POINTS[:, 3:], POINTS[:, :3]])), total, atol=1e-6)


def test_inputs_that_are_constants():
    fixed = np.array([1.0, -1.0, 0.5, 2.0])
    total, _, _ = run_two(np.hstack([POINTS[:, :3], np.tile(fixed, (5, 1))]), 3.0)
    network = load_network(Two(), inputs={"x": None, "y": fixed, "scale": 3.0}, outputs="total")
    np.testing.assert_allclose(network(POINTS[:, :3]), total, atol=1e-6)


def test_constant_category():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.linear = nn.Embedding(4, 2), nn.Linear(5, 1)

        def forward(self, x, kind):
            return self.linear(torch.cat([x, self.table(kind)], 1))

    model = Model()
    network = load_network(model, inputs={"x": None, "kind": np.array(2)})
    with torch.no_grad():
        expected = model(torch.ones(1, 3), torch.tensor([2])).numpy()
    np.testing.assert_allclose(network(np.ones((1, 3))), expected, atol=1e-6)


def test_shapes_of_several_inputs():
    class Model(nn.Module):
        def forward(self, image, offset):
            return image.flatten(1).mean(1, keepdim=True) + offset

    assert load_network(Model(), input_shape={"image": (2, 3), "offset": 1}).num_inputs == 7
    with pytest.raises(InputError, match="is one shape, but the torch model has 2 inputs"):
        load_network(Model(), input_shape=(2, 3))
    with pytest.raises(InputError, match="input_shape has 'picture'"):
        load_network(Model(), input_shape={"picture": (2, 3)})


def test_names_that_are_not_there():
    with pytest.raises(InputError, match="inputs has 'z', but the forward pass of the torch model takes x, y, scale"):
        load_network(Two(), inputs=["x", "z"])
    with pytest.raises(InputError, match="inputs has 'x' more than once"):
        load_network(Two(), inputs=["x", "y", "x"])
    with pytest.raises(InputError, match=r"says nothing of 'y'.*inputs=\{'x': None, 'y': value\}"):
        load_network(Two(), inputs=["x"])
    with pytest.raises(InputError, match=r"outputs has 'none', but the torch model returns total, parts\.0, parts\.1"):
        load_network(Two(), outputs="none")
    with pytest.raises(NetworkError, match="nothing that depends on its input"):
        load_network(Behind(lambda m, x: m.vector + 1, vector=[1.0]), input_shape=3)


def test_dataclass_as_output():
    @dataclasses.dataclass
    class Output:
        mean: torch.Tensor
        rest: torch.Tensor | None = None

    assert load_network(Behind(lambda m, x: Output(2 * x)), outputs="mean").num_outputs == 4


@pytest.mark.parametrize("head", [nn.Sigmoid(), nn.Softmax(1), nn.LogSoftmax(1), nn.Sequential(nn.Softmax(-1), nn.Flatten())])
def test_logits(head):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3), head)
    network = load_network(model, outputs="logits")
    assert network.is_piecewise_linear
    points = np.random.default_rng(0).normal(size=(5, 3))
    with torch.no_grad():
        expected = model[:3].double()(torch.tensor(points)).numpy()
    np.testing.assert_allclose(network(points), expected, atol=1e-12)
    with pytest.raises(InputError, match="does not end in one"):
        load_network(model[:3], outputs="logits")


class Places(nn.Module):
    """Arguments that have no keyword."""

    def forward(self, x, a=0.0, b=0.0, /):
        return torch.relu(x) + 10.0 * a + b


class Several(nn.Module):
    def forward(self, x, a=0.0, *rest):
        return torch.relu(x) + 10.0 * a + sum(rest)


def test_positions_that_are_left_out():
    """They have their defaults, and the others stay in their places."""
    assert load_network(Places(), inputs={"x": None, "b": 1.0}, input_shape=1)([2.0]) == 3.0
    assert load_network(Places(), inputs={"x": None, "a": 1.0}, input_shape=1)([2.0]) == 12.0
    assert load_network(Several(), inputs=["x", "rest"], input_shape={"x": 1, "rest": 1})([2.0, 1.0]) == 3.0
