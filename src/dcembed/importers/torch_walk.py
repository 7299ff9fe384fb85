"""Lower the graph of a program, operator by operator.

Values have the shape they have for one point. Operators on constants alone are run; those that nothing is known about are written out in
simpler ones by torch itself, and these are lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from dcembed.importers.lowering import UNKNOWN, Layer, Lowering
from dcembed.importers.operations import Unsupported
from dcembed.importers.aten import OPERATORS, REASONS
from dcembed.importers.torch_batch import for_one_point
from dcembed.importers.torch_constants import fold, is_random, to_array
from dcembed.importers.torch_decomposition import can_decompose, decompose
from dcembed.importers.torch_mutation import is_mutation
from dcembed.importers.torch_program import WRAPPERS, Code, modules_of, operator_name, returned
from dcembed.network.builder import NetworkBuilder, Tensor


def walk(lowering: Lowering, code: Code, inputs: Sequence[Any], outputs: Sequence[int], batch: int | None) -> list[Any]:
    """The values of some outputs, given the values of all inputs.

    Parameters
    ----------
    outputs
        Which of the values that the graph returns; nodes that they do not need are left out.
    batch
        The size of the batch axis with which the graph was made, if it is written down in it.
    """
    results = [returned(code.graph)[index] for index in outputs]
    values = _start(code, inputs)
    calls = [node for node in _needed(code.graph, results) if node.op == "call_function"]
    for index, node in enumerate(calls):
        args, kwargs = (fx.node.map_arg(item, values.__getitem__) for item in (node.args, node.kwargs))
        args = for_one_point(node, args, batch)
        values[node] = lowering.apply(_describe(node, index), _find_operation(node.target, args, kwargs), *args, **kwargs)
    return [values[item] if isinstance(item, fx.Node) else item for item in results]


def _start(code: Code, inputs: Sequence[Any]) -> dict[fx.Node, Any]:
    """The values of all nodes that compute nothing."""
    values: dict[fx.Node, Any] = dict(zip((node for node in code.graph.nodes if node.op == "placeholder"), inputs, strict=True))
    return values | {node: to_array(code.attributes[str(node.target)]) for node in code.graph.nodes if node.op == "get_attr"}


def _needed(graph: fx.Graph, results: Iterable[Any]) -> list[fx.Node]:
    """The nodes that the results depend on, in order."""
    found: set[fx.Node] = set()
    pending = [item for item in results if isinstance(item, fx.Node)]
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending.extend(node.all_input_nodes)
    return [node for node in graph.nodes if node in found]


def _describe(node: fx.Node, index: int) -> Layer:
    modules = [(path, kind) for path, kind in modules_of(node) if path]
    path, kind = modules[-1] if modules else (node.name, "")
    name = str(node.target) if not isinstance(node.target, torch._ops.OpOverload) else f"aten.{operator_name(node.target)}"
    return Layer(index, path, f"{kind}, {name}" if kind else name)


def _find_operation(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[..., Any] | None:
    """What to do for an operator with these arguments; None if nothing is known."""
    name = operator_name(target)
    leaves = pytree.tree_leaves((tuple(args), dict(kwargs)))
    if name in WRAPPERS or name == "cond":
        return partial(_enter, name)
    if not any(isinstance(leaf, Tensor) or leaf is UNKNOWN for leaf in leaves):
        return lambda builder, *args, **kwargs: fold(builder, target, args, kwargs)
    if not isinstance(target, torch._ops.OpOverload):
        # Functions of sizes, and parts of tuples.
        return (lambda builder, *args: target(*args)) if name == "getitem" else None
    known = OPERATORS.get(name) or (OPERATORS.get(name.removesuffix("_")) if is_mutation(target) else None)
    if known is not None:
        return known
    if name in REASONS or is_random(target):
        return partial(_refuse, REASONS.get(name, "draws random numbers"))
    if can_decompose(target):
        return lambda builder, *args, **kwargs: _decomposed(builder, target, args, kwargs)
    return None


def _call(builder: NetworkBuilder, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """An operator inside of another one."""
    operation = _find_operation(target, args, kwargs)
    if operation is None:
        raise Unsupported(f"does so by aten.{operator_name(target)}, which is not known")
    return operation(builder, *args, **kwargs)


def _run(builder: NetworkBuilder, code: Code, inputs: Sequence[Any]) -> list[Any]:
    """A graph inside of another one."""
    values = _start(code, inputs)
    results = returned(code.graph)
    for node in _needed(code.graph, results):
        if node.op == "call_function":
            args, kwargs = (fx.node.map_arg(item, values.__getitem__) for item in (node.args, node.kwargs))
            values[node] = _call(builder, node.target, args, kwargs)
    return [values[item] if isinstance(item, fx.Node) else item for item in results]


def _enter(name: str, builder: NetworkBuilder, *args: Any) -> Any:
    """A graph under a mode that does not matter here, or the branch that a constant chooses."""
    if name in WRAPPERS:
        return tuple(_run(builder, args[WRAPPERS[name]], args[WRAPPERS[name] + 1 :]))
    if isinstance(args[0], Tensor):
        raise Unsupported("chooses between two branches by a computed value: it jumps where the choice changes")
    return tuple(_run(builder, args[1] if args[0] else args[2], args[3]))


def _decomposed(builder: NetworkBuilder, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    found = decompose(target, args, kwargs)
    if found is None:
        raise Unsupported("is not known")
    code, inputs = found
    results = _run(builder, code, inputs)
    several = len(target._schema.returns) > 1 or isinstance(target._schema.returns[0].type, torch.ListType)
    return tuple(results) if several else results[0]


def _refuse(reason: str, builder: NetworkBuilder, *args: Any, **kwargs: Any) -> Any:
    raise Unsupported(reason)
