"""Walk through a Keras model, and the models in it, layer by layer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.keras_.backend import as_plain, keras
from dcembed.importers.keras_.files.sizes import check_sizes
from dcembed.importers.keras_.following import follow
from dcembed.importers.keras_.functions.table import OPERATIONS
from dcembed.importers.keras_.handlers import Handler
from dcembed.importers.keras_.layers.activations import BY_FUNCTION
from dcembed.importers.keras_.layers.refusals import find_reason
from dcembed.importers.keras_.layers.table import LAYERS
from dcembed.importers.keras_.outputs import Outputs, choose_outputs, name_outputs
from dcembed.importers.lowering import UNKNOWN, Layer, Lowering, find_handler, holds_unknown
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.request import Request
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.growth import Growth


class ModelWalk:
    """Lowers a model and counts layers on the way; see `handlers.Walk`."""

    def __init__(self, lowering: Lowering, growth: Growth) -> None:
        self._lowering = lowering
        # How large values may become; Keras knows their shapes before they are computed.
        self._growth = growth
        self._count = 0
        # Names of the models that the walk is in.
        self._inside: list[str] = []

    @property
    def builder(self) -> NetworkBuilder:
        """What collects the stages."""
        return self._lowering.builder

    def run(self, operation: Any, *args: Any, **kwargs: Any) -> Any:
        """The value of a layer, an operation of keras.ops or a whole model."""
        if _is_plain(operation, keras.Sequential):
            return self._run_inside(operation, lambda: self._run_sequence(operation.layers, *args))
        if _is_plain(operation, keras.Function) and isinstance(operation, keras.Model):
            return self._run_inside(operation, lambda: self._run_model(operation, *args))
        handler, reason = _find(operation), find_reason(operation)
        if handler is None and reason is None and isinstance(operation, keras.layers.Layer):
            return self._follow(operation, args, kwargs)
        known = None if handler is None else self._at_inference(operation, handler)
        refused = None if reason is None else _refusing(reason)
        return self._lowering.apply(self._place(operation.name, type(operation).__name__), known or refused, *args, **kwargs)

    def activate(self, function: Any, value: Value) -> Value:
        """The value of an activation: a function of Keras, a layer, or a function made of operations of Keras."""
        if function is None:
            return value
        known = BY_FUNCTION.get(function) if inspect.isfunction(function) else None
        if known is not None:
            return known(self.builder, value)
        if isinstance(function, keras.layers.Layer):
            result: Value = self.run(function, value)
            return result
        name = getattr(function, "__name__", type(function).__name__)
        try:
            graph, _ = follow(function, None, (value,), {})
        except Unsupported as reason:
            raise Unsupported(f"the activation '{name}' {reason}") from None
        activated: Value = self.run_graph(graph, [value])[0]
        return activated

    def run_outputs(self, model: Any, inputs: Any, request: Request) -> tuple[Outputs, list[Any]]:
        """The outputs of the whole model that a user asks for; layers that only the others need are left alone."""
        if _is_plain(model, keras.Sequential):
            outputs = choose_outputs(name_outputs(None, getattr(model, "output_names", None), 1), request)
            return outputs, [self.run(model, inputs)] * len(outputs.chosen)
        graph, structure = self._open(model, inputs)
        if graph is None:
            return Outputs((), ()), []
        outputs = choose_outputs(name_outputs(structure, getattr(model, "output_names", None), len(graph.outputs)), request)
        values = _in_order(graph, inputs)
        return outputs, self._run_inside(model, lambda: self.run_graph(graph, values, outputs.chosen))

    def _open(self, model: Any, inputs: Any) -> tuple[Any, Any]:
        """The graph of a model and the structure of its outputs; a model with code of its own is followed."""
        if _is_plain(model, keras.Function):
            return model, model._outputs_struct
        if holds_unknown(inputs):
            return None, None
        try:
            return follow(model.call, model, (inputs,), {})
        except Unsupported as problem:
            self._refuse(model, str(problem), (inputs,))
            return None, None

    def run_graph(self, graph: Any, inputs: Sequence[Any], chosen: Sequence[int] | None = None) -> list[Any]:
        """The outputs of a keras.Function, or some of them, node by node from the inputs on."""
        outputs = [graph.outputs[number] for number in (range(len(graph.outputs)) if chosen is None else chosen)]
        values: dict[int, Any] = {id(tensor): value for tensor, value in zip(graph.inputs, inputs, strict=True)}
        for node in _needed(graph, outputs):
            check_sizes([list(tensor.shape) for tensor in node.outputs], self._growth)
            args, kwargs = keras.tree.map_structure(as_plain, node.arguments.fill_in(values))
            values.update(_pair(node.outputs, self.run(node.operation, *args, **kwargs)))
        return [values[id(tensor)] for tensor in outputs]

    def _run_inside(self, model: Any, run: Callable[[], Any]) -> Any:
        self._inside.append(model.name)
        try:
            return run()
        finally:
            self._inside.pop()

    def _run_sequence(self, layers: Sequence[Any], value: Any) -> Any:
        for layer in layers:
            if self._growth.most is not None:
                check_sizes(list(layer.compute_output_shape(_shape_for_keras(value))), self._growth)
            value = self.run(layer, value)
        return value

    def _run_model(self, model: Any, inputs: Any) -> Any:
        """A functional model that is called by another one: the structure of its results is that of its outputs."""
        outputs = self.run_graph(model, _in_order(model, inputs))
        return keras.tree.pack_sequence_as(model._outputs_struct, outputs)

    def _follow(self, operation: Any, args: Any, kwargs: Any) -> Any:
        """Into the code of a layer or model."""
        if holds_unknown((args, kwargs)):
            self._count += 1
            return UNKNOWN
        try:
            given = _called_with(kwargs)
            graph, results = follow(operation.call, operation, args, given)
        except Unsupported as problem:
            return self._refuse(operation, str(problem), args)
        values = [value for value in keras.tree.flatten((args, given)) if isinstance(value, Tensor)]
        return keras.tree.pack_sequence_as(results, self._run_inside(operation, lambda: self.run_graph(graph, values)))

    def _refuse(self, operation: Any, reason: str, args: Any) -> Any:
        return self._lowering.apply(self._place(operation.name, type(operation).__name__), _refusing(reason), *args)

    def _place(self, name: str, kind: str) -> Layer:
        self._count += 1
        return Layer(self._count - 1, "/".join([*self._inside, name]), kind)

    def _at_inference(self, operation: Any, handler: Handler) -> Callable[..., Any]:
        def apply(builder: NetworkBuilder, *args: Any, **kwargs: Any) -> Any:
            given = _called_with(kwargs)
            try:
                inspect.signature(handler).bind(self, operation, *args, **given)
            except TypeError as error:
                raise Unsupported(f"is called in a way that is not known: {error}") from None
            return handler(self, operation, *args, **given)

        return apply


def _called_with(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments without those that say nothing at inference."""
    if kwargs.get("training"):
        raise Unsupported("is called with training=True; call it without")
    if kwargs.get("mask") is not None:
        raise Unsupported("is called with a mask")
    return {name: value for name, value in kwargs.items() if name not in ("training", "mask") and value is not None}


def _find(operation: Any) -> Handler | None:
    kind = type(operation)
    return OPERATIONS.get(f"{kind.__module__}.{kind.__qualname__}") or find_handler(LAYERS, operation, "call")


def _refusing(reason: str) -> Callable[..., Any]:
    def refuse(builder: NetworkBuilder, *args: Any, **kwargs: Any) -> Any:
        raise Unsupported(reason)

    return refuse


def _is_plain(operation: Any, kind: Any) -> bool:
    """A subclass with a forward pass of its own is not: its `call` is not one of Keras."""
    own: Any = type(operation)
    return isinstance(operation, kind) and own.call.__module__.startswith("keras.")


def _in_order(model: Any, inputs: Any) -> list[Any]:
    """The values of a model's inputs in its own order: they come as one value, a list, or a mapping of names."""
    if isinstance(inputs, dict) and not isinstance(model._inputs_struct, dict):
        return [inputs[tensor.name] for tensor in model.inputs]
    flat: list[Any] = keras.tree.flatten(inputs)
    return flat if len(flat) == len(model.inputs) else [UNKNOWN] * len(model.inputs)


def _needed(graph: Any, outputs: Sequence[Any]) -> list[Any]:
    """The nodes that these outputs are made of, from the inputs on; Keras sorts nodes by their distance from the outputs."""
    nodes = [node for depth in sorted(graph._nodes_by_depth, reverse=True) for node in graph._nodes_by_depth[depth] if not node.is_input]
    wanted = {id(tensor) for tensor in outputs}
    needed = []
    for node in reversed(nodes):
        if any(id(tensor) in wanted for tensor in node.outputs):
            wanted.update(id(tensor) for tensor in node.arguments.keras_tensors)
            needed.append(node)
    return needed[::-1]


def _shape_for_keras(value: Any) -> tuple[int | None, ...]:
    return (None, *ops.shape_of(value)[1:])


def _pair(outputs: Sequence[Any], results: Any) -> list[tuple[int, Any]]:
    flat = [results] * len(outputs) if results is UNKNOWN else keras.tree.flatten(results)
    if len(flat) != len(outputs):
        # A layer that was refused has one stand-in for all that it gives.
        flat = [UNKNOWN] * len(outputs)
    return [(id(tensor), value) for tensor, value in zip(outputs, flat, strict=True)]
