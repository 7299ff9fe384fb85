"""Water and nitrogen for three fields: with dcembed, as matrices."""

from pathlib import Path

import numpy as np

import dcembed

network = dcembed.load_network(Path(__file__).parent / "harvest_tanh.npz")
area, soil = np.array([10.0, 14.0, 8.0]), np.array([0.2, 0.5, 0.9])

# Columns: the water, nitrogen and soil of each field, and the harvest that is predicted.
WATER, NITROGEN, SOIL, HARVEST = np.arange(12).reshape(4, 3)
cost, lb, ub, rows = np.zeros(12), np.zeros(12), np.zeros(12), np.zeros((2, 12))
cost[WATER], cost[NITROGEN], cost[HARVEST] = -0.03 * area, -0.1 * area, 0.2 * area
ub[WATER], ub[NITROGEN] = 6.0, 2.0
lb[SOIL] = ub[SOIL] = soil
lb[HARVEST], ub[HARVEST] = 2.0, np.inf
rows[0, WATER], rows[1, NITROGEN] = area, area
program = dcembed.Program(cost=cost, maximize=True, rows=rows, row_ub=[70.0, 30.0], lb=lb, ub=ub)
embedding = dcembed.Embedding(network, inputs=np.column_stack([WATER, NITROGEN, SOIL]), outputs=HARVEST[:, None])

start = np.concatenate([np.ones(6), soil, np.full(3, 2.0)])
options = dcembed.Options(search="converge", time_limit=60, verbose=False)
result = dcembed.solve(program, embedding, start=start, options=options)

print(f"objective {result.objective:.4f}, {result.status.name}")
print(f"feasible: {result.is_feasible}, violation {result.violation:.0e}")
print("water", result.x[WATER].round(5), "nitrogen", result.x[NITROGEN].round(5))
