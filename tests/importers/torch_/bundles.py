"""Many rows of the table as one module, so that torch writes them in one go: its exporters take longer to start than to write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from importers.torch_.constructions import BY_NAME

# Rows that are written together.
SIZE = 25


class _Rows(nn.Module):
    """Each row takes the first entries of a point, in its own shape, and gives one output."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self.rows = nn.ModuleList([BY_NAME[name].build() for name in names])
        self.shapes = [BY_NAME[name].shape for name in names]

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        pairs = zip(self.rows, self.shapes, strict=True)
        return tuple(row(x[:, : math.prod(shape)].unflatten(1, shape)).reshape(x.shape[0], -1) for row, shape in pairs)


@dataclass(frozen=True)
class Bundle:
    """Rows that are written together."""

    names: tuple[str, ...]

    @property
    def width(self) -> int:
        """Entries of a point."""
        return max(math.prod(BY_NAME[name].shape) for name in self.names)

    def build(self) -> nn.Module:
        """The module of all rows."""
        return _Rows(self.names).double().eval()

    def example(self) -> torch.Tensor:
        """A few points to be exported with."""
        return torch.full((3, self.width), 0.1, dtype=torch.float64)


def make_bundles(names: Sequence[str]) -> dict[str, Bundle]:
    """For each row the bundle in which it is."""
    bundles = [Bundle(tuple(names[start : start + SIZE])) for start in range(0, len(names), SIZE)]
    return {name: bundle for bundle in bundles for name in bundle.names}


def evaluate_row(name: str, points: np.ndarray) -> np.ndarray:
    """What the module of a row gives for points of a bundle."""
    shape = BY_NAME[name].shape
    with torch.no_grad():
        values = BY_NAME[name].build()(torch.tensor(points[:, : math.prod(shape)].reshape(-1, *shape)))
    return values.numpy().reshape(len(points), -1)
