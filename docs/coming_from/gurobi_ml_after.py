"""Water and nitrogen for three fields: with dcembed, in gurobipy."""

from pathlib import Path

import gurobipy as gp
import numpy as np
import onnx

from dcembed.gurobipy import add_predictor_constr

network = onnx.load(Path(__file__).parent / "harvest.onnx")
area, soil = np.array([10.0, 14.0, 8.0]), np.array([0.2, 0.5, 0.9])

model = gp.Model()
model.Params.OutputFlag = 0
model.Params.TimeLimit = 60
x = model.addMVar((3, 3), ub=[6.0, 2.0, 1.0], name="x")  # water, nitrogen and soil of each field
harvest = model.addMVar((3, 1), lb=2.0, name="harvest")
predictor = add_predictor_constr(model, network, x, harvest)
model.addConstr(x[:, 2] == soil, name="soil")
model.addConstr(area @ x[:, 0] <= 70.0, name="water")
model.addConstr(area @ x[:, 1] <= 30.0, name="nitrogen")
model.setObjective(0.2 * area @ harvest[:, 0] - 0.03 * area @ x[:, 0] - 0.1 * area @ x[:, 1], gp.GRB.MAXIMIZE)
result = model.optimize(prove=True)

print(f"objective {model.ObjVal:.4f}, optimal: {model.Status == gp.GRB.OPTIMAL}, bound {model.ObjBound:.4f}")
print(f"variables {model.NumVars}, of the network {len(predictor.vars)}, error {predictor.get_error().max():.0e}")
print(f"feasible: {result.is_feasible}, violation {result.violation:.0e}")
print("water", x.X[:, 0].round(5), "nitrogen", x.X[:, 1].round(5))
