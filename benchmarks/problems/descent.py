"""Perceptrons of torch and how they are trained: Adam with a rate that falls exponentially."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch


def perceptron(sizes: Sequence[int], make_layer: Callable[[], torch.nn.Module] = torch.nn.ReLU) -> torch.nn.Sequential:
    """Linear layers between values of these sizes, with an activation behind all of them but the last."""
    *hidden, last = itertools.pairwise(sizes)
    layers = [layer for a, b in hidden for layer in (torch.nn.Linear(a, b), make_layer())]
    return torch.nn.Sequential(*layers, torch.nn.Linear(*last))


def descend(
    model: torch.nn.Module, draw_loss: Callable[[], torch.Tensor], num_steps: int, first_rate: float, last_rate: float
) -> Iterator[int]:
    """The steps, numbered from 1, each after it is done. `draw_loss` gives the loss on points of its choice."""
    optimizer = torch.optim.Adam(model.parameters(), lr=first_rate)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, (last_rate / first_rate) ** (1 / num_steps))
    for step in range(1, num_steps + 1):
        loss = draw_loss()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        yield step


def fit(model: torch.nn.Module, draw_loss: Callable[[], torch.Tensor], num_steps: int, first_rate: float, last_rate: float) -> None:
    """All steps one after the other."""
    for _ in descend(model, draw_loss, num_steps, first_rate, last_rate):
        pass


def named_weights(model: torch.nn.Sequential) -> dict[str, np.ndarray]:
    """W1, b1, ... of the linear layers of a model, and the names of what is between them."""
    linear = [layer for layer in model if isinstance(layer, torch.nn.Linear)]
    named = {"activations": np.array([type(layer).__name__ for layer in model if not isinstance(layer, torch.nn.Linear)])}
    for number, layer in enumerate(linear, start=1):
        named[f"W{number}"] = layer.weight.detach().numpy().copy()
        named[f"b{number}"] = layer.bias.detach().numpy().copy()
    return named
