"""Water and nitrogen for three fields: with dcembed, in CVXPY."""

from pathlib import Path

import cvxpy as cp
import numpy as np

import dcembed.cvxpy

network = dcembed.load_network(Path(__file__).parent / "harvest.onnx")
area, soil = np.array([10.0, 14.0, 8.0]), np.array([0.2, 0.5, 0.9])

x = cp.Variable((3, 3), name="x")  # water, nitrogen and soil of each field
harvest = dcembed.cvxpy.embed(network, x)
water, nitrogen = area @ x[:, 0], area @ x[:, 1]
constraints = [
    x >= 0.0,
    x[:, 0] <= 6.0,
    x[:, 1] <= 2.0,
    x[:, 2] == soil,
    harvest >= 2.0,
    water <= 70.0,
    nitrogen <= 30.0,
]
problem = cp.Problem(cp.Maximize(0.2 * area @ harvest[:, 0] - 0.03 * water - 0.1 * nitrogen), constraints)
problem.solve(method="dcembed", search="converge", time_limit=60)
result = dcembed.cvxpy.result_of(problem)

print(f"objective {problem.value:.4f}, {problem.status}")
print(f"feasible: {result.is_feasible}, violation {result.violation:.0e}")
print("water", x.value[:, 0].round(5), "nitrogen", x.value[:, 1].round(5))
