"""The shape of one point: found in the layers of a live module, or asked for."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from dcembed.errors import InputError, NetworkError  # noqa: E402
from dcembed.importers import load_network  # noqa: E402
from importers.torch_.comparing import assert_loads  # noqa: E402
from importers.torch_.constructions import Apply  # noqa: E402


def test_input_size_through_other_layers():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.arange(3.0))
            self.net = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))

        def forward(self, x):
            return self.net(torch.cat([x - self.mean, x], 1)[:, :3])

    assert_loads(Scaled())
    assert_loads(nn.Sequential(nn.Flatten(), nn.Dropout(), nn.ReLU(), nn.Linear(3, 2)))
    assert_loads(nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2)))


def test_input_shape():
    with pytest.raises(InputError, match=r"no layer .* fixes it.*load_network\(model, input_shape=\(4,\)\)"):
        load_network(nn.Sequential(nn.ReLU()))
    assert load_network(nn.Sequential(nn.ReLU()), input_shape=3).num_inputs == 3
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(12, 1))
    assert_loads(model, (3, 2), input_shape=(3, 2))
    with pytest.raises(NetworkError, match=r"fails on one point \(input: \(5,\)\), at '0' \(Linear\)"):
        load_network(model, input_shape=(5,))


@pytest.mark.parametrize(
    ("model", "example"),
    [
        (nn.Sequential(nn.Conv2d(2, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1)), r"Conv2d, .*input_shape=\(2, 16, 16\)"),
        (nn.Sequential(nn.Conv1d(7, 2, 3), nn.Flatten(), nn.Linear(8, 1)), r"Conv1d, .*input_shape=\(7, 16\)"),
        (nn.Sequential(nn.Flatten(0), nn.Linear(3, 1)), "no layer"),
        (nn.Sequential(nn.Linear(3, 2), nn.Linear(4, 1)), "it fails later, at '1'"),
    ],
)
def test_input_shape_is_asked_for(model, example):
    with pytest.raises(InputError, match=example):
        load_network(model)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 2, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0][:, -1]


def test_input_shape_of_sequences_is_asked_for():
    with pytest.raises(InputError, match="LSTM"):
        load_network(Recurrent())
    assert load_network(Recurrent(), input_shape=(2, 3)).num_inputs == 6


@pytest.mark.parametrize(
    ("model", "size"),
    [
        (Apply(lambda m, x: x * m.vector, vector=torch.randn(4)), 4),
        (Apply(lambda m, x: torch.relu(x) @ m.matrix, matrix=torch.randn(4, 3)), 4),
        (Apply(lambda m, x: F.relu((x - m.vector).unsqueeze(1)), vector=torch.randn(1, 4)), 4),
        (Apply(lambda m, x: x.view(-1, 2, 3)), 6),
        (Apply(lambda m, x: x.reshape(x.shape[0], 2, 3)), 6),
        (nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 3)), 4),
        (nn.LayerNorm(4), 4),
        (nn.LayerNorm((2, 3)), 6),
        (nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Flatten(), nn.Linear(6, 1)), 6),
        (
            Apply(
                lambda m, x: torch.cat([x, 2 * x, m.vector.expand(len(x), -1)], 1) @ m.matrix, vector=torch.ones(2), matrix=torch.ones(8, 1)
            ),
            3,
        ),
        (nn.PReLU(4), 4),
        (nn.Sequential(nn.Linear(1, 5), nn.Tanh()), 1),
        (nn.Sequential(nn.Dropout(), nn.BatchNorm1d(4)), 4),
    ],
)
def test_input_size_is_found(model, size):
    assert load_network(model).num_inputs == size
