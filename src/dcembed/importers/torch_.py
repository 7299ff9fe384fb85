"""Read PyTorch modules through torch.fx: the graph of the module's forward pass, one operation at a time.

The user's module is never touched: a copy in double precision, on the CPU and in evaluation mode is traced and
checked. Values have the shape they have for a batch of one point.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import torch
from torch import fx, nn

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError, UnsupportedLayerError
from dcembed.importers.check import check
from dcembed.importers.lowering import Lowering, unknown_input
from dcembed.importers.request import Request
from dcembed.importers.torch_graph import describe, fetch, find_operation, follow_inplace, infer_shape
from dcembed.importers.torch_operations import ACCEPTED
from dcembed.network.builder import Tensor
from dcembed.network.network import Network


# The types of torch are not read, so that mypy takes its classes for Any.
class _OneInput(nn.Module):  # type: ignore[misc]
    """The module as a function of its first argument, so that defaults of the others are plain values in the trace."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)


def load(model: Any, request: Request) -> Network:
    """Read a torch module."""
    request.allow_only("torch model")
    if not isinstance(model, nn.Module):
        raise InputError(
            f"A torch object of type {type(model).__name__} is not a model. Pass the nn.Module itself, for example nn.Sequential."
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise InputError("A TorchScript module cannot be traced. Pass the Python module it was made from, or export it to ONNX.")
    _check_signature(model)
    root = _OneInput(_copy(model))
    graph = _trace(root)
    shape = request.input_shape or infer_shape(graph, root)
    lowering, output = _walk(graph, root, shape)
    lowering.raise_problems()
    if shape is None:
        raise unknown_input("torch", "no layer that uses the input fixes it")
    if not isinstance(output, Tensor):
        raise NetworkError(f"The torch model returns {_say_output(output)}. Accepted is one tensor: wrap the model to return just that.")
    rounds = any(node.op == "call_method" and node.target in ("float", "to", "type") for node in graph.nodes)
    return _check_forward(lowering.finish(output), root, shape, rounds)


def _copy(model: nn.Module) -> nn.Module:
    if any(nn.parameter.is_lazy(tensor) for tensor in (*model.parameters(), *model.buffers())):
        raise NetworkError("The torch model has lazy layers without weights. Call it once on a batch of data, then load it.")
    # A compiled module keeps the original, which is the one that can be traced.
    original = getattr(model, "_orig_mod", model)
    try:
        with torch.no_grad():
            return copy.deepcopy(original).cpu().double().eval()
    except Exception as error:
        raise NetworkError(f"The torch model cannot be copied to the CPU in double precision: {type(error).__name__}: {error}.") from error


def _check_signature(model: nn.Module) -> None:
    parameters = inspect.signature(model.forward).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(required) > 1:
        raise NetworkError(
            f"The torch model takes {len(required)} inputs ({', '.join(required)}); one is accepted. "
            "Wrap it in a module that takes one vector and splits it."
        )


def _trace(root: _OneInput) -> fx.Graph:
    try:
        with torch.no_grad():
            graph = fx.Tracer().trace(root)
    except Exception as error:
        raise UnsupportedLayerError(
            f"torch.fx cannot trace the forward pass of {type(root.model).__name__}: {type(error).__name__}: {error}\n"
            "Branches and loops that depend on the data cannot be embedded. Move them out of forward, "
            "or export the model with torch.onnx.export and load the .onnx file."
        ) from error
    if all(node.op in ("placeholder", "output", "get_attr") for node in graph.nodes):
        raise NetworkError(f"The network is empty: {type(root.model).__name__} has no layer. Pass a model with at least one.")
    return graph


def _walk(graph: fx.Graph, root: _OneInput, shape: tuple[int, ...] | None) -> tuple[Lowering, Any]:
    """Lower every node; the second value is what the module returns."""
    lowering = Lowering("torch", ACCEPTED, None if shape is None else (1, *shape))
    values: dict[fx.Node, Any] = {}
    index = 0
    output: Any = None
    for node in graph.nodes:
        args, kwargs = (fx.node.map_arg(item, values.__getitem__) for item in (node.args, node.kwargs))
        if node.op == "placeholder":
            values[node] = lowering.input
        elif node.op == "get_attr":
            values[node] = fetch(root, node)
        elif node.op == "output":
            output = args[0]
        else:
            values[node] = lowering.apply(describe(root, node, index), find_operation(root, node), *args, **kwargs)
            follow_inplace(root, node, values)
            index += 1
    return lowering, output


def _say_output(output: Any) -> str:
    if isinstance(output, list | tuple | dict):
        return f"a {type(output).__name__} of {len(output)} values"
    return "a value that does not depend on its input"


def _check_forward(network: Network, root: _OneInput, shape: tuple[int, ...], rounds: bool) -> Network:
    """In double precision, or in single precision where the model insists on it; `rounds` says that it converts to it on the way."""
    dtype = torch.float64
    try:
        with torch.no_grad():
            root(torch.zeros((2, *shape), dtype=dtype))
    except Exception:
        root, dtype = root.float(), torch.float32

    def forward(points: Array) -> Array:
        with torch.no_grad():
            values: Array = root(torch.tensor(points.reshape(-1, *shape), dtype=dtype)).double().numpy()
        return values

    return check(network, forward, "torch model", precision="float32" if rounds or dtype is torch.float32 else "float64")
