"""Three reactors in one gurobipy model, run by their neural surrogate.

The network of reactor.py predicts margin and impurity of each reactor. They share catalyst charges and a heating budget, and the
mixture of their products may have 8 percent of impurity. The call is that of gurobi-ml; no binary is added for a hidden unit.

    python examples/gurobipy_reactors.py
"""

from __future__ import annotations

from pathlib import Path

import gurobipy as gp

import dcembed
from dcembed.gurobipy import add_predictor_constr, optimize

NETWORK = Path(__file__).parent / "reactor.onnx"


def main() -> dcembed.Result:
    model = gp.Model("reactors")
    # Temperature (K), residence time (min), feed (mol/l) and catalyst charges of each reactor.
    settings = model.addMVar((3, 4), lb=[330.0, 2.0, 0.5, 0.0], ub=[375.0, 14.0, 2.0, 4.0], vtype=["C", "C", "C", "I"], name="set")
    predictor = add_predictor_constr(model, NETWORK, settings, name="reactor")
    margin, impurity = predictor.output[:, 0], predictor.output[:, 1]
    temperature, feed, charges = settings[:, 0], settings[:, 2], settings[:, 3]
    model.addConstr(impurity.sum() <= 3 * 8.0, name="mixture")
    model.addConstr(charges.sum() <= 4, name="catalyst")
    model.addConstr(temperature.sum() + 12.0 * feed.sum() <= 3 * 378.0, name="heating")
    costs = 0.01 * (temperature.sum() - 3 * 330.0) + 0.2 * feed.sum() + 0.95 * charges.sum()
    model.setObjective(margin.sum() - costs, gp.GRB.MAXIMIZE)

    result = optimize(model, time_limit=10, prove=True)
    if result.is_feasible:
        print(f"\nProfit {model.ObjVal:.3f} per hour; outputs differ from the network by {predictor.get_error().max():.1e}.")
        print(f"No setting earns more than {model.ObjBound:.3f}: the gap is {model.MIPGap:.2%}.")
        for row, (profit, percent) in zip(settings.X, predictor.output_values, strict=True):
            print(
                f"  {row[0]:.1f} K, {row[1]:.1f} min, {row[2]:.2f} mol/l, charges {row[3]:.0f}: margin {profit:.2f}, impurity {percent:.2f} %"
            )
    return result


if __name__ == "__main__":
    main()
