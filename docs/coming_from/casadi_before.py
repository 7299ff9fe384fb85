"""Water and nitrogen for three fields: with CasADi and Ipopt."""

from pathlib import Path

import casadi as ca
import numpy as np

layers = np.load(Path(__file__).parent / "harvest_tanh.npz")
area, soil = np.array([10.0, 14.0, 8.0]), np.array([0.2, 0.5, 0.9])


def network(x):
    """The harvest at x (3), by tanh units."""
    hidden = ca.tanh(layers["W1"] @ x + layers["b1"])
    hidden = ca.tanh(layers["W2"] @ hidden + layers["b2"])
    return layers["W3"] @ hidden + layers["b3"]


opti = ca.Opti()
water, nitrogen = opti.variable(3), opti.variable(3)
harvest = ca.vertcat(*[network(ca.vertcat(water[i], nitrogen[i], soil[i])) for i in range(3)])
opti.minimize(-(0.2 * ca.dot(area, harvest) - 0.03 * ca.dot(area, water) - 0.1 * ca.dot(area, nitrogen)))
opti.subject_to(harvest >= 2.0)
opti.subject_to(opti.bounded(0.0, water, 6.0))
opti.subject_to(opti.bounded(0.0, nitrogen, 2.0))
opti.subject_to(ca.dot(area, water) <= 70.0)
opti.subject_to(ca.dot(area, nitrogen) <= 30.0)
opti.set_initial(water, 1.0)
opti.set_initial(nitrogen, 1.0)
opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_wall_time": 60.0})
solution = opti.solve()

print(f"objective {-solution.value(opti.f):.4f}, {solution.stats()['return_status']}")
print("water", solution.value(water).round(5), "nitrogen", solution.value(nitrogen).round(5))
