"""What a live module is called with: the arguments of its forward pass that are inputs, and those that are constants."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError
from dcembed.importers.request import Request

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Arguments:
    """The arguments of a forward pass.

    Parameters
    ----------
    names
        Of those that are inputs, in the order in which a point holds them.
    positions
        Of those that are passed by position, in their order.
    fixed
        The values of those that are constants.
    defaults
        The values of those passed by position that may be left out.
    """

    names: tuple[str, ...]
    positions: tuple[str, ...]
    fixed: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def call(self, model: nn.Module, inputs: Mapping[str, torch.Tensor], dtype: torch.dtype) -> Any:
        """What the model gives for a batch of points, given each input as a tensor."""
        count = len(next(iter(inputs.values())))
        values = {**{name: _for_batch(value, count, dtype) for name, value in self.fixed.items()}, **inputs}
        keywords = {name: value for name, value in values.items() if name not in self.positions}
        return model(*self._by_position(values), **keywords)

    def _by_position(self, values: Mapping[str, Any]) -> list[Any]:
        """Up to the last one that is given; those before it that are not have their defaults."""
        last = max((place for place, name in enumerate(self.positions, 1) if name in values), default=0)
        return [values[name] if name in values else self.defaults[name] for name in self.positions[:last]]

    def split(self, points: Array, shapes: Shapes, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Points (k, size of all inputs) as a tensor for each input."""
        ends = np.cumsum([math.prod(shapes[name]) for name in self.names])[:-1]
        pieces = np.split(points, ends, axis=1)
        return {name: torch.tensor(piece.reshape(-1, *shapes[name]), dtype=dtype) for name, piece in zip(self.names, pieces, strict=True)}


def _for_batch(value: Any, count: int, dtype: torch.dtype) -> Any:
    """A constant for one point, repeated for a batch; plain numbers, texts and switches stay what they are."""
    if not isinstance(value, np.ndarray | torch.Tensor | list | tuple):
        return value
    tensor = torch.as_tensor(value) if not isinstance(value, list | tuple) else torch.as_tensor(np.asarray(value))
    tensor = tensor.detach().cpu().to(dtype) if tensor.is_floating_point() else tensor.detach().cpu()
    return tensor.expand(count, *tensor.shape).clone()


def read_arguments(model: nn.Module, request: Request) -> Arguments:
    """Which arguments are inputs: those the user names, or all that have no default."""
    parameters = [p for p in inspect.signature(model.forward).parameters.values() if p.kind is not p.VAR_KEYWORD]
    known = [p.name for p in parameters]
    required = [p.name for p in parameters if p.default is p.empty]
    fixed = dict(request.fixed or {})
    names = request.inputs if request.inputs is not None else tuple(name for name in required if name not in fixed)
    for name in (*names, *fixed):
        if name not in known:
            raise InputError(f"load_network: inputs has '{name}', but the forward pass of the torch model takes {', '.join(known)}.")
    request.refuse_repeated_inputs("torch")
    left = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL and p.name not in (*names, *fixed)]
    if left:
        raise InputError(
            f"load_network: inputs says nothing of '{left[0]}', which the forward pass of the torch model needs. "
            f"Add it, or give it a value: inputs={_example(names, left[0])}."
        )
    if not names:
        raise NetworkError("The torch model takes no input. Accepted are modules whose forward pass takes at least one tensor.")
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    # Behind a default only those that have no keyword need their place.
    several = any(p.kind is p.VAR_POSITIONAL and p.name in (*names, *fixed) for p in positional)
    placed = [p for p in positional if several or p.kind is not p.POSITIONAL_OR_KEYWORD or p.name in required]
    defaults = {p.name: p.default for p in placed if p.default is not p.empty}
    return Arguments(tuple(names), tuple(p.name for p in placed), fixed, defaults)


def _example(names: Sequence[str], missing: str) -> str:
    return "{" + ", ".join([*(f"'{name}': None" for name in names), f"'{missing}': value"]) + "}"
