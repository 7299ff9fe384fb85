"""Attention and recurrence."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from .table import Table

ROWS = Table()

ROWS.curved("MultiheadAttention", lambda m, x: m.layer(x, x, x)[0], (3, 4), layer=lambda: nn.MultiheadAttention(4, 2, batch_first=True))
ROWS.curved("attention weights", lambda m, x: m.layer(x, x, x)[1], (3, 2), layer=lambda: nn.MultiheadAttention(2, 1, batch_first=True))
ROWS.curved("scaled_dot_product_attention", lambda m, x: F.scaled_dot_product_attention(x, 2 * x, x), (2, 3, 2))
ROWS.curved("causal attention", lambda m, x: F.scaled_dot_product_attention(x, x, x, is_causal=True), (1, 3, 2))
ROWS.curved("masked attention", lambda m, x: _masked_attention(x), (3, 2))
ROWS.smooth("TransformerEncoderLayer", lambda: nn.TransformerEncoderLayer(4, 2, 5, batch_first=True), (2, 4))
ROWS.smooth(
    "TransformerEncoderLayer first",
    lambda: nn.TransformerEncoderLayer(4, 2, 5, activation="gelu", batch_first=True, norm_first=True),
    (2, 4),
)
ROWS.apply("RNN of ReLU", lambda m, x: m.layer(x)[0], (3, 2), layer=lambda: nn.RNN(2, 3, nonlinearity="relu", batch_first=True))
ROWS.curved("RNN", lambda m, x: m.layer(x)[1].transpose(0, 1), (3, 2), layer=lambda: nn.RNN(2, 3, num_layers=2, batch_first=True))
ROWS.curved("LSTM", lambda m, x: m.layer(x)[0][:, -1], (2, 2), layer=lambda: nn.LSTM(2, 2, batch_first=True, bidirectional=True))
ROWS.curved("GRU", lambda m, x: m.layer(x)[0], (2, 2), layer=lambda: nn.GRU(2, 2, batch_first=True))
ROWS.curved("LSTMCell", lambda m, x: m.layer(x)[0], (3,), layer=lambda: nn.LSTMCell(3, 2))
ROWS.curved("GRUCell", lambda m, x: m.layer(x), (3,), layer=lambda: nn.GRUCell(3, 2))
ROWS.curved("RNNCell", lambda m, x: m.layer(x), (3,), layer=lambda: nn.RNNCell(3, 2))
ROWS.curved(
    "TransformerDecoderLayer", lambda m, x: m.layer(x, x), (2, 4), layer=lambda: nn.TransformerDecoderLayer(4, 2, 5, batch_first=True)
)
ROWS.curved("CosineSimilarity", lambda m, x: m.layer(x[:, :2], x[:, 2:]), (4,), layer=lambda: nn.CosineSimilarity())
ROWS.curved("PairwiseDistance", lambda m, x: m.layer(x[:, :2], x[:, 2:]), (4,), layer=lambda: nn.PairwiseDistance())


def _masked_attention(x: torch.Tensor) -> torch.Tensor:
    scores = x @ x.transpose(-2, -1) / math.sqrt(2.0)
    mask = torch.ones(3, 3, dtype=torch.bool).triu(1)
    return torch.softmax(scores.masked_fill(mask, float("-inf")), -1) @ x
