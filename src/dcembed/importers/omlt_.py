"""Networks loaded by OMLT."""

from __future__ import annotations

import copy
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from omlt.neuralnet import NetworkDefinition
from omlt.neuralnet.layer import ConvLayer2D, DenseLayer, InputLayer, PoolingLayer2D

from dcembed.arrays import Array
from dcembed.errors import NetworkError
from dcembed.importers.check import check
from dcembed.importers.lowering import Layer, Lowering
from dcembed.importers.operations import Unsupported, select
from dcembed.importers.operations import maximum as take_maximum
from dcembed.network.activations import find_activation
from dcembed.network.activations.smooth import softplus
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.network import Network

_LOST = (
    "OMLT's reader has left something out (it drops the biases of convolutions), so OMLT's network is another one than that of the file. "
    'Give dcembed the file itself, DCEmbedFormulation("net.onnx"), or an OMLT network without what is lost.'
)
# OMLT's names of activations are those of the table.
ACTIVATIONS = ("linear", "relu", "sigmoid", "tanh", "softplus")
ACCEPTED = "InputLayer, DenseLayer, ConvLayer2D and PoolingLayer2D (max), with activation relu, linear, sigmoid, tanh or softplus"


def load_definition(definition: NetworkDefinition, onnx: Any = None) -> Network:
    """The network of a definition, on scaled inputs. Inputs and outputs in row-major order.

    Parameters
    ----------
    definition
        Compared with OMLT's own evaluation of it. What OMLT's reader lost before, such as biases of convolutions, that cannot show.
    onnx
        The ONNX file or ModelProto that OMLT has read: the network is compared with it as well.
    """
    first = only_layer(definition.input_layers, "input")
    only_layer(definition.output_layers, "output")
    lowering = Lowering("OMLT", ACCEPTED, tuple(first.output_size))
    values: dict[int, Any] = {}
    value = lowering.input
    for index, layer in enumerate(definition.layers):
        before = list(definition.predecessors(layer))
        if len(before) > 1:
            raise NetworkError(f"Layer {index} of the OMLT network, {layer}, has {len(before)} predecessors; one is accepted.")
        value = values[id(before[0])] if before else lowering.input
        handler = HANDLERS.get(type(layer))
        place = Layer(index, str(layer), type(layer).__name__)
        value = values[id(layer)] = lowering.apply(place, handler, value, layer)
    network = check(lowering.finish(value), lambda points: _evaluate(definition, points), "OMLT network")
    return network if onnx is None else _check_file(network, onnx, tuple(first.output_size))


def has_convolutions(definition: NetworkDefinition) -> bool:
    """Whether there is a layer whose biases OMLT has no place for."""
    return any(isinstance(layer, ConvLayer2D) for layer in definition.layers)


def _check_file(network: Network, onnx: Any, input_shape: tuple[int, ...]) -> Network:
    """Compare with what OMLT has read."""
    from dcembed.importers.onnx_ import reference

    source = Path(onnx) if isinstance(onnx, str | Path) else onnx
    # OMLT scales float32 weights in float32.
    return check(network, reference(source, input_shape), "ONNX model that OMLT has read", precision="float32", advice=_LOST)


def _evaluate_layer(layer: Any, value: Array) -> Array:
    """OMLT has softplus in its models, but not in its own evaluation of a layer."""
    if layer.activation != "softplus":
        result: Array = layer.eval_single_layer(value)
        return result
    linear = copy.copy(layer)
    linear.activation = "linear"
    return softplus().value(linear.eval_single_layer(value))


def only_layer(layers: Any, kind: str) -> Any:
    """The one input or output layer of a definition."""
    found = list(layers)
    if len(found) != 1:
        raise NetworkError(f"The OMLT network has {len(found)} {kind} layers; one is accepted.")
    return found[0]


def _evaluate(definition: NetworkDefinition, points: Array) -> Array:
    """OMLT's own forward pass, point by point."""
    return np.stack([_evaluate_point(definition, point) for point in points])


def _evaluate_point(definition: NetworkDefinition, point: Array) -> Array:
    values: dict[int, Array] = {}
    value = point
    for layer in definition.layers:
        before = list(definition.predecessors(layer))
        value = values[id(before[0])] if before else point.reshape(layer.input_size)
        value = values[id(layer)] = _evaluate_layer(layer, value)
    return value.reshape(-1)


# Layers.


def _input(builder: NetworkBuilder, value: Tensor, layer: Any) -> Tensor:
    return _activate(builder, value, layer)


def _dense(builder: NetworkBuilder, value: Tensor, layer: Any) -> Tensor:
    _check_activation(layer)
    value = builder.reshape(value, layer.input_size)
    product = builder.linear(value, np.asarray(layer.weights, dtype=np.float64).T)
    biases = np.asarray(layer.biases, dtype=np.float64)
    return _activate(builder, builder.reshape(builder.shift(product, biases), layer.output_size), layer)


def _convolution(builder: NetworkBuilder, value: Tensor, layer: Any) -> Tensor:
    """One sparse matrix: the kernel at every position."""
    _check_activation(layer)
    size = math.prod(layer.input_size), math.prod(layer.output_size)
    entries = [
        (number, np.ravel_multi_index(index, layer.input_size), weight)
        for number, output in enumerate(layer.output_indexes)
        for weight, index in layer.kernel_with_input_indexes(*output)
    ]
    rows, columns, weights = (np.array(part) for part in zip(*entries, strict=True))
    matrix = sp.csr_array((weights.astype(np.float64), (rows, columns)), shape=(size[1], size[0]))
    product = builder.linear(builder.reshape(value, (size[0],)), matrix)
    return _activate(builder, builder.reshape(product, layer.output_size), layer)


def _max_pool(builder: NetworkBuilder, value: Tensor, layer: Any) -> Tensor:
    """The largest of each window, halving the windows: short ones are filled up with their first entry."""
    _check_activation(layer)
    if layer.input_size[0] > 1:
        raise Unsupported(
            "pools several channels, where OMLT takes one maximum over all of them; load the model itself with dcembed.load_network"
        )
    windows = [
        [np.ravel_multi_index(index, layer.input_size) for _, index in layer.kernel_index_with_input_indexes(depth, row, column)]
        for depth, row, column in layer.output_indexes
    ]
    longest = max(len(window) for window in windows)
    entries = np.array([window + window[:1] * (longest - len(window)) for window in windows])
    flat = builder.reshape(value, (math.prod(layer.input_size),))
    parts: list[Any] = [select(builder, flat, partial(np.take, indices=column)) for column in entries.T]
    while len(parts) > 1:
        paired = [take_maximum(builder, left, right) for left, right in zip(parts[0::2], parts[1::2], strict=False)]
        parts = [*paired, *parts[2 * len(paired) :]]
    return _activate(builder, builder.reshape(parts[0], layer.output_size), layer)


HANDLERS = {InputLayer: _input, DenseLayer: _dense, ConvLayer2D: _convolution, PoolingLayer2D: _max_pool}


def _check_activation(layer: Any) -> None:
    if layer.activation not in ACTIVATIONS:
        raise Unsupported(f"activation {layer.activation}")


def _activate(builder: NetworkBuilder, value: Tensor, layer: Any) -> Tensor:
    _check_activation(layer)
    return value if layer.activation == "linear" else builder.activate(value, find_activation(layer.activation))
