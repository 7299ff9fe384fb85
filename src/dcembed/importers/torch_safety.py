"""Which operators of torch a file may ask for: those that compute something from their arguments and do nothing else.

Torch has operators that open files (`aten::from_file`, `aten::save`). So an operator in a file is accepted only if it is one of those that
can be lowered, or if torch itself says how it is made of simpler ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from dcembed.importers.aten import OPERATORS


@dataclass(frozen=True)
class Refused:
    """Stands in a graph for an operator that is not accepted."""

    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing: it is never run."""
        raise NotImplementedError(self.__name__)


@cache
def allowed_names() -> frozenset[str]:
    """The operators that may be run, by their names without namespace and overload."""
    from torch._decomp import decomposition_table

    known = {str(target._schema.name.partition("::")[2]) for target in decomposition_table if isinstance(target, torch._ops.OpOverload)}
    return frozenset(known | set(OPERATORS) | MAKERS)


# They make constants.
MAKERS = frozenset({"arange", "empty", "full", "ones", "scalar_tensor", "zeros", "lift_fresh_copy", "lift_fresh", "tensor", "sym_size"})


def is_allowed(name: str) -> bool:
    """Whether an operator of this name may be run; with an underscore it changes a value of the graph in place."""
    return name in allowed_names() or name.removesuffix("_") in allowed_names()


def find_operator(target: str) -> Callable[..., Any] | Refused:
    """The operator that a file calls "torch.ops.aten.relu.default"."""
    parts = target.split(".")
    if len(parts) == 5 and parts[:2] == ["torch", "ops"] and parts[2] in ("aten", "prims") and is_allowed(parts[3]):
        found = getattr(getattr(getattr(torch.ops, parts[2]), parts[3], None), parts[4], None)
        if isinstance(found, torch._ops.OpOverload):
            return found
    return Refused(target.removeprefix("torch.ops."))
