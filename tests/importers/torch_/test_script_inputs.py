"""TorchScript, live and from files: inputs, outputs and logits."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from dcembed.errors import InputError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_logits, load_network  # noqa: E402
from dcembed.importers.torch_.script.modules import _parameter  # noqa: E402
from importers.torch_.comparing import load_script  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Tuples(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.left, self.right = nn.Linear(3, 4), nn.Linear(2, 4)

    def forward(self, x, z):
        y = self.left(x) + self.right(z)
        return y.softmax(1), (torch.relu(y), y.argmax(1))


def test_several_inputs_and_outputs(tmp_path):
    networks = load_script(torch.jit.script(Tuples()), tmp_path, outputs=["1.0", "0"])
    points = np.random.default_rng(0).normal(size=(5, 5))
    with torch.no_grad():
        scores, (values, _) = Tuples().double()(torch.tensor(points[:, :3]), torch.tensor(points[:, 3:]))
    for network in networks:
        np.testing.assert_allclose(network(points), np.hstack([values, scores]), atol=1e-9)
    with pytest.raises(UnsupportedLayerError, match=r"This is about the output '1.1'; the outputs '0', '1.0' can be embedded"):
        load_network(torch.jit.script(Tuples()))
    fixed = load_network(tmp_path / "script.pt", inputs={"x": None, "z": [0.5, 1.0]}, outputs="0")
    points[:, 3:] = 0.5, 1.0
    np.testing.assert_allclose(fixed(points[:, :3]), networks[0](points)[:, 4:], atol=1e-9)


def test_optional_inputs(tmp_path):
    """Arguments with defaults are inputs only if they are named."""

    class Optional(nn.Module):
        def forward(self, x, shift: torch.Tensor | None = None):
            return torch.relu(x if shift is None else x + shift)

    for network in load_script(torch.jit.script(Optional()), tmp_path, input_shape=3):
        assert network.num_inputs == 3
    shapes = {"x": 3, "shift": 3}
    for network in load_script(torch.jit.script(Optional()), tmp_path, inputs=["x", "shift"], input_shape=shapes):
        np.testing.assert_allclose(network([1.0, -2.0, 3.0, 1.0, 1.0, -4.0]), [2.0, 0.0, 0.0])


def test_names_that_are_not_names_of_python():
    """They are called by their places, in every process alike."""
    names = [_parameter(place, name, "Tensor", None).name for place, name in enumerate(["x", "z.1", "lambda x"])]
    assert names == ["x", "input_1", "input_2"]


def test_input_size_is_found_or_asked_for(tmp_path):
    torch.manual_seed(0)
    for network in load_script(torch.jit.script(nn.Sequential(nn.Flatten(), nn.Linear(6, 2), nn.ReLU())), tmp_path):
        assert network.num_inputs == 6
    torch.jit.save(torch.jit.script(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())), str(tmp_path / "conv.pt"))
    with pytest.raises(InputError, match="input_shape"):
        load_network(tmp_path / "conv.pt")
    assert load_network(tmp_path / "conv.pt", input_shape=(1, 4, 4)).num_inputs == 16


def test_logits(tmp_path):
    script = torch.jit.script(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid()))
    for network in load_script(script, tmp_path, outputs="logits"):
        assert [activation.name for activation in network.activations] == ["tanh"]
    assert load_logits(script)[1] == ("sigmoid",)
