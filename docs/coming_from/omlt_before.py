"""Water and nitrogen for three fields: with OMLT."""

from pathlib import Path

import onnx
import pyomo.environ as pyo
from omlt import OmltBlock
from omlt.io import load_onnx_neural_network
from omlt.neuralnet import ReluBigMFormulation

FIELDS, WATER, NITROGEN, SOIL = range(3), 0, 1, 2
area, soil = [10.0, 14.0, 8.0], [0.2, 0.5, 0.9]
proto = onnx.load(Path(__file__).parent / "harvest.onnx")
network = load_onnx_neural_network(proto, input_bounds={WATER: (0.0, 6.0), NITROGEN: (0.0, 2.0), SOIL: (0.0, 1.0)})

m = pyo.ConcreteModel()
m.field = OmltBlock(FIELDS)
for i in FIELDS:
    m.field[i].build_formulation(ReluBigMFormulation(network))
m.soil = pyo.Constraint(FIELDS, rule=lambda m, i: m.field[i].inputs[SOIL] == soil[i])
m.contract = pyo.Constraint(FIELDS, rule=lambda m, i: m.field[i].outputs[0] >= 2.0)
water = sum(area[i] * m.field[i].inputs[WATER] for i in FIELDS)
nitrogen = sum(area[i] * m.field[i].inputs[NITROGEN] for i in FIELDS)
m.water = pyo.Constraint(expr=water <= 70.0)
m.nitrogen = pyo.Constraint(expr=nitrogen <= 30.0)
harvest = sum(area[i] * m.field[i].outputs[0] for i in FIELDS)
m.profit = pyo.Objective(expr=0.2 * harvest - 0.03 * water - 0.1 * nitrogen, sense=pyo.maximize)

results = pyo.SolverFactory("appsi_highs").solve(m, options={"time_limit": 60})

print(f"objective {pyo.value(m.profit):.4f}, {results.solver.termination_condition}, bound {results.problem.upper_bound:.4f}")
for name, index in (("water", WATER), ("nitrogen", NITROGEN)):
    print(name, [round(m.field[i].inputs[index].value, 5) for i in FIELDS])
