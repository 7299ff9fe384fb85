"""Weights and constants that are computed, and layers that do nothing at inference."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune

from .table import Table, parameter

ROWS = Table()

# Layers that do nothing at inference, and constants.

for _kind in (nn.Identity, nn.Dropout, nn.AlphaDropout, nn.FeatureAlphaDropout):
    ROWS.add(_kind.__name__, lambda kind=_kind: nn.Sequential(nn.Linear(5, 4), kind(), nn.ReLU()))
for _axes in (1, 2, 3):
    ROWS.add(f"Dropout{_axes}d", lambda n=_axes: getattr(nn, f"Dropout{n}d")(), (2, 2, 2, 2)[: _axes + 1])
ROWS.apply("F.dropout", lambda m, x: F.dropout(x, 0.5, m.training))
ROWS.apply(
    "Embedding of constants",
    lambda m, x: x + m.table(m.index).mean(0),
    table=lambda: nn.Embedding(7, 5),
    index=lambda: torch.tensor([1, 6]),
)
ROWS.apply("positions", lambda m, x: x + m.table(torch.arange(x.shape[1])), (3, 2), table=lambda: nn.Embedding(4, 2))
ROWS.apply(
    "input-convex",
    lambda m, x: F.relu(F.linear(F.relu(m.one(x)), F.softplus(m.weight))),
    one=lambda: nn.Linear(5, 4),
    weight=parameter(3, 4),
)
ROWS.apply(
    "clamped weights", lambda m, x: x @ m.weight.clamp(min=0).T + x @ m.weight.abs().T + x @ torch.exp(m.weight.T), weight=parameter(3, 5)
)
ROWS.apply("scale by a parameter", lambda m, x: x * torch.exp(m.scale) + m.scale, scale=lambda: nn.Parameter(torch.tensor(0.3)))

# Weights that are computed.


def _weight_norm() -> nn.Module:
    layer = nn.utils.weight_norm(nn.Linear(5, 3))
    layer.weight_g.data.mul_(1.7)
    return layer


def _spectral_norm() -> nn.Module:
    layer = nn.utils.spectral_norm(nn.Linear(5, 3))
    layer(torch.randn(2, 5))
    return layer


def _pruned() -> nn.Module:
    layer = prune.l1_unstructured(nn.Linear(5, 4), "weight", 0.5)
    layer.weight_orig.data.mul_(1.5)
    return layer


class _Doubled(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return 2.0 * weight.exp()


def _parametrized() -> nn.Module:
    layer = nn.Linear(5, 3)
    parametrize.register_parametrization(layer, "weight", _Doubled())
    return layer


def _hooked() -> nn.Module:
    layer = nn.Linear(5, 3)
    layer.register_forward_hook(lambda module, args, output: 2.0 * output)
    layer.register_forward_pre_hook(lambda module, args: (args[0] + 1.0,))
    return layer


ROWS.add("weight_norm", _weight_norm)
ROWS.add("weight_norm of a convolution", lambda: nn.Sequential(nn.utils.weight_norm(nn.Conv1d(2, 3, 2)), nn.ReLU()), (2, 4))
ROWS.add("parametrizations.weight_norm", lambda: parametrizations.weight_norm(nn.Linear(5, 3)))
ROWS.add("spectral_norm", _spectral_norm)
ROWS.add("parametrizations.spectral_norm", lambda: parametrizations.spectral_norm(nn.Linear(5, 3)))
ROWS.add("parametrizations.orthogonal", lambda: parametrizations.orthogonal(nn.Linear(5, 3)))
ROWS.add("parametrization", _parametrized)
ROWS.add("pruning", _pruned)
ROWS.add("hooks", _hooked)
