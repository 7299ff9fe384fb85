"""Tensors as arrays, and what is known of an operator before it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from dcembed.importers.torch_.recording.trust import check_arguments
from dcembed.network.growth import Growth


def to_array(value: Any) -> Any:
    """A tensor as an array, with floating-point numbers in double precision; anything else stays."""
    if not isinstance(value, torch.Tensor):
        return value
    dense = value.detach().to_dense() if value.layout != torch.strided else value.detach()
    return (dense.double() if dense.is_floating_point() else dense).cpu().numpy()


def is_random(target: Any) -> bool:
    """Whether an operator gives something else at every call."""
    return isinstance(target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def check_size(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], growth: Growth) -> None:
    """Raise NetworkError if an operator would give more numbers than are accepted: a few bytes of a file can ask for gigabytes.

    The sizes come from tensors without numbers. Where they depend on numbers, there are no more of them than go in, but for repetitions,
    which are counted. Arguments that a kernel trusts are looked at as well.
    """
    if growth.most is None:
        return
    with _disable_current_modes():
        check_arguments(target, args, kwargs)
        if target is torch.ops.aten.repeat_interleave.Tensor:
            # In floating-point numbers, in which a sum does not begin anew.
            growth.check(int(args[0].double().sum()), "What is repeated")
        made = pytree.tree_leaves(_without_numbers(target, args, kwargs))
    for tensor in made:
        if isinstance(tensor, torch.Tensor):
            growth.check(tensor.numel(), f"A value of shape {tuple(tensor.shape)}")


def _without_numbers(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What an operator gives, as tensors that have sizes and nothing else; None if it needs numbers for it."""
    args, kwargs = pytree.tree_map(lambda leaf: leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf, (tuple(args), dict(kwargs)))
    if any(argument.name == "device" for argument in target._schema.arguments):
        kwargs = {**kwargs, "device": torch.device("meta")}
    try:
        return target(*args, **kwargs)
    except (NotImplementedError, RuntimeError):
        return None
