"""What operators and outputs are called."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree


def operator_name(target: Any) -> str:
    """How an operator of torch is called, without its namespace and overload; other functions by their own name."""
    if isinstance(target, torch._ops.OpOverload):
        return str(target._schema.name.partition("::")[2])
    if isinstance(target, torch._ops.HigherOrderOperator):
        return str(target.name())
    return str(getattr(target, "__name__", target))


def name_outputs(structure: Any) -> tuple[str, ...]:
    """The names of all values in what a model returns: keys of dictionaries, numbers in tuples, joined by dots.

    Examples
    --------
    >>> name_outputs({"mean": 1.0, "rest": (2.0, 3.0)})
    ('mean', 'rest.0', 'rest.1')
    >>> name_outputs(1.0)
    ('output',)
    """
    paths = [path for path, _ in pytree.tree_flatten_with_path(structure)[0]]
    return tuple(".".join(_say_key(key) for key in path) or "output" for path in paths)


def _say_key(key: Any) -> str:
    return str(next(getattr(key, name) for name in ("key", "idx", "name") if hasattr(key, name)))
