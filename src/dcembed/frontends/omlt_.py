"""OMLT: a formulation for its blocks.

m.nn = OmltBlock()
m.nn.build_formulation(DCEmbedFormulation(load_onnx_neural_network(...)))
SolverFactory("dcembed").solve(m)
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
from omlt.formulation import _PyomoFormulation
from omlt.neuralnet import NetworkDefinition

from dcembed.frontends.output_type import refuse_classifier
from dcembed.frontends.pyomo_embed import embed
from dcembed.importers import load_network
from dcembed.importers.omlt_ import load_definition, only_layer


class DCEmbedFormulation(_PyomoFormulation):  # type: ignore[misc]  # OMLT has no types
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
        refuse_classifier(network, "DCEmbedFormulation")
        self._definition = network if isinstance(network, NetworkDefinition) else None
        self.network = load_definition(network) if isinstance(network, NetworkDefinition) else load_network(network)

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
