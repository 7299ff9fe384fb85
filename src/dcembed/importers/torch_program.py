"""A forward pass as torch writes it down: a graph of operators, the constants in it, its inputs and outputs.

Everything that comes through torch.export or TorchScript has this form before it is lowered. A graph is run here node by node, never
through the Python code that torch.fx would generate from it: names in a file would become part of that code.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.utils import _pytree as pytree

FLOATS = (torch.float32, torch.float16, torch.bfloat16)

# Operators that only look at values, and those that set a mode for a graph in the graph: which of their arguments it is.
ASSERTIONS = frozenset(
    {"_assert_scalar", "_assert_async", "_functional_assert_scalar", "_functional_assert_async", "_assert_tensor_metadata"}
)
ASSERTIONS |= {"sym_constrain_range", "sym_constrain_range_for_size", "_functional_sym_constrain_range", "_assert"}
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
        Of its entries, None if nothing says it.
    batches
        The least and the largest size that a free first axis may have.
    """

    name: str
    sizes: tuple[int | None, ...]
    dtype: torch.dtype | None = None
    batches: tuple[int, int] = (1, 2**31)


@dataclass(frozen=True)
class Program:
    """A forward pass.

    Parameters
    ----------
    what
        For messages, such as "exported program".
    code
        Its placeholders are the inputs; what it returns is a list of all tensors in what the model returns.
    outputs
        The names of what it returns.
    """

    what: str
    code: Code
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]


def read_code(module: fx.GraphModule) -> Code:
    """The graph of a module, with its attributes."""
    targets = {str(node.target) for node in module.graph.nodes if node.op == "get_attr"}
    return Code(module.graph, {target: _read_attribute(operator.attrgetter(target)(module)) for target in targets})


def _read_attribute(value: Any) -> Any:
    if isinstance(value, fx.GraphModule):
        return read_code(value)
    return value.detach().cpu() if isinstance(value, torch.Tensor) else value


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


def returned(graph: fx.Graph) -> list[Any]:
    """The nodes and numbers that a graph returns, one after the other."""
    last = next(node for node in reversed(graph.nodes) if node.op == "output")
    return list(pytree.tree_leaves(last.args[0], is_leaf=lambda value: value is None))


def run(code: Code, inputs: Sequence[Any], double: bool) -> list[Any]:
    """What the graph returns at these inputs, with all types of floating-point numbers in it made double on request."""
    values: dict[fx.Node, Any] = {}
    remaining = iter(inputs)
    for node in code.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(remaining)
        elif node.op == "get_attr":
            values[node] = _in_double(code.attributes[str(node.target)]) if double else code.attributes[str(node.target)]
        elif node.op == "call_function" and operator_name(node.target) not in ASSERTIONS:
            args, kwargs = (
                fx.node.map_aggregate(item, lambda value: _argument(value, values, double)) for item in (node.args, node.kwargs)
            )
            values[node] = _call(node.target, args, kwargs, double)
    return [values[item] if isinstance(item, fx.Node) else item for item in returned(code.graph)]


def _argument(value: Any, values: Mapping[fx.Node, Any], double: bool) -> Any:
    if isinstance(value, fx.Node):
        return values[value]
    return torch.float64 if double and isinstance(value, torch.dtype) and value in FLOATS else value


def _call(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any], double: bool) -> Any:
    name = operator_name(target)
    if name in WRAPPERS:
        return tuple(run(args[WRAPPERS[name]], args[WRAPPERS[name] + 1 :], double))
    if name == "cond":
        return tuple(run(args[1] if args[0] else args[2], args[3], double))
    return target(*args, **kwargs)


def _in_double(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.dtype in FLOATS else value


def modules_of(node: fx.Node) -> list[tuple[str, str]]:
    """The modules that a node was traced in, outermost first: their names in the model and the names of their classes."""
    stack = node.meta.get("nn_module_stack") or {}
    return [(str(path), str(getattr(kind, "__name__", kind)).rpartition(".")[2]) for path, kind in stack.values()]


__all__ = ["Code", "Input", "Program", "nn"]
