"""The graph of a torch module: what its nodes are called, read and change, and the input size that they fix."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import fx, nn

from dcembed.importers.lowering import Layer, find_handler
from dcembed.importers.torch_operations import FUNCTIONS, METHODS, MODULES
from dcembed.network.builder import Tensor

# Operations after which the features are no longer those of the input.
_REARRANGING = frozenset({"cat", "concat", "concatenate", "getitem", "transpose", "permute", "getattr", "size", "dim"})
_RESHAPING = frozenset({"reshape", "view"})


def target_name(node: fx.Node) -> str:
    """The name of the function or method that a node calls."""
    return node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")


def fetch(root: nn.Module, node: fx.Node) -> Any:
    """An attribute of the module, tensors as arrays."""
    value = operator.attrgetter(str(node.target))(root)
    return value.detach().numpy().astype(np.float64) if isinstance(value, torch.Tensor) else value


def describe(root: nn.Module, node: fx.Node, index: int) -> Layer:
    """What an error calls the node."""
    if node.op == "call_module":
        name = str(node.target).removeprefix("model").removeprefix(".")
        return Layer(index, name or "model", type(root.get_submodule(str(node.target))).__name__)
    if node.op == "call_method":
        return Layer(index, node.name, f"Tensor.{node.target}")
    return Layer(index, node.name, _say_function(node.target))


def _say_function(function: Any) -> str:
    module = (
        str(getattr(function, "__module__", None) or "torch")
        .replace("_operator", "operator")
        .replace("torch._C._nn", "torch.nn.functional")
    )
    return f"{module}.{getattr(function, '__name__', function)}"


def find_operation(root: nn.Module, node: fx.Node) -> Callable[..., Any] | None:
    """The handler of a node; None if there is none."""
    if node.op == "call_module":
        module = root.get_submodule(str(node.target))
        handler = find_handler(MODULES, module, "forward")
        if handler is None:
            return None
        return lambda builder, input: handler(builder, module, input)
    if node.op == "call_method":
        return METHODS.get(str(node.target).removesuffix("_")) or METHODS.get(str(node.target))
    return FUNCTIONS.get(node.target)


def follow_inplace(root: nn.Module, node: fx.Node, values: dict[fx.Node, Any]) -> None:
    """After an in-place operation every name of the old value, or of a view of it, stands for the new one."""
    result = values[node]
    if not isinstance(result, Tensor) or not _is_inplace(root, node):
        return
    old = values[node.all_input_nodes[0]]
    for other, value in values.items():
        if isinstance(old, Tensor) and isinstance(value, Tensor) and value.affine is old.affine:
            values[other] = Tensor(result.affine, value.shape)


def _is_inplace(root: nn.Module, node: fx.Node) -> bool:
    if node.op == "call_module":
        return bool(getattr(root.get_submodule(str(node.target)), "inplace", False))
    name = target_name(node)
    return bool(node.kwargs.get("inplace", False)) or (name.endswith("_") and not name.endswith("__"))


def infer_shape(graph: fx.Graph, root: nn.Module) -> tuple[int, ...] | None:
    """The size that the first layer fixes, looked for through operations that keep the features; None if no layer does."""
    same: set[fx.Node] = set()
    for node in graph.nodes:
        if node.op == "placeholder":
            same.add(node)
        if not same.intersection(node.all_input_nodes):
            continue
        size = _fixed_size(root, node)
        if size is not None:
            return (size,)
        if _keeps_features(root, node):
            same.add(node)
    return None


def _keeps_features(root: nn.Module, node: fx.Node) -> bool:
    name = target_name(node)
    if name in _RESHAPING:
        return _feature_sizes(node) == (-1,)
    return find_operation(root, node) is not None and name not in _REARRANGING


def _fixed_size(root: nn.Module, node: fx.Node) -> int | None:
    if node.op == "call_module":
        return _module_size(root.get_submodule(str(node.target)))
    if target_name(node) in _RESHAPING:
        sizes = _feature_sizes(node)
        return math.prod(sizes) if sizes and all(isinstance(size, int) and size > 0 for size in sizes) else None
    axis = 0 if target_name(node) in ("matmul", "mm") else -1
    constants = [fetch(root, other) for other in node.all_input_nodes if other.op == "get_attr"]
    fixed = [constant.shape[axis] for constant in constants if isinstance(constant, np.ndarray) and constant.ndim and constant.size > 1]
    return fixed[0] if fixed else None


def _feature_sizes(node: fx.Node) -> tuple[Any, ...]:
    """The sizes that a reshape gives to all but the batch axis."""
    sizes = node.args[1:]
    return tuple(sizes[0][1:] if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else sizes[1:])


def _module_size(module: nn.Module) -> int | None:
    if isinstance(module, nn.Linear):
        return int(module.in_features)
    if isinstance(module, nn.BatchNorm1d):
        return int(module.num_features)
    if isinstance(module, nn.PReLU) and module.num_parameters > 1:
        return int(module.num_parameters)
    if isinstance(module, nn.Unflatten) and all(size > 0 for size in module.unflattened_size):
        return int(math.prod(module.unflattened_size))
    return None
