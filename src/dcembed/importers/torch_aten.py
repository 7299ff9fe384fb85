"""The operators of torch (aten) that can be embedded.

An operator that is not here is written out in simpler ones by torch, so that only those are here that would lose something by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.torch_constants import to_torch
from dcembed.importers.torch_operations import FUNCTIONS
from dcembed.network.builder import NetworkBuilder, Tensor
from torch.nn import functional as F


def _moving(target: Any) -> Callable[..., Any]:
    """An operator that only moves, repeats or drops entries: it is given their numbers instead."""

    def handler(builder: NetworkBuilder, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        value = ops.as_tensor(input)
        moved = target(torch.arange(value.affine.num_rows).reshape(value.shape), *map(to_torch, args), **kwargs)
        if isinstance(moved, torch.Tensor):
            return ops.select(builder, value, lambda entries: moved.numpy())
        return tuple(ops.select(builder, value, lambda entries, part=part: part.numpy()) for part in moved)

    return handler


def _sym_size(builder: NetworkBuilder, input: Tensor, dim: int) -> int:
    return input.shape[dim]

OPERATORS: dict[str, Callable[..., Any]] = {"sym_size": _sym_size,
"linear": FUNCTIONS[F.linear], "relu": FUNCTIONS[F.relu], "add": FUNCTIONS[torch.add], "sub": FUNCTIONS[torch.sub], "mul": FUNCTIONS[torch.mul],
"addmm": FUNCTIONS[torch.addmm], "mm": FUNCTIONS[torch.mm], "matmul": FUNCTIONS[torch.matmul], "cat": FUNCTIONS[torch.cat], "div":FUNCTIONS[torch.div],
"dropout": lambda builder, input, p, train: input,
"to": lambda builder, input, *a, **k: input,
}
for _name in ("view reshape permute transpose t slice select unsqueeze squeeze expand flatten unbind split chunk clone _unsafe_view alias detach").split():
    OPERATORS[_name] = _moving(getattr(torch.ops.aten, _name))
REASONS: dict[str, str] = {}
