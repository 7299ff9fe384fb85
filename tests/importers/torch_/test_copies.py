"""What is left of a load in the user's module: nothing."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from dcembed.errors import DcembedError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402


class Closed(nn.Module):
    """Its forward pass goes through a function that holds the module itself, which a copy holds too."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(3, 4), nn.BatchNorm1d(4)
        self.both = lambda x: self.norm(self.linear(x))

    def forward(self, x):
        return self.both(x)


def test_a_module_that_a_closure_holds_keeps_its_statistics_and_its_mode():
    model = Closed().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with suppress(DcembedError):
        load_network(model, input_shape=3)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(module.training for module in model.modules())


def test_rms_norm_without_an_epsilon_takes_that_of_its_own_precision():
    model = nn.Sequential(nn.Linear(2, 4), nn.RMSNorm(4), nn.Linear(4, 1))
    with torch.no_grad():
        model[0].weight *= 1e-4
        model[0].bias *= 1e-3
    points = np.random.default_rng(0).standard_normal((5, 2)).astype(np.float32)
    expected = model(torch.tensor(points)).detach().numpy()
    np.testing.assert_allclose(load_network(model)(points.astype(np.float64)), expected, rtol=1e-4, atol=1e-5)
