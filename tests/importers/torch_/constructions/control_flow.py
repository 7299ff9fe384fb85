"""Control flow on shapes, shared layers, skip connections."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .table import Table

ROWS = Table()


class _Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(5, 5) for _ in range(2)])
        self.last = nn.Linear(5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() != 2 or x.shape[-1] != 5:
            raise ValueError("five features are expected")
        for layer in self.layers:
            x = x + F.relu(layer(x))
        return self.last(x).squeeze(-1)


ROWS.add("residual with a check of the shape", _Residual)
ROWS.apply("shared layer", lambda m, x: m.layer(F.relu(m.layer(x))), layer=lambda: nn.Linear(5, 5))
ROWS.apply("loop over columns", lambda m, x: torch.stack([F.relu(x[:, k] - k) for k in range(x.shape[1])], 1))
ROWS.apply("assertion", lambda m, x: _asserted(x))


def _asserted(x: torch.Tensor) -> torch.Tensor:
    assert x.ndim == 2
    assert len(x.shape) == 2
    return F.relu(x)
