"""Operators of torch written out in simpler ones, by torch itself."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from dcembed.importers.torch_constants import to_torch
from dcembed.importers.torch_program import Code, read_code
from dcembed.network.builder import Tensor


def can_decompose(target: Any) -> bool:
    """Whether torch says how an operator is made of others."""
    from torch._decomp import decomposition_table

    if not isinstance(target, torch._ops.OpOverload):
        return False
    return target in decomposition_table or target._can_decompose()


def decompose(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Code, list[Any]] | None:
    """A graph that does what an operator does for arguments of these shapes, and what its placeholders stand for.

    None if torch knows nothing simpler.
    """
    from torch._decomp import decomposition_table

    leaves, structure = pytree.tree_flatten((tuple(args), dict(kwargs)))
    places = [index for index, leaf in enumerate(leaves) if isinstance(_stand_in(leaf), torch.Tensor)]

    def apply(*tensors: torch.Tensor) -> Any:
        filled = [to_torch(leaf) for leaf in leaves]
        for index, tensor in zip(places, tensors, strict=True):
            filled[index] = tensor
        whole_args, whole_kwargs = pytree.tree_unflatten(filled, structure)
        return target(*whole_args, **whole_kwargs)

    table = {target: decomposition_table[target]} if target in decomposition_table else {}
    graph = trace(apply, [_stand_in(leaves[index]) for index in places], table)
    calls = [node for node in graph.graph.nodes if node.op == "call_function"]
    if not calls or calls[0].target is target:
        return None
    return read_code(graph), [leaves[index] for index in places]


def trace(function: Any, inputs: Sequence[torch.Tensor], table: Mapping[Any, Any] | None = None) -> Any:
    """The operators that a function of tensors calls, as a module of torch.fx without changes in place."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        module = make_fx(torch.func.functionalize(function), decomposition_table=dict(table or {}))(*inputs)
    module.graph.eliminate_dead_code()
    return module


def _stand_in(value: Any) -> Any:
    return torch.zeros(value.shape, dtype=torch.float64) if isinstance(value, Tensor) else to_torch(value)
