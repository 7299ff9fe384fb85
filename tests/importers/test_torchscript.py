"""TorchScript: every construction, live and from files, and the language in which it is written."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from dcembed.importers.torch_.recording.outputs import flatten  # noqa: E402
from importers.torch_constructions import BY_NAME, NAMES, choose  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

# Torch cannot trace the first; the others have the size of the batch in them when they are traced.
NOT_TRACED = choose("sparse matrix", "scatter", "scatter_add")


def both(script, tmp_path, **options):
    """The network of a live module, and of the file that holds it."""
    torch.jit.save(script, str(tmp_path / "script.pt"))
    return load_network(script, **options), load_network(tmp_path / "script.pt", **options)


def evaluate(model, points, shape):
    with torch.no_grad():
        values = flatten(model.double()(torch.tensor(points.reshape(-1, *shape))))
    return np.concatenate([value.numpy().reshape(len(points), -1) for value in values], axis=1)


def assert_same(network, model, shape):
    points = np.random.default_rng(1).normal(size=(10, network.num_inputs))
    np.testing.assert_allclose(network(points), evaluate(model, points, shape), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_TRACED])
def test_traced_construction(name, tmp_path):
    construction = BY_NAME[name]
    example = torch.full((3, *construction.shape), 0.1, dtype=torch.float64)
    script = torch.jit.trace(construction.build(), example, check_trace=False)
    for network in both(script, tmp_path, input_shape=construction.shape):
        assert_same(network, construction.build(), construction.shape)


# Layers of torch.nn, with all their branches in the code.
SCRIPTED = choose(
    "ReLU",
    "PReLU",
    "RReLU",
    "ELU",
    "CELU",
    "GELU tanh",
    "SiLU",
    "Softplus",
    "Threshold",
    "Softmax",
    "LogSoftmax",
    "Conv1d same",
    "Conv2d",
    "Conv2d reflect",
    "Conv2d circular",
    "ConvTranspose2d",
    "CNN",
    "MaxPool2d dilated",
    "AvgPool2d",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool2d",
    "LPPool2d",
    "BatchNorm1d",
    "InstanceNorm2d",
    "LayerNorm",
    "GroupNorm",
    "RMSNorm",
    "LocalResponseNorm",
    "Upsample nearest",
    "Upsample bilinear",
    "Upsample bicubic",
    "ReflectionPad2d",
    "PixelShuffle",
    "Unfold",
    "Fold",
    "Unflatten",
    "Dropout",
    "AlphaDropout",
    "TransformerEncoderLayer",
    "TransformerEncoderLayer first",
    "residual with a check of the shape",
)


@pytest.mark.parametrize("name", SCRIPTED)
def test_scripted_construction(name, tmp_path):
    construction = BY_NAME[name]
    for network in both(torch.jit.script(construction.build()), tmp_path, input_shape=construction.shape):
        assert_same(network, construction.build(), construction.shape)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x)


class Recurrent(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0]


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 3)

    def forward(self, x):
        state = torch.zeros(x.size(0), 3, dtype=x.dtype)
        for place in range(x.size(1)):
            state = self.cell(x[:, place], state)
        return state


SEQUENCES = {
    "attention": Attention,
    "encoder": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2, enable_nested_tensor=False),
    "LSTM": lambda: Recurrent(nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True)),
    "GRU": lambda: Recurrent(nn.GRU(4, 3, batch_first=True)),
    "RNN": lambda: Recurrent(nn.RNN(4, 3, batch_first=True)),
    "cells": Cells,
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name, tmp_path):
    """Scripted they go through operators that do a whole layer at once."""
    torch.manual_seed(0)
    model = SEQUENCES[name]().double().eval()
    for network in both(torch.jit.script(model), tmp_path, input_shape=(3, 4)):
        assert_same(network, model, (3, 4))


# The language.


def _scale(x, factor: float):
    return x * factor


class Language(nn.Module):
    """Branches, loops, lists, dictionaries, optional arguments, functions and changes in place."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 4)
        self.parts = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.sizes = [1, 2]
        self.options = {"factor": 1.5}
        self.weights = [torch.ones(4), torch.full((4,), 0.5)]
        self.limit = float("inf")
        self.steps = 3
        self.register_buffer("shift", torch.arange(4.0))

    def forward(self, x, extra: torch.Tensor | None = None, times: int = 2):
        y = self.linear(x) + self.shift
        if y.dim() != 2 or x.shape[1] != 4:
            raise ValueError("a matrix is expected")
        results = []
        for part in self.parts:
            y = torch.relu(part(y))
            results.append(y)
        for step in range(self.steps):
            y = _scale(y, self.options["factor"]) + float(step)
        count = 0
        while count < times:
            count += 1
            y = y.clamp(max=self.limit) * self.weights[count - 1]
        if extra is not None:
            y = y + extra
        y = y.clone()
        y[:, 0] = y[:, 0] + self.sizes[-1]
        first, second = y.chunk(2, dim=1)
        with torch.no_grad():
            second = F.gelu(second)
        pieces = {"first": first, "second": second}
        results.append(pieces["first"])
        results.append(pieces["second"])
        joined = torch.cat(results, dim=1)
        return joined.view(x.size(0), -1) if joined.size(1) > len(self.sizes) else first


def test_language(tmp_path):
    for network in both(torch.jit.script(Language()), tmp_path):
        assert network.num_inputs == 4
        model = Language().double()
        model.weights = [weight.double() for weight in model.weights]
        assert_same(network, model, (4,))


class Tuples(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.left, self.right = nn.Linear(3, 4), nn.Linear(2, 4)

    def forward(self, x, z):
        y = self.left(x) + self.right(z)
        return y.softmax(1), (torch.relu(y), y.argmax(1))


def test_several_inputs_and_outputs(tmp_path):
    networks = both(torch.jit.script(Tuples()), tmp_path, outputs=["1.0", "0"])
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


class Result(NamedTuple):
    mean: torch.Tensor
    spread: torch.Tensor


def test_named_tuples(tmp_path):
    class Named(nn.Module):
        def forward(self, x):
            found = Result(torch.relu(x), torch.tanh(x))
            return Result(found.mean + 1.0, found.spread)

    for network in both(torch.jit.script(Named()), tmp_path, input_shape=2, outputs="mean"):
        np.testing.assert_allclose(network([-1.0, 2.0]), [1.0, 3.0])


def test_optional_inputs(tmp_path):
    """Arguments with defaults are inputs only if they are named."""

    class Optional(nn.Module):
        def forward(self, x, shift: torch.Tensor | None = None):
            return torch.relu(x if shift is None else x + shift)

    for network in both(torch.jit.script(Optional()), tmp_path, input_shape=3):
        assert network.num_inputs == 3
    shapes = {"x": 3, "shift": 3}
    for network in both(torch.jit.script(Optional()), tmp_path, inputs=["x", "shift"], input_shape=shapes):
        np.testing.assert_allclose(network([1.0, -2.0, 3.0, 1.0, 1.0, -4.0]), [2.0, 0.0, 0.0])


def test_frozen(tmp_path):
    """The weights are constants of the code, in single precision."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).eval()
    for network in both(torch.jit.freeze(torch.jit.script(model)), tmp_path, input_shape=3):
        points = np.random.default_rng(0).normal(size=(5, 3))
        with torch.no_grad():
            expected = model.double()(torch.tensor(points)).numpy()
        model.float()
        np.testing.assert_allclose(network(points), expected, atol=1e-6)


def test_training_is_switched_off(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.ReLU()).train()
    model[1].running_mean.normal_()
    script = torch.jit.script(model)
    networks = both(script, tmp_path)
    assert script.training
    assert next(script.parameters()).dtype is torch.float32
    for network in networks:
        assert_same(network, model.eval(), (3,))


def test_traced_in_training_mode(tmp_path):
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.ReLU()).train()
    script = torch.jit.trace(model, torch.zeros(2, 3), check_trace=False)
    torch.jit.save(script, str(tmp_path / "script.pt"))
    for source in (script, tmp_path / "script.pt"):
        with pytest.raises(UnsupportedLayerError, match="random"):
            load_network(source)


class Branch(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            return torch.relu(x)
        return -x


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return torch.relu(x) * self.calls


def test_refused(tmp_path):
    torch.jit.save(torch.jit.script(Branch()), str(tmp_path / "branch.pt"))
    for source in (torch.jit.script(Branch()), tmp_path / "branch.pt"):
        with pytest.raises(UnsupportedLayerError, match="reads a number that depends on the input"):
            load_network(source, input_shape=3)
    torch.jit.save(torch.jit.script(Stateful()), str(tmp_path / "stateful.pt"))
    with pytest.raises(UnsupportedLayerError, match=r"changes its own state \(self\.calls\)"):
        load_network(tmp_path / "stateful.pt", input_shape=3)
    with pytest.raises((ImportMismatchError, NetworkError)):
        load_network(torch.jit.script(Stateful()), input_shape=3)


def test_input_size_is_found_or_asked_for(tmp_path):
    torch.manual_seed(0)
    for network in both(torch.jit.script(nn.Sequential(nn.Flatten(), nn.Linear(6, 2), nn.ReLU())), tmp_path):
        assert network.num_inputs == 6
    torch.jit.save(torch.jit.script(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())), str(tmp_path / "conv.pt"))
    with pytest.raises(InputError, match="input_shape"):
        load_network(tmp_path / "conv.pt")
    assert load_network(tmp_path / "conv.pt", input_shape=(1, 4, 4)).num_inputs == 16


def test_logits(tmp_path):
    script = torch.jit.script(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1), nn.Sigmoid()))
    for network in both(script, tmp_path, outputs="logits"):
        assert [activation.name for activation in network.activations] == ["tanh"]
