"""Water and nitrogen for three fields: with PySCIPOpt-ML."""

from pathlib import Path

import numpy as np
import onnx
import pyscipopt
from pyscipopt_ml import add_predictor_constr

network = onnx.load(Path(__file__).parent / "harvest.onnx")
area, soil = [10.0, 14.0, 8.0], [0.2, 0.5, 0.9]
fields = range(3)

scip = pyscipopt.Model()
scip.hideOutput()
scip.setParam("limits/time", 60)
x = np.array(
    [
        [scip.addVar(f"water{i}", ub=6.0), scip.addVar(f"nitrogen{i}", ub=2.0), scip.addVar(f"soil{i}", lb=soil[i], ub=soil[i])]
        for i in fields
    ]
)
harvest = np.array([[scip.addVar(f"harvest{i}", lb=2.0)] for i in fields])
predictor = add_predictor_constr(scip, network, x, harvest)
water = pyscipopt.quicksum(area[i] * x[i, 0] for i in fields)
nitrogen = pyscipopt.quicksum(area[i] * x[i, 1] for i in fields)
scip.addCons(water <= 70.0)
scip.addCons(nitrogen <= 30.0)
scip.setObjective(0.2 * pyscipopt.quicksum(area[i] * harvest[i, 0] for i in fields) - 0.03 * water - 0.1 * nitrogen, "maximize")
scip.optimize()

print(f"objective {scip.getObjVal():.4f}, {scip.getStatus()}, bound {scip.getDualbound():.4f}")
print(f"variables {scip.getNVars(transformed=False)}, error {predictor.get_error().max():.0e}")
for name, column in (("water", 0), ("nitrogen", 1)):
    print(name, [round(scip.getVal(variable), 5) for variable in x[:, column]])
