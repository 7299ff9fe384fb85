"""OMLT: its network definitions as a Network, and a formulation for its blocks.

m.nn = OmltBlock()
m.nn.build_formulation(DCEmbedFormulation(load_onnx_neural_network(...)))
SolverFactory("dcembed").solve(m)
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from omlt.formulation import _PyomoFormulation
from omlt.neuralnet import NetworkDefinition
from omlt.neuralnet.layer import ConvLayer2D, DenseLayer, InputLayer, PoolingLayer2D

from dcembed.errors import NetworkError
from dcembed.frontends.pyomo_embed import embed
from dcembed.importers import load_network
from dcembed.importers.check import check
from dcembed.importers.lowering import Layer, Lowering
from dcembed.importers.operations import Unsupported, select
from dcembed.importers.operations import maximum as take_maximum
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.network import Network

Array = np.ndarray

ACCEPTED = "InputLayer, DenseLayer, ConvLayer2D and PoolingLayer2D (max), with activation relu or linear"


class DCEmbedFormulation(_PyomoFormulation):
    """An OMLT formulation without activation binaries, for `SolverFactory("dcembed")`.

    Parameters
    ----------
    network
        A `NetworkDefinition` of OMLT, with or without scaling and input bounds; or anything `dcembed.load_network` takes.

    After `build_formulation` the block has `inputs` and `outputs` as usual, with the bounds of the definition, and `scaled_inputs`
    and `scaled_outputs`, which the network itself sees.
    """

    def __init__(self, network: Any) -> None:
        super().__init__()
        self._definition = network if isinstance(network, NetworkDefinition) else None
        self.network = load_definition(network) if isinstance(network, NetworkDefinition) else load_network(network)

    @property
    def input_indexes(self) -> list[Any]:
        """Indexes of the inputs."""
        if self._definition is None:
            return list(range(self.network.num_inputs))
        return list(_only(self._definition.input_layers, "input").input_indexes)

    @property
    def output_indexes(self) -> list[Any]:
        """Indexes of the outputs."""
        if self._definition is None:
            return list(range(self.network.num_outputs))
        return list(_only(self._definition.output_layers, "output").output_indexes)

    def _build_formulation(self) -> None:
        block = self.block
        scaler = None if self._definition is None else self._definition.scaling_object
        bounds = None if self._definition is None else self._definition.scaled_input_bounds
        inputs = dict(block.inputs.items())
        scaled = inputs if scaler is None else scaler.get_scaled_input_expressions(inputs)
        block.scaled_inputs = pyo.Expression(block.inputs_set, rule=lambda b, *index: scaled[_plain(index)])
        if scaler is None:
            block.scaled_outputs = pyo.Expression(block.outputs_set, rule=lambda b, *index: b.outputs[index])
            embed(block, self.network, list(block.scaled_inputs.values()), list(block.outputs.values()))
        else:
            block.scaled_outputs = pyo.Var(block.outputs_set)
            unscaled = scaler.get_unscaled_output_expressions(dict(block.scaled_outputs.items()))
            block._scale_output_constraint = pyo.Constraint(
                block.outputs_set, rule=lambda b, *index: b.outputs[index] == unscaled[_plain(index)]
            )
            embed(block, self.network, list(block.scaled_inputs.values()), list(block.scaled_outputs.values()))
        if bounds is not None:
            _bound_inputs(block, scaler, bounds)


def load_definition(definition: NetworkDefinition) -> Network:
    """The network of a definition, on scaled inputs, checked against OMLT's own evaluation. Inputs and outputs in row-major order."""
    first = _only(definition.input_layers, "input")
    _only(definition.output_layers, "output")
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
    return check(lowering.finish(value), lambda points: _evaluate(definition, points), "OMLT network")


def _only(layers: Any, kind: str) -> Any:
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
        value = values[id(layer)] = layer.eval_single_layer(value)
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
    if layer.activation not in ("linear", "relu"):
        raise Unsupported(f"activation {layer.activation}")


def _activate(builder: NetworkBuilder, value: Tensor, layer: Any) -> Tensor:
    _check_activation(layer)
    return builder.relu(value) if layer.activation == "relu" else value


# Scaling and bounds.


def _bound_inputs(block: Any, scaler: Any, bounds: Any) -> None:
    """Bounds of the scaled inputs: on the inputs themselves where the scaling can be undone, as rows otherwise."""
    low = {index: float(bounds[index][0]) for index in block.inputs_set}
    high = {index: float(bounds[index][1]) for index in block.inputs_set}
    if scaler is not None and not hasattr(scaler, "get_unscaled_input_expressions"):
        block._scaled_input_bounds = pyo.Constraint(
            block.inputs_set, rule=lambda b, *index: (low[_plain(index)], b.scaled_inputs[index], high[_plain(index)])
        )
        return
    if scaler is not None:
        low, high = scaler.get_unscaled_input_expressions(low), scaler.get_unscaled_input_expressions(high)
    for index, variable in block.inputs.items():
        variable.setlb(low[index])
        variable.setub(high[index])


def _plain(index: tuple[Any, ...]) -> Any:
    return index[0] if len(index) == 1 else index
