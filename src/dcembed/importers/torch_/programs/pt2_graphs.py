"""Graphs in .pt2 files: JSON that names operators of torch and says what goes into them."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from dcembed.errors import NetworkError
from dcembed.importers.torch_.files.archive import read_dtype
from dcembed.importers.torch_.files.safety import Refused, find_operator
from dcembed.importers.torch_.programs.program import Code, Input

_WORDS = "eq ne le ge lt gt neg pos mul add sub floordiv truediv mod and_ or_ not_"


def _power(base: Any, exponent: Any) -> Any:
    """Of sizes, which are small."""
    if abs(exponent) > LARGEST_POWER:
        raise NetworkError(f"The program raises a size to the power of {exponent}; it is damaged. Export the model again.")
    return base**exponent


def _of_sizes(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, which gives no larger ones than sizes can be; of texts and lists it would make any number of bytes."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        given = [value for value in args if not isinstance(value, int | float | torch.Tensor)]
        result = None if given else function(*args)
        if given or (isinstance(result, int) and abs(result) >= 2**63):
            raise NetworkError(
                f"The program computes {name} of {', '.join(repr(value)[:40] for value in args)}, which are no sizes. "
                "It is damaged. Export the model again."
            )
        return result

    return call


# Functions of sizes that are not known when a model is exported.
LARGEST_POWER = 8
_OF_SIZES: dict[str, Callable[..., Any]] = {f"_operator.{name}": getattr(operator, name) for name in _WORDS.split()} | {
    "_operator.pow": _power,
    "math.trunc": math.trunc,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "torch.sym_not": operator.not_,
    "torch.sym_int": int,
    "torch.sym_float": float,
    "torch.sym_ite": lambda condition, one, other: one if condition else other,
    "torch.sym_max": max,
    "torch.sym_min": min,
    "torch.sym_sqrt": math.sqrt,
}
_FUNCTIONS = {name: _of_sizes(name, function) for name, function in _OF_SIZES.items()} | {"_operator.getitem": operator.getitem}
_WRAPPERS = {f"torch.ops.higher_order.{name}" for name in ("wrap_with_set_grad_enabled", "wrap_with_autocast", "cond")}
# Of the kinds of arguments that are plain values in JSON.
_PLAIN = frozenset({"as_int", "as_ints", "as_bool", "as_bools", "as_string", "as_strings", "as_int_lists"})


class GraphReader:
    """A graph from its JSON."""

    def __init__(self, data: Mapping[str, Any], weights: Mapping[str, Any]) -> None:
        self._data = data
        self._weights = weights
        self._graph = fx.Graph()
        self._attributes: dict[str, Any] = {}
        self._values: dict[str, Any] = {}

    def add_input(self, argument: Mapping[str, Any], ranges: Mapping[str, Any]) -> list[Input]:
        """An input of the model; what is not a tensor is a constant of the program."""
        ((kind, value),) = argument.items()
        if kind != "as_tensor":
            name = next(iter(value.values())) if isinstance(value, dict) else ""
            if isinstance(name, str) and name:
                raise NetworkError(f"The input '{name}' of the program is not a tensor. Export the model with a number in its place.")
            return []
        name = value["name"]
        self._values[name] = self._graph.placeholder(name)
        self._note_shape(self._values[name], name)
        return [_read_input(name, self._data["tensor_values"][name], ranges)]

    def add_placeholder(self, argument: Mapping[str, Any]) -> None:
        """An input of a graph in the graph."""
        name = next(iter(argument.values()))
        name = name.get("name", name.get("as_name"))
        self._values[name] = self._graph.placeholder(name)

    def add_constant(self, kind: str, spec: Mapping[str, Any]) -> None:
        """A parameter, a buffer, a tensor or a number that is the same for all inputs."""
        keys = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}
        if kind == "constant_input":
            self._values[spec["name"]] = next(value for name, value in spec["value"].items()) if "as_none" not in spec["value"] else None
            return
        if kind not in keys:
            raise NetworkError(f"The program has an input of kind '{kind}'; tensors are accepted. Export a model of tensors alone.")
        name = spec["arg"]["name"]
        if not isinstance(self._weights.get(spec[keys[kind]]), torch.Tensor):
            raise NetworkError(f"The file has no numbers for the {kind} '{spec[keys[kind]]}'. Write it again, or check the download.")
        self._values[name] = self._attribute(name, self._weights[spec[keys[kind]]])

    def _attribute(self, name: str, value: Any) -> fx.Node:
        target = f"constant_{len(self._attributes)}"
        self._attributes[target] = value
        return self._graph.create_node("get_attr", target, name=name)

    def add_node(self, data: Mapping[str, Any]) -> None:
        """One operator, and the names of what it gives."""
        target = str(data["target"])
        given = [(entry["name"], self._argument(entry["arg"])) for entry in data["inputs"]]
        function, args, kwargs = _bind(target, given)
        node = self._graph.call_function(function, args, kwargs)
        self._read_metadata(node, data.get("metadata", {}))
        self._name_results(node, data)

    def _name_results(self, node: fx.Node, data: Mapping[str, Any]) -> None:
        results = data["outputs"]
        several = len(results) != 1 or next(iter(results[0])) in ("as_tensors", "as_sym_ints")
        if len(results) == 1 and data["target"] in _WRAPPERS and not data.get("is_hop_single_tensor_return", True):
            several = True
        entries = results if len(results) != 1 or not several else _entries(results[0])
        for index, entry in enumerate(entries):
            name = _result_name(entry)
            if name is not None:
                self._values[name] = self._graph.call_function(operator.getitem, (node, index)) if several else node
                self._note_shape(self._values[name], name)

    def _note_shape(self, node: fx.Node, name: str) -> None:
        if name in self._data["tensor_values"]:
            node.meta["sizes"] = _read_sizes(self._data["tensor_values"][name])

    @staticmethod
    def _read_metadata(node: fx.Node, metadata: Mapping[str, str]) -> None:
        stack = [entry.split(",") for entry in metadata.get("nn_module_stack", "").split(";") if entry.count(",") == 2]
        node.meta["nn_module_stack"] = {key: (path, kind) for key, path, kind in stack}

    def _argument(self, argument: Mapping[str, Any]) -> Any:
        ((kind, value),) = argument.items()
        if kind in _PLAIN:
            return value
        if kind in _READERS:
            return _READERS[kind](value)
        if kind == "as_graph":
            return self._attribute("graph", _read_subgraph(value["graph"], self._weights))
        if kind in ("as_tensors", "as_sym_ints", "as_optional_tensors", "as_sym_floats", "as_sym_bools"):
            return [self._single(item) for item in value]
        if kind in ("as_tensor", "as_sym_int", "as_sym_float", "as_sym_bool", "as_optional_tensor"):
            return self._single(value)
        raise NetworkError(f"An argument of kind '{kind}' of torch.export is not read. Export the model to ONNX and pass the .onnx file.")

    def _single(self, value: Mapping[str, Any]) -> Any:
        """A name, or a number where one could stand."""
        if "as_tensor" in value:
            value = value["as_tensor"]
        for key in ("name", "as_name"):
            if key in value:
                if value[key] not in self._values:
                    raise NetworkError(f"The program is damaged: '{value[key]}' is used before it is computed. Export the model again.")
                return self._values[value[key]]
        return next((value[key] for key in ("as_int", "as_float", "as_bool") if key in value), None)

    def finish(self, outputs: Sequence[Mapping[str, Any]]) -> Code:
        """The graph that returns these."""
        self._graph.output([self._argument(output) for output in outputs])
        return Code(self._graph, self._attributes)


def _read_subgraph(data: Mapping[str, Any], weights: Mapping[str, Any]) -> Code:
    builder = GraphReader(data, weights)
    for argument in data["inputs"]:
        builder.add_placeholder(argument)
    for node in data["nodes"]:
        builder.add_node(node)
    return builder.finish(data["outputs"])


def _entries(result: Mapping[str, Any]) -> list[Any]:
    ((kind, value),) = result.items()
    return [{"as_tensor": item} if kind == "as_tensors" else {kind[:-1]: item} for item in value] if isinstance(value, list) else [result]


def _result_name(entry: Mapping[str, Any]) -> str | None:
    ((_, value),) = entry.items()
    return value.get("name", value.get("as_name")) if isinstance(value, dict) else None


def _bind(target: str, given: Sequence[tuple[str, Any]]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function, and its arguments in the order in which it takes them."""
    values = tuple(value for _, value in given)
    if target in _FUNCTIONS:
        return _FUNCTIONS[target], values, {}
    if target in _WRAPPERS:
        return getattr(torch.ops.higher_order, target.rpartition(".")[2]), values, {}
    found = find_operator(target)
    if isinstance(found, Refused):
        return found, values, {}
    named = dict(given)
    args: list[Any] = []
    # As many as there are without a gap go by their place.
    for argument in found._schema.arguments:
        if argument.kwarg_only or argument.name not in named:
            break
        args.append(named.pop(argument.name))
    return found, tuple(args), named


def _read_input(name: str, meta: Mapping[str, Any], ranges: Mapping[str, Any]) -> Input:
    first = meta["sizes"][0].get("as_expr", {}).get("expr_str", "") if meta["sizes"] else ""
    limits = ranges.get(first, {})
    batches = (max(int(limits.get("min_val") or 1), 1), int(limits.get("max_val") or 2**31))
    return Input(name, _read_sizes(meta), read_dtype(meta["dtype"]), batches)


def _read_sizes(meta: Mapping[str, Any]) -> tuple[int | None, ...]:
    return tuple(axis.get("as_int") for axis in meta["sizes"])


_READERS: dict[str, Callable[[Any], Any]] = {
    "as_none": lambda value: None,
    "as_float": float,
    "as_floats": lambda values: [float(value) for value in values],
    "as_scalar_type": read_dtype,
    "as_memory_format": lambda value: torch.contiguous_format,
    "as_layout": lambda value: torch.strided,
    "as_device": lambda value: torch.device("cpu"),
}
