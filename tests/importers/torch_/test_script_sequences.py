"""TorchScript, live and from files: layers for sequences, which are scripted as one operator."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from importers.torch_.comparing import assert_same, load_script  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


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
    for network in load_script(torch.jit.script(model), tmp_path, input_shape=(3, 4)):
        assert_same(network, model, (3, 4))
