"""A forward pass as torch writes it down: a graph of operators, the constants in it, its inputs and outputs.

A graph is run here node by node, never through the Python code that torch.fx would generate from it: names in a file would become part of
that code.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import fx
from torch.utils import _pytree as pytree

from dcembed.importers.torch_.recording.names import operator_name

FLOATS = (torch.float32, torch.float16, torch.bfloat16)

# Operators that only look at values.
ASSERTIONS = frozenset(
    [
        "_assert",
        "_assert_scalar",
        "_assert_async",
        "_assert_tensor_metadata",
        "_functional_assert_scalar",
        "_functional_assert_async",
        "sym_constrain_range",
        "sym_constrain_range_for_size",
        "_functional_sym_constrain_range",
    ]
)
# Those that set a mode for a graph in the graph, and which of their arguments it is.
WRAPPERS = {"wrap_with_set_grad_enabled": 1, "wrap_with_autocast": 4}


@dataclass(frozen=True)
class Code:
    """A graph of operators, and what its `get_attr` nodes stand for: tensors, and graphs in the graph."""

    graph: fx.Graph
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Input:
    """An input of a program.

    Parameters
    ----------
    sizes
        Of its axes; None is free.
    dtype
        Of its entries.
    batches
        The least and the largest size that a free first axis may have.
    """

    name: str
    sizes: tuple[int | None, ...]
    dtype: torch.dtype
    batches: tuple[int, int] = (1, 2**31)


@dataclass(frozen=True)
class Program:
    """A forward pass.

    Parameters
    ----------
    code
        Its placeholders are the inputs; what it returns is a list of all values in what the model returns.
    outputs
        The names of what it returns.
    """

    code: Code
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]


class Steps(Protocol):
    """Is told what a graph does while it runs."""

    def before(self, node: fx.Node, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments that an operator is to be called with."""

    def after(self, node: fx.Node, value: Any) -> None:
        """The value of a node is known."""


def read_code(module: fx.GraphModule) -> Code:
    """The graph of a module, with its attributes."""
    targets = {str(node.target) for node in module.graph.nodes if node.op == "get_attr"}
    return Code(module.graph, {target: _read_attribute(operator.attrgetter(target)(module)) for target in targets})


def _read_attribute(value: Any) -> Any:
    if isinstance(value, fx.GraphModule):
        return read_code(value)
    return value.detach().cpu() if isinstance(value, torch.Tensor) else value


def recorded_sizes(node: fx.Node) -> tuple[int | None, ...] | None:
    """The shape that a value had when the graph was made, None for free sizes; None where nothing says it."""
    if "sizes" in node.meta:
        return tuple(node.meta["sizes"])
    value = node.meta.get("val")
    return tuple(map(_known_size, value.shape)) if isinstance(value, torch.Tensor) else None


def _known_size(size: Any) -> int | None:
    """A symbol may have turned out to be one number."""
    if isinstance(size, int):
        return size
    expression = size.node.expr
    return int(expression) if expression.is_number else None


def returned(code: Code) -> list[Any]:
    """The nodes and plain values that a graph returns, one after the other."""
    last = next(node for node in reversed(code.graph.nodes) if node.op == "output")
    return list(pytree.tree_leaves(last.args[0], is_leaf=lambda value: value is None))


def needed(code: Code, outputs: Iterable[int]) -> set[fx.Node]:
    """The nodes that some outputs depend on, by values or by changes in place."""
    leaves = returned(code)
    pending = [leaves[index] for index in outputs if isinstance(leaves[index], fx.Node)]
    pending += [node for node in code.graph.nodes if _changes_something(node.target)]
    found: set[fx.Node] = set()
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending.extend(node.all_input_nodes)
    return found


def _changes_something(target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload) and bool(target._schema.is_mutable)


def run(code: Code, inputs: Sequence[Any], double: bool, nodes: set[fx.Node] | None = None, steps: Steps | None = None) -> list[Any]:
    """What a graph returns.

    Parameters
    ----------
    double
        Whether all floating-point numbers in it are made double.
    nodes
        Those to run; None for all of them. Values of others are None.
    steps
        Is told what happens.
    """
    values: dict[fx.Node, Any] = {}
    remaining = iter(inputs)
    for node in code.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(remaining)
        elif nodes is not None and node not in nodes:
            continue
        elif node.op == "get_attr":
            values[node] = _own(code.attributes[str(node.target)], double)
        elif node.op == "call_function" and operator_name(node.target) not in ASSERTIONS:
            args, kwargs = (
                fx.node.map_aggregate(item, lambda value: _argument(value, values, double)) for item in (node.args, node.kwargs)
            )
            args = args if steps is None else steps.before(node, args)
            values[node] = _squeeze(node, args) if node.target is _SQUEEZE else _call(node.target, args, kwargs, double, steps)
        if steps is not None and node in values:
            steps.after(node, values[node])
    return [values.get(item) if isinstance(item, fx.Node) else item for item in returned(code)]


_SQUEEZE = torch.ops.aten.squeeze.default


def _squeeze(node: fx.Node, args: Sequence[Any]) -> torch.Tensor:
    """Without the axes that had size 1 when the graph was made: one point is a batch of size 1, and is one still."""
    sizes = recorded_sizes(node.all_input_nodes[0])
    squeezed: torch.Tensor = args[0].squeeze() if sizes is None else args[0].squeeze(tuple(k for k, size in enumerate(sizes) if size == 1))
    return squeezed


def _own(value: Any, double: bool) -> Any:
    """A copy, since the graph may change it in place."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.double() if double and value.dtype in FLOATS else value.clone()


def _argument(value: Any, values: Mapping[fx.Node, Any], double: bool) -> Any:
    if isinstance(value, fx.Node):
        return values[value]
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return torch.float64 if double and isinstance(value, torch.dtype) and value in FLOATS else value


def _call(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], double: bool, steps: Steps | None) -> Any:
    name = operator_name(target)
    if name in WRAPPERS:
        return tuple(run(args[WRAPPERS[name]], args[WRAPPERS[name] + 1 :], double, steps=steps))
    if name == "cond":
        return tuple(run(args[1] if args[0] else args[2], args[3], double, steps=steps))
    return target(*args, **kwargs)
