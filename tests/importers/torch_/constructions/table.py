"""Rows of the table: how a module is made, and what its points look like."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Construction:
    """A row: a name, a function that makes the module, the shape of one point, and whether all units have to be ReLU."""

    name: str
    make: Callable[[], nn.Module]
    shape: Shape
    piecewise: bool

    def build(self) -> nn.Module:
        """The module in double precision and evaluation mode, with weights of its own, the same at every call."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(zlib.crc32(self.name.encode()))
            module = self.make()
            _stir(module)
        return module.double().eval()


def _stir(module: nn.Module) -> None:
    """Statistics and weights that would otherwise be zeros and ones."""
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._NormBase) and part.running_mean is not None:
            part.running_mean.normal_()
            part.running_var.uniform_(0.3, 2.0)
        if isinstance(part, nn.modules.batchnorm._NormBase | nn.LayerNorm | nn.GroupNorm | nn.RMSNorm):
            for weight in part.parameters(recurse=False):
                weight.data.normal_(1.0, 0.5)


class Apply(nn.Module):
    """A function of a value and of the module itself, which may have more parts."""

    def __init__(self, function: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(name, part)
            else:
                setattr(self, name, part)

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, x)


@dataclass(frozen=True)
class Table:
    """The rows of one subject."""

    rows: list[Construction] = field(default_factory=list)

    def add(self, name: str, make: Callable[[], nn.Module], shape: Shape = (5,), piecewise: bool = True) -> None:
        """A module all of whose units have to be ReLU."""
        self.rows.append(Construction(name, make, shape, piecewise))

    def apply(self, name: str, function: Callable[..., Any], shape: Shape = (5,), piecewise: bool = True, **parts: Any) -> None:
        """A function, with parts that are given by functions that make them."""
        self.add(name, lambda: Apply(function, **{key: make() for key, make in parts.items()}), shape, piecewise)

    def smooth(self, name: str, make: Callable[[], nn.Module], shape: Shape = (5,)) -> None:
        """A module of any units."""
        self.add(name, make, shape, piecewise=False)

    def curved(self, name: str, function: Callable[..., Any], shape: Shape = (5,), **parts: Any) -> None:
        """A function of any units."""
        self.apply(name, function, shape, piecewise=False, **parts)


def parameter(*shape: int) -> Callable[[], nn.Parameter]:
    """Makes a parameter."""
    return lambda: nn.Parameter(torch.randn(*shape))
