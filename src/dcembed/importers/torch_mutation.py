"""Changes in place. Values are not changed here, so a graph in which a change is seen under another name is traced again without changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from dcembed.errors import NetworkError
from dcembed.importers.torch_decomposition import trace
from dcembed.importers.torch_program import Code, operator_name, read_code, run
from dcembed.importers.torch_safety import Refused

# They change something beside the numbers.
_HARMLESS = frozenset({"detach_", "requires_grad_"})
# They give their input itself at inference, though their schemas do not say so.
_SAME = frozenset({"dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "getitem"})


def without_mutation(code: Code, inputs: Sequence[torch.Tensor]) -> Code:
    """The same computation without changes in place that are seen elsewhere; `inputs` are of the sizes that matter."""
    if not _is_seen_elsewhere(code.graph) or any(isinstance(node.target, Refused) for node in code.graph.nodes):
        return code
    try:
        return read_code(trace(lambda *tensors: run(code, tensors, double=False), inputs))
    except Exception as error:
        raise NetworkError(
            f"The model changes values in place in a way that cannot be followed: {type(error).__name__}: {error}. "
            "Write y = y + 1 instead of y += 1 where y, or a part of it, is used under another name."
        ) from error


def is_mutation(target: Any) -> bool:
    """Whether an operator changes its first argument."""
    name = operator_name(target)
    return isinstance(target, torch._ops.OpOverload) and bool(target._schema.is_mutable) and name.endswith("_") and name not in _HARMLESS


def _is_seen_elsewhere(graph: fx.Graph) -> bool:
    """Whether something that shares memory with a changed value, other than the result of the change, is used after it."""
    owner: dict[fx.Node, fx.Node] = {}
    stale: set[fx.Node] = set()
    for node in graph.nodes:
        if any(source in stale for source in node.all_input_nodes):
            return True
        owner[node] = _find_owner(node, owner)
        if node.op == "call_function" and is_mutation(node.target):
            stale.update(other for other, root in owner.items() if root is owner[node] and other is not node)
            # What shares memory with the result is right again, and is not what was stale.
            owner[node] = node
    return False


def _find_owner(node: fx.Node, owner: dict[fx.Node, fx.Node]) -> fx.Node:
    """The node that made the memory of a value."""
    sources = node.all_input_nodes
    if node.op != "call_function" or not sources or not (_is_view(node.target) or is_mutation(node.target)):
        return node
    return owner[sources[0]]


def _is_view(target: Any) -> bool:
    if isinstance(target, torch._ops.OpOverload):
        return any(result.alias_info is not None for result in target._schema.returns) or operator_name(target) in _SAME
    return operator_name(target) in _SAME
