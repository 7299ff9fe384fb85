"""Operators of torch on constants alone: they are run, in double precision, unless what comes out is out of all proportion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from dcembed.importers.operations import Unsupported
from dcembed.importers.torch_program import FLOATS
from dcembed.network.builder import NetworkBuilder
from dcembed.network.growth import Growth


def to_array(value: Any) -> Any:
    """A tensor as an array, with floating-point numbers in double precision; anything else stays."""
    if not isinstance(value, torch.Tensor):
        return value
    dense = value.detach().to_dense() if value.layout != torch.strided else value.detach()
    return (dense.double() if dense.is_floating_point() else dense).cpu().numpy()


def to_torch(value: Any) -> Any:
    """An array as a tensor, and types of floating-point numbers as double precision; anything else stays."""
    if isinstance(value, torch.dtype):
        return torch.float64 if value in FLOATS else value
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray | np.generic) else value


def fold(builder: NetworkBuilder, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What an operator gives for constants."""
    if is_random(target):
        raise Unsupported("draws random numbers")
    args, kwargs = pytree.tree_map(to_torch, (tuple(args), dict(kwargs)))
    if builder.growth.most is not None and isinstance(target, torch._ops.OpOverload):
        _check_size(target, args, kwargs, builder.growth)
    return pytree.tree_map(to_array, target(*args, **kwargs))


def is_random(target: Any) -> bool:
    """Whether an operator gives something else at every call."""
    return isinstance(target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def _check_size(target: Any, args: Any, kwargs: Any, growth: Growth) -> None:
    """The sizes come first, from tensors without numbers: a few bytes of a file can ask for gigabytes."""
    args, kwargs = pytree.tree_map(lambda value: value.to("meta") if isinstance(value, torch.Tensor) else value, (args, kwargs))
    if any(argument.name == "device" for argument in target._schema.arguments):
        kwargs = {**kwargs, "device": torch.device("meta")}
    try:
        shapes = [value.shape for value in pytree.tree_leaves(target(*args, **kwargs)) if isinstance(value, torch.Tensor)]
    except NotImplementedError:
        raise Unsupported("makes a constant whose size depends on its values") from None
    for shape in shapes:
        growth.check(shape.numel(), f"A constant of shape {tuple(shape)}")
