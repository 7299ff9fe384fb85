"""Read Keras 3 models: Sequential and functional, nested or not.

Values have the shape they have for a batch of one point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError
from dcembed.importers import operations as ops
from dcembed.importers.check import TOLERANCE, check
from dcembed.importers.lowering import Layer, Lowering, find_handler, unknown_input
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.request import Request
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.network import Network


def load(model: Any, request: Request) -> Network:
    """Read a Keras model."""
    request.allow_only("Keras model")
    if not isinstance(model, keras.Model):
        raise InputError(f"A Keras object of type {type(model).__name__} is not a model. Pass a Sequential or functional keras.Model.")
    if isinstance(model, keras.Sequential) and not model.layers:
        raise NetworkError("The network is empty: the Keras model has no layer. Pass a model with at least one.")
    if not model.built:
        raise NetworkError("The Keras model has no weights yet. Build it (model.build((None, number_of_inputs))), train it, then load it.")
    shape = _read_shape(model, request.input_shape)
    walk = _Walk(None if shape is None else (1, *shape))
    output = walk.run(model, walk.lowering.input, "")
    walk.lowering.raise_problems()
    if shape is None:
        raise unknown_input("Keras", "the model does not say it")
    return check(walk.lowering.finish(output), _forward(model, shape), "Keras model", precision=_precision(model))


def _read_shape(model: keras.Model, input_shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
    for noun, tensors in (("input", getattr(model, "inputs", None)), ("output", getattr(model, "outputs", None))):
        if tensors and len(tensors) > 1:
            names = ", ".join(f"'{tensor.name}'" for tensor in tensors)
            raise NetworkError(
                f"The Keras model has {len(tensors)} {noun}s ({names}); one is accepted. Build a model with a single one around it."
            )
    if input_shape is not None:
        return input_shape
    inputs = getattr(model, "inputs", None)
    sizes = tuple(inputs[0].shape[1:]) if inputs else (None,)
    return None if None in sizes else sizes


def _forward(model: keras.Model, shape: tuple[int, ...]) -> Callable[[Array], Array]:
    def forward(points: Array) -> Array:
        batch = points.reshape(-1, *shape).astype("float64" if _precision(model) == "float64" else "float32")
        values: Array = keras.ops.convert_to_numpy(keras.ops.cast(model(batch, training=False), "float64"))
        return values

    return forward


def _precision(model: keras.Model) -> str:
    """The coarsest type that a layer computes in."""
    used = {str(layer.compute_dtype) for layer in model._flatten_layers()}
    return max((name for name in used if name in TOLERANCE), key=TOLERANCE.__getitem__, default="float32")


class _Walk:
    """Lowers a model and the models in it, and counts layers on the way."""

    def __init__(self, shape: tuple[int, ...] | None) -> None:
        self.lowering = Lowering("Keras", _ACCEPTED, shape)
        self._count = 0

    def run(self, operation: Any, value: Any, prefix: str, *args: Any, **kwargs: Any) -> Any:
        """The value of a layer, an operation of keras.ops or a whole model."""
        if _is_plain(operation, keras.Sequential):
            for layer in operation.layers:
                value = self.run(layer, value, _inside(prefix, operation))
            return value
        if _is_plain(operation, keras.Function) and isinstance(operation, keras.Model):
            return self._run_functional(operation, value, _inside(prefix, operation))
        layer = Layer(self._count, prefix + operation.name, type(operation).__name__)
        self._count += 1
        return self.lowering.apply(layer, _find(operation), value, *args, **kwargs)

    def _run_functional(self, model: Any, value: Any, prefix: str) -> Any:
        """Node by node, from the input on; the nodes are sorted by their distance from the output."""
        if len(model.inputs) != 1 or len(model.outputs) != 1:
            layer = Layer(self._count, prefix.rstrip("/"), type(model).__name__)
            return self.lowering.apply(layer, _refuse_several, value)
        values = {id(model.inputs[0]): value}
        for depth in sorted(model._nodes_by_depth, reverse=True):
            for node in model._nodes_by_depth[depth]:
                if not node.is_input:
                    args, kwargs = node.arguments.fill_in(values)
                    result = self.run(node.operation, *(_as_plain(arg) for arg in args[:1]), prefix, *map(_as_plain, args[1:]), **kwargs)
                    values.update((id(output), result) for output in node.outputs)
        return values[id(model.outputs[0])]


def _is_plain(operation: Any, kind: Any) -> bool:
    """A subclass with a forward pass of its own is not: its `call` is not one of Keras."""
    own: Any = type(operation)
    return isinstance(operation, kind) and own.call.__module__.startswith("keras.")


def _inside(prefix: str, model: Any) -> str:
    return f"{prefix}{model.name}/"


def _as_plain(value: Any) -> Any:
    """Constants of the backend as numpy arrays."""
    if isinstance(value, keras.Variable) or keras.ops.is_tensor(value):
        return keras.ops.convert_to_numpy(value)
    return value


def _find(operation: Any) -> Callable[..., Any] | None:
    kind = type(operation)
    handler = OPERATIONS.get(f"{kind.__module__}.{kind.__qualname__}") or find_handler(LAYERS, operation, "call")
    if handler is None:
        return None

    def at_inference(builder: NetworkBuilder, *args: Any, training: Any = None, mask: Any = None) -> Any:
        if training or mask is not None:
            raise Unsupported("is called with training=True" if training else "is called with a mask")
        return handler(builder, operation, *args)

    return at_inference


# Handlers: the builder, the layer and its inputs.


def _refuse_several(builder: NetworkBuilder, *values: Any) -> Any:
    raise Unsupported("an inner model with several inputs or outputs")


def _array(weight: Any) -> Array:
    return np.asarray(keras.ops.convert_to_numpy(weight), dtype=np.float64)


def _dense(builder: NetworkBuilder, layer: Any, value: Tensor) -> Value:
    if getattr(layer, "quantization_mode", None):
        raise Unsupported(f"is quantized to {layer.quantization_mode}, which rounds")
    activate = _find_activation(layer)
    return activate(builder, builder.linear(ops.as_tensor(value), _array(layer.kernel).T, _array(layer.bias) if layer.use_bias else None))


def _activation(builder: NetworkBuilder, layer: Any, value: Value) -> Value:
    return _find_activation(layer)(builder, value)


def _find_activation(layer: Any) -> Callable[[NetworkBuilder, Value], Value]:
    """The activation of a layer: a function of Keras or a layer."""
    activation = layer.activation
    handler = find_handler(LAYERS, activation, "call") if isinstance(activation, keras.layers.Layer) else None
    if handler is not None:
        return lambda builder, value: handler(builder, activation, value)
    if activation in ACTIVATIONS:
        return ACTIVATIONS[activation]
    name = getattr(activation, "__name__", type(activation).__name__)
    raise Unsupported(f"activation '{name}'; accepted are {', '.join(sorted({function.__name__ for function in ACTIVATIONS}))}")


def _relu(builder: NetworkBuilder, layer: Any, value: Value) -> Value:
    """relu with a slope below zero and a limit above; a threshold makes it jump."""
    if float(layer.threshold) != 0.0:
        raise Unsupported(f"threshold={float(layer.threshold)} makes it discontinuous")
    limit = None if layer.max_value is None else float(layer.max_value)
    slope = float(layer.negative_slope)
    if limit is not None and limit < 0:
        raise Unsupported(f"max_value={limit} is negative")
    result = ops.leaky_relu(builder, value, slope) if slope else ops.relu(builder, value)
    if limit is None:
        return result
    # Below the limit nothing changes; above it the input itself grows with slope 1, which is taken away again.
    return ops.subtract(builder, result, ops.relu(builder, ops.subtract(builder, value, np.asarray(limit))))


def _batch_norm(builder: NetworkBuilder, layer: Any, value: Tensor) -> Tensor:
    gamma = _array(layer.gamma) if layer.scale else None
    beta = _array(layer.beta) if layer.center else None
    axis = layer.axis % len(value.shape)
    return ops.batch_norm(builder, value, _array(layer.moving_mean), _array(layer.moving_variance), gamma, beta, layer.epsilon, axis)


def _normalization(builder: NetworkBuilder, layer: Any, value: Tensor) -> Value:
    if getattr(layer, "mean", None) is None:
        raise NetworkError("The Normalization layer is not adapted. Call its adapt() on data, or pass mean and variance.")
    spread = np.maximum(np.sqrt(_array(layer.variance)), keras.config.epsilon())
    if layer.invert:
        return ops.add(builder, ops.multiply(builder, value, spread), _array(layer.mean))
    return ops.divide(builder, ops.subtract(builder, value, _array(layer.mean)), spread)


def _flatten(builder: NetworkBuilder, layer: Any, value: Tensor) -> Tensor:
    if layer.data_format == "channels_first" and len(value.shape) > 2:
        value = ops.select(builder, value, lambda entries: np.moveaxis(entries, 1, -1))
    return builder.reshape(value, (1, -1))


def _merge(operation: Callable[[NetworkBuilder, Value, Value], Value]) -> Callable[..., Value]:
    """A merging layer: its inputs come as one list."""

    def handler(builder: NetworkBuilder, layer: Any, values: Sequence[Value]) -> Value:
        result = values[0]
        for value in values[1:]:
            result = operation(builder, result, value)
        return result

    return handler


def _concat(builder: NetworkBuilder, layer: Any, values: Sequence[Value], axis: Any = None) -> Value:
    if layer.axis % len(ops.as_tensor(values[0]).shape) == 0:
        raise Unsupported("joins along the batch axis")
    return ops.concat(builder, values, layer.axis)


def _pair(operation: Callable[[NetworkBuilder, Value, Value], Value]) -> Callable[..., Value]:
    """An operation of keras.ops with two inputs."""
    return lambda builder, layer, left, right: operation(builder, left, right)


def _same(builder: NetworkBuilder, layer: Any, value: Value) -> Value:
    return value


# Activations by function, as Dense and Activation hold them.
ACTIVATIONS: dict[Any, Callable[[NetworkBuilder, Value], Value]] = {
    keras.activations.linear: lambda builder, value: value,
    keras.activations.relu: ops.relu,
    keras.ops.relu: ops.relu,
    keras.activations.leaky_relu: lambda builder, value: ops.leaky_relu(builder, value, 0.2),
    keras.ops.leaky_relu: lambda builder, value: ops.leaky_relu(builder, value, 0.2),
    keras.activations.relu6: lambda builder, value: ops.clip(builder, value, 0.0, 6.0),
    keras.activations.hard_tanh: lambda builder, value: ops.clip(builder, value, -1.0, 1.0),
}

LAYERS: dict[type, Callable[..., Any]] = {
    keras.layers.Dense: _dense,
    keras.layers.Activation: _activation,
    keras.layers.ReLU: _relu,
    keras.layers.LeakyReLU: lambda builder, layer, value: ops.leaky_relu(builder, value, float(layer.negative_slope)),
    keras.layers.PReLU: lambda builder, layer, value: ops.leaky_relu(builder, value, _array(layer.alpha)),
    keras.layers.BatchNormalization: _batch_norm,
    keras.layers.Normalization: _normalization,
    keras.layers.Rescaling: lambda builder, layer, value: ops.add(
        builder, ops.multiply(builder, value, _array(layer.scale)), _array(layer.offset)
    ),
    keras.layers.Flatten: _flatten,
    keras.layers.Reshape: lambda builder, layer, value: builder.reshape(value, (1, *layer.target_shape)),
    keras.layers.Permute: lambda builder, layer, value: ops.transpose(builder, value, (0, *layer.dims)),
    keras.layers.Add: _merge(ops.add),
    keras.layers.Subtract: _merge(ops.subtract),
    keras.layers.Maximum: _merge(ops.maximum),
    keras.layers.Minimum: _merge(ops.minimum),
    keras.layers.Concatenate: _concat,
} | dict.fromkeys(
    (
        keras.layers.InputLayer,
        keras.layers.Identity,
        keras.layers.Dropout,
        keras.layers.AlphaDropout,
        keras.layers.SpatialDropout1D,
        keras.layers.SpatialDropout2D,
        keras.layers.SpatialDropout3D,
        keras.layers.GaussianDropout,
        keras.layers.GaussianNoise,
        keras.layers.ActivityRegularization,
    ),
    _same,
)

# What x + y, keras.ops.relu(x) and the like leave in a functional model; Keras has no public names for these classes.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "keras.src.ops.numpy.Add": _pair(ops.add),
    "keras.src.ops.numpy.Subtract": _pair(ops.subtract),
    "keras.src.ops.numpy.Multiply": _pair(ops.multiply),
    "keras.src.ops.numpy.Divide": _pair(ops.divide),
    "keras.src.ops.numpy.TrueDivide": _pair(ops.divide),
    "keras.src.ops.numpy.Maximum": _pair(ops.maximum),
    "keras.src.ops.numpy.Minimum": _pair(ops.minimum),
    "keras.src.ops.numpy.Negative": lambda builder, layer, value: ops.negate(builder, value),
    "keras.src.ops.numpy.Concatenate": _concat,
    "keras.src.ops.nn.Relu": lambda builder, layer, value: ops.relu(builder, value),
    "keras.src.ops.nn.Relu6": lambda builder, layer, value: ops.clip(builder, value, 0.0, 6.0),
    "keras.src.ops.nn.HardTanh": lambda builder, layer, value: ops.clip(builder, value, -1.0, 1.0),
    "keras.src.ops.nn.LeakyRelu": lambda builder, layer, value: ops.leaky_relu(builder, value, float(layer.negative_slope)),
    "keras.src.activations.activations.ReLU": _relu,
}

_ACCEPTED = (
    ", ".join(sorted(kind.__name__ for kind in LAYERS))
    + f" (activations: {', '.join(sorted({function.__name__ for function in ACTIVATIONS}))}), and sums and constant factors of tensors"
)
