"""Networks beside the modules of torch that they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.export import Dim

from dcembed.importers import load_network
from dcembed.importers.torch_.recording.outputs import flatten
from dcembed.network import Network

TOLERANCE = 1e-9


class Behind(nn.Module):
    """A function of what a linear layer of three inputs and four outputs gives."""

    def __init__(self, function: Callable[..., Any], **buffers: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 4)
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, torch.as_tensor(value))

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, self.linear(x))


def evaluate(model: nn.Module, points: np.ndarray, *shapes: tuple[int, ...]) -> np.ndarray:
    """What a module gives in double precision, for points that hold its inputs one after the other."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    pieces = [torch.tensor(piece.reshape(-1, *shape)) for piece, shape in zip(np.split(points, ends, axis=1), shapes, strict=True)]
    with torch.no_grad():
        values = flatten(model.double()(*pieces))
    return np.concatenate([value.numpy().reshape(len(points), -1) for value in values], axis=1)


def assert_same(network: Network, model: nn.Module, *shapes: tuple[int, ...]) -> None:
    """A network gives what the module gives."""
    points = np.random.default_rng(1).normal(size=(20, network.num_inputs))
    np.testing.assert_allclose(network(points), evaluate(model, points, *shapes), rtol=TOLERANCE, atol=TOLERANCE)


def assert_loads(model: nn.Module, shape: tuple[int, ...] = (3,), **options: Any) -> Network:
    """The network of a live module, which gives what the module gives at inference."""
    network = load_network(model, **options)
    assert network.num_inputs == np.prod(shape)
    was_training = model.training
    assert_same(network, model.eval(), shape)
    model.train(was_training)
    return network


def export(model: nn.Module, *shapes: tuple[int, ...], count: int = 3, free: bool = True, dtype: torch.dtype = torch.float64) -> Any:
    """The program of a module, with a free batch axis or one of a fixed size."""
    inputs = tuple(torch.zeros((count, *shape), dtype=dtype) for shape in shapes)
    dynamic = tuple({0: Dim.AUTO} for _ in inputs) if free else None
    return torch.export.export(model, inputs, dynamic_shapes=dynamic)


def load_script(script: Any, folder: Path, **options: Any) -> tuple[Network, Network]:
    """The network of a live module of TorchScript, and of the file that holds it."""
    torch.jit.save(script, str(folder / "script.pt"))
    return load_network(script, **options), load_network(folder / "script.pt", **options)
