"""Live modules that are refused, and imports that would be wrong."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from dcembed.errors import ImportMismatchError, InputError, NetworkError, UnsupportedLayerError  # noqa: E402
from dcembed.importers import check, load_network, operations  # noqa: E402
from dcembed.importers.torch_ import aten  # noqa: E402
from importers.torch_.comparing import Behind  # noqa: E402


def test_dropout_active_at_inference_is_refused():
    with pytest.raises(UnsupportedLayerError, match="draws random numbers"):
        load_network(Behind(lambda m, x: F.dropout(x, 0.5)))


def test_all_unsupported_layers_are_named():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(3, 4), nn.Hardshrink(), nn.Dropout(), nn.Threshold(1.0, 0.0))
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            y = torch.floor(self.head(self.body(x)))
            return torch.fft.fft(y * x[:, :2]).real

    with pytest.raises(UnsupportedLayerError) as info:
        load_network(Model())
    assert str(info.value).splitlines() == [
        "The torch model has 4 layers that cannot be embedded:",
        "  layer 1, 'body.1': Hardshrink (jumps by 0.5 at 0.5 (hard shrinkage); only continuous functions can be embedded, such as soft "
        "shrinkage)",
        "  layer 3, 'body.3': Threshold (jumps from 0 to 1 at 1; only continuous functions can be embedded: the two have to be equal)",
        "  layer 5, 'model': torch.floor (rounds, which jumps)",
        "  layer 7, 'model': torch._fft_r2c",
        "A jump cannot be embedded: pass the part of the model before it and write the jump in the optimization model with a binary variable, "
        "or use a continuous layer in its place (clamp, soft shrinkage, hard sigmoid, softmax) and retrain.",
        "Complex numbers are not known here: a Fourier transform of a real value is a linear map, so write it as two products with constant "
        "matrices.",
        'Accepted are the layers and functions in the page "What goes in" of the documentation (docs/what_goes_in.md), '
        f"{len(aten.OPERATORS)} operators of torch in all.",
    ]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda m, x: x.to(torch.int32), "which rounds"),
        (lambda m, x: torch.clamp(x, 1.0, -1.0), "above its upper limit"),
        (lambda m, x: torch.div(x, 2.0, rounding_mode="floor"), "not continuous"),
        (lambda m, x: F.batch_norm(x, None, None, training=True), "normalizes with the batch itself.*\n.*running mean"),
        (lambda m, x: x > 0, "is a comparison"),
        (lambda m, x: torch.where(x > 0, x, 2.0), "chooses by a computed value"),
        (lambda m, x: (x > 0).sum(1) + x[:, 0], "computes with a comparison"),
        (lambda m, x: x.argmax(1), "places of entries"),
        (lambda m, x: torch.gather(x, 1, x.max(1, keepdim=True).indices), "uses the places"),
        (lambda m, x: torch.fft.fft(x).real, "_fft_r2c\n.*two products with constant"),
        (lambda m, x: x + torch.randn(4), "draws random numbers"),
        (lambda m, x: F.softplus(x, 1.0, 5.0), "a jump of 6.7e-03"),
        (lambda m, x: x.long(), "which rounds"),
        (lambda m, x: torch.linalg.inv(x.reshape(-1, 2, 2)), "takes a computed matrix apart"),
    ],
)
def test_unsupported_use(function, reason):
    with pytest.raises(UnsupportedLayerError, match=f"(?s){reason}"):
        load_network(Behind(function))


def test_lookup_by_the_input_is_refused():
    with pytest.raises(UnsupportedLayerError, match=r"layer 0, '0': Embedding \(looks up rows.*\n.*one-hot"):
        load_network(nn.Sequential(nn.Embedding(3, 4), nn.Linear(4, 1)), input_shape=2)


@pytest.mark.parametrize(
    "function", [lambda m, x: x[0], lambda m, x: x - x.mean(0), lambda m, x: x * x.sum(), lambda m, x: torch.softmax(x, 0)]
)
def test_batch_mixing_is_refused(function):
    with pytest.raises((ImportMismatchError, NetworkError), match="mixes the points of a batch"):
        load_network(Behind(function))


def test_mixing_behind_a_pole_is_noticed():
    """Outside of the domain of the quotient our values are huge; they are no measure of what may differ."""
    with pytest.raises((ImportMismatchError, NetworkError)):
        load_network(Behind(lambda m, x: x / x.sum(0)), input_shape=3)


def test_model_that_fails_on_batches_is_refused():
    with pytest.raises(NetworkError, match=r"fails on a batch of .* Check that it maps a batch of inputs to a batch of predictions"):
        load_network(Behind(lambda m, x: x.view(1, -1) @ m.matrix, matrix=np.eye(4)), input_shape=3)


def test_state_that_changes_is_noticed():
    with pytest.raises((ImportMismatchError, NetworkError)):
        load_network(Behind(lambda m, x: m.state.add_(x.relu()), state=np.zeros((31, 4))), input_shape=3)


def test_branches_by_the_data_are_refused():
    class Branch(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(UnsupportedLayerError, match=r"Tensor\.item\. The forward pass reads a number that depends on the input \(a branch"):
        load_network(Branch(), input_shape=2)


@pytest.mark.parametrize("model", [nn.Sequential(), nn.Sequential(nn.Sequential())])
def test_empty(model):
    with pytest.raises(NetworkError, match="The network is empty"):
        load_network(model)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nonfinite_weights(value):
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    model[0].weight.data[0, 0] = value
    with pytest.raises(NetworkError, match="NaN or infinite"):
        load_network(model)


def test_lazy_and_other_objects():
    with pytest.raises(NetworkError, match="lazy layers"):
        load_network(nn.Sequential(nn.LazyLinear(2)))
    with pytest.raises(InputError, match="Tensor is not a model"):
        load_network(torch.zeros(2))
    with pytest.raises(NetworkError, match="meta tensor"):
        load_network(nn.Linear(2, 1, device="meta"))


def test_wrong_import_is_noticed(monkeypatch):
    monkeypatch.setitem(aten.OPERATORS, "leaky_relu", lambda builder, input, slope=0.01: operations.leaky_relu(builder, input, 0.0101))
    with pytest.raises(ImportMismatchError, match=r"does not reproduce the torch model at \d+ of \d+ points. .*difference .*tolerance"):
        load_network(nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1)))


def test_kinks_far_away_are_checked(monkeypatch):
    """Unscaled data: every kink is a thousand away from the origin."""
    monkeypatch.setitem(aten.OPERATORS, "relu", lambda builder, input: operations.leaky_relu(builder, input, 0.01))
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    model[0].bias.data[:] = 1000.0
    with pytest.raises(ImportMismatchError):
        load_network(model)


def test_tolerance_does_not_swallow_a_small_output():
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    model[2].weight.data *= 1e-6
    network = load_network(model)
    points = check.draw_points(network)
    assert (1e-5 * check.magnitude(network, points)).max() < 1e-3 * np.abs(network(points)).max() + 1e-5
