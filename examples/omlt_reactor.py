"""The reactor of reactor.py as an OMLT block.

An OMLT model moves over by changing the formulation and the solver: `DCEmbedFormulation` instead of `ReluBigMFormulation`, and
`SolverFactory("dcembed")`. The network definition, its scaling and its bounds stay.

    python examples/omlt_reactor.py
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import onnx
import pyomo.environ as pyo
from omlt import OffsetScaling, OmltBlock
from omlt.neuralnet import NetworkDefinition
from omlt.neuralnet.layer import DenseLayer, InputLayer
from onnx import numpy_helper

from dcembed.omlt import DCEmbedFormulation

TEMPERATURE, TIME, FEED, CHARGES = range(4)
MARGIN, IMPURITY = range(2)
BOUNDS = {TEMPERATURE: (330, 375), TIME: (2, 14), FEED: (0.5, 2), CHARGES: (0, 4)}


def define_network() -> NetworkDefinition:
    """The network without its scaling, which OMLT keeps apart."""
    stored = onnx.load(str(Path(__file__).parent / "reactor.onnx")).graph.initializer
    array = {tensor.name: numpy_helper.to_array(tensor).astype(float) for tensor in stored}
    scaling = OffsetScaling(array["middle"], array["half"], array["mean"], array["deviation"])
    definition = NetworkDefinition(scaling_object=scaling, unscaled_input_bounds=BOUNDS)
    layers = [
        InputLayer([4]),
        DenseLayer([4], [32], array["w0"].T, array["b0"], activation="relu"),
        DenseLayer([32], [32], array["w2"].T, array["b2"], activation="relu"),
        DenseLayer([32], [2], array["w4"].T, array["b4"]),
    ]
    for layer in layers:
        definition.add_layer(layer)
    for before, after in pairwise(layers):
        definition.add_edge(before, after)
    return definition


def build_model() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel(name="reactor")
    m.nn = OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(define_network()))
    x, y = m.nn.inputs, m.nn.outputs
    m.charges = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 4))
    m.whole = pyo.Constraint(expr=x[CHARGES] == m.charges)
    m.limit = pyo.Constraint(expr=y[IMPURITY] <= 8)
    m.heating = pyo.Constraint(expr=x[TEMPERATURE] + 12 * x[FEED] <= 378)
    cost = 0.01 * (x[TEMPERATURE] - 330) + 0.2 * x[FEED] + 0.95 * m.charges
    m.profit = pyo.Objective(expr=y[MARGIN] - cost, sense=pyo.maximize)
    for index, value in {TEMPERATURE: 345, TIME: 8, FEED: 1, CHARGES: 1}.items():
        x[index].value = value
    m.charges.value = 1
    return m


def main() -> pyo.ConcreteModel:
    m = build_model()
    results = pyo.SolverFactory("dcembed").solve(m, tee=True, time_limit=10, prove=True, max_starts=1, warmstart=True)
    x = m.nn.inputs
    print(
        f"\nRun at {x[TEMPERATURE].value:.1f} K for {x[TIME].value:.1f} min with {x[FEED].value:.2f} mol/l, catalyst charges: "
        f"{m.charges.value:.0f}; profit {pyo.value(m.profit):.3f} per hour at {m.nn.outputs[IMPURITY].value:.2f} % impurity."
    )
    print(
        f"{results.solver.termination_condition}: the best profit is between {results.problem.lower_bound:.4f} and {results.problem.upper_bound:.4f}."
    )
    return m


if __name__ == "__main__":
    main()
