"""Water and nitrogen for three fields: with DCCP."""

from pathlib import Path

import cvxpy as cp
import dccp  # noqa: F401  (registers the method)
import numpy as np
import onnx
from onnx import numpy_helper

proto = onnx.load(Path(__file__).parent / "harvest.onnx")
array = {tensor.name: numpy_helper.to_array(tensor).astype(float) for tensor in proto.graph.initializer}
area, soil = np.array([10.0, 14.0, 8.0]), np.array([0.2, 0.5, 0.9])

x = cp.Variable((3, 3), name="x")  # water, nitrogen and soil of each field
first, second, harvest = cp.Variable((3, 12), name="first"), cp.Variable((3, 12), name="second"), cp.Variable((3, 1), name="harvest")
water, nitrogen = area @ x[:, 0], area @ x[:, 1]
constraints = [
    # Both sides of these are convex or affine, so that DCCP takes them.
    first == cp.pos(x @ array["W1"].T + np.tile(array["b1"], (3, 1))),
    second == cp.pos(first @ array["W2"].T + np.tile(array["b2"], (3, 1))),
    harvest == second @ array["W3"].T + array["b3"],
    x >= 0.0,
    x[:, 0] <= 6.0,
    x[:, 1] <= 2.0,
    x[:, 2] == soil,
    harvest >= 2.0,
    water <= 70.0,
    nitrogen <= 30.0,
]
problem = cp.Problem(cp.Maximize(0.2 * area @ harvest[:, 0] - 0.03 * water - 0.1 * nitrogen), constraints)
x.value = np.column_stack([[2.0, 2.0, 2.0], [1.0, 1.0, 1.0], soil])
first.value = np.maximum(x.value @ array["W1"].T + array["b1"], 0.0)
second.value = np.maximum(first.value @ array["W2"].T + array["b2"], 0.0)
harvest.value = second.value @ array["W3"].T + array["b3"]
problem.solve(method="dccp", tau_ini=10.0, solver=cp.CLARABEL)

print(f"objective {problem.value:.4f}, {problem.status}")
print("water", x.value[:, 0].round(5), "nitrogen", x.value[:, 1].round(5))
