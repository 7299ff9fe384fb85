"""OMLT: a formulation for its blocks.

m.nn = OmltBlock()
m.nn.build_formulation(DCEmbedFormulation(load_onnx_neural_network(...)))
SolverFactory("dcembed").solve(m)
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from omlt.formulation import _PyomoFormulation
from omlt.neuralnet import NetworkDefinition

from dcembed.embedded.embedding import read_support
from dcembed.embedded.region import Region
from dcembed.errors import InputError
from dcembed.frontends.output_type import refuse_classifier
from dcembed.frontends.pyomo_embed import embed
from dcembed.importers import load_network
from dcembed.importers.omlt_ import has_convolutions, load_definition, only_layer

# Where a definition keeps the ONNX model that it was read from.
REMEMBERED = "_dcembed_onnx"
UNSEEN = (
    "OMLT's convolutions have no biases, and its ONNX reader drops those of a file without a word. To compare with the file too, load it "
    'with dcembed.omlt.load_onnx_neural_network, or pass it: DCEmbedFormulation(net, onnx="net.onnx").'
)


def load_onnx_neural_network(onnx: Any, scaling_object: Any = None, input_bounds: Any = None) -> NetworkDefinition:
    """As the function of that name in `omlt.io`; `DCEmbedFormulation` compares the network with the ONNX model."""
    from omlt.io import load_onnx_neural_network as load

    definition = load(onnx, scaling_object, input_bounds)
    setattr(definition, REMEMBERED, onnx)
    return definition


def load_onnx_neural_network_with_bounds(filename: Any) -> NetworkDefinition:
    """As the function of that name in `omlt.io`; `DCEmbedFormulation` compares the network with the ONNX file."""
    from omlt.io import load_onnx_neural_network_with_bounds as load

    definition = load(filename)
    setattr(definition, REMEMBERED, Path(filename))
    return definition


class DCEmbedFormulation(_PyomoFormulation):  # type: ignore[misc]  # OMLT has no types
    """An OMLT formulation without activation binaries, for `SolverFactory("dcembed")`.

    Parameters
    ----------
    network
        A `NetworkDefinition` of OMLT, with or without scaling and input bounds; or anything `dcembed.load_network` takes.
    onnx
        The ONNX file or model from which OMLT has read the definition: the network is compared with it. The loaders of `dcembed.omlt`
        remember it; definitions of OMLT's own loaders do not say where they come from.
    support
        Where the inputs belong, such as `dcembed.support(data, kind="hull")` of the data that the network was trained on; None for anywhere. It is
        about what the network itself sees: of a definition that scales, `scaled_inputs`, as the bounds are that come with it.

    Attributes
    ----------
    compared_with
        What the network that is embedded was compared with.

    After `build_formulation` the block has `inputs` and `outputs` as usual, with the bounds of the definition, and `scaled_inputs`
    and `scaled_outputs`, which the network itself sees.
    """

    def __init__(self, network: Any, onnx: Any = None, support: Region | None = None) -> None:
        super().__init__()
        refuse_classifier(network, "DCEmbedFormulation")
        self._definition = network if isinstance(network, NetworkDefinition) else None
        if self._definition is None:
            if onnx is not None:
                raise InputError(
                    "DCEmbedFormulation: onnx is for a NetworkDefinition of OMLT; any other network is compared where it is read."
                )
            self.network = load_network(network)
            self.compared_with = "the model itself"
        else:
            onnx = getattr(network, REMEMBERED, None) if onnx is None else onnx
            self.network = load_definition(network, onnx)
            self.compared_with = "OMLT's evaluation of the definition" + ("" if onnx is None else " and the ONNX model")
            if onnx is None and has_convolutions(network):
                warnings.warn(f"The OMLT network was compared with {self.compared_with} alone. {UNSEEN}", stacklevel=2)
        self.support = read_support(support, self.network, "DCEmbedFormulation")

    @property
    def input_indexes(self) -> list[Any]:
        """Indexes of the inputs."""
        if self._definition is None:
            return list(range(self.network.num_inputs))
        return list(only_layer(self._definition.input_layers, "input").input_indexes)

    @property
    def output_indexes(self) -> list[Any]:
        """Indexes of the outputs."""
        if self._definition is None:
            return list(range(self.network.num_outputs))
        return list(only_layer(self._definition.output_layers, "output").output_indexes)

    def _build_formulation(self) -> None:
        block = self.block
        scaler = None if self._definition is None else self._definition.scaling_object
        bounds = None if self._definition is None else self._definition.scaled_input_bounds
        inputs = dict(block.inputs.items())
        scaled = inputs if scaler is None else scaler.get_scaled_input_expressions(inputs)
        block.scaled_inputs = pyo.Expression(block.inputs_set, rule=lambda b, *index: scaled[_plain(index)])
        if scaler is None:
            block.scaled_outputs = pyo.Expression(block.outputs_set, rule=lambda b, *index: b.outputs[index])
            embed(block, self.network, list(block.scaled_inputs.values()), list(block.outputs.values()), self.support)
        else:
            block.scaled_outputs = pyo.Var(block.outputs_set)
            unscaled = scaler.get_unscaled_output_expressions(dict(block.scaled_outputs.items()))
            block._scale_output_constraint = pyo.Constraint(
                block.outputs_set, rule=lambda b, *index: b.outputs[index] == unscaled[_plain(index)]
            )
            embed(block, self.network, list(block.scaled_inputs.values()), list(block.scaled_outputs.values()), self.support)
        if bounds is not None:
            _bound_inputs(block, scaler, bounds)


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
