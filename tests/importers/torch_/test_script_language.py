"""TorchScript, live and from files: the language in which it is written."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from dcembed.errors import ImportMismatchError, NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from importers.torch_.comparing import assert_same, load_script  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


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
    for network in load_script(torch.jit.script(Language()), tmp_path):
        assert network.num_inputs == 4
        model = Language().double()
        model.weights = [weight.double() for weight in model.weights]
        assert_same(network, model, (4,))


class Result(NamedTuple):
    mean: torch.Tensor
    spread: torch.Tensor


def test_named_tuples(tmp_path):
    class Named(nn.Module):
        def forward(self, x):
            found = Result(torch.relu(x), torch.tanh(x))
            return Result(found.mean + 1.0, found.spread)

    for network in load_script(torch.jit.script(Named()), tmp_path, input_shape=2, outputs="mean"):
        np.testing.assert_allclose(network([-1.0, 2.0]), [1.0, 3.0])


def test_lists_that_grow(tmp_path):
    class Grows(nn.Module):
        def forward(self, x):
            sizes, parts = [1, 2], [x]
            sizes += [7]
            parts += [torch.relu(x)]
            sizes.extend(sizes)
            return torch.cat(parts, dim=1) * len(sizes) + sizes[-1]

    for network in load_script(torch.jit.script(Grows()), tmp_path, input_shape=1):
        np.testing.assert_allclose(network([-2.0]), [-5.0, 7.0])


def test_frozen(tmp_path):
    """The weights are constants of the code, in single precision."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).eval()
    for network in load_script(torch.jit.freeze(torch.jit.script(model)), tmp_path, input_shape=3):
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
    networks = load_script(script, tmp_path)
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
