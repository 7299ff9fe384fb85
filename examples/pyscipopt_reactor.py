"""A reactor in PySCIPOpt, run by its neural surrogate, with a decision that switches a constraint on.

The network of reactor.py predicts margin and impurity. Up to 8 percent of impurity the product sells as it is; a cleaning step, rented or
not, allows 12 percent: without it the limit of 8 holds (an indicator constraint). The call is that of PySCIPOpt-ML.

    python examples/pyscipopt_reactor.py
"""

from __future__ import annotations

from pathlib import Path

import pyscipopt

from dcembed.pyscipopt import ScipResult, add_predictor_constr, optimize

NETWORK = Path(__file__).parent / "reactor.onnx"


def main() -> ScipResult:
    scip = pyscipopt.Model("reactor")
    temperature = scip.addVar("temperature", lb=330.0, ub=375.0)
    minutes = scip.addVar("minutes", lb=2.0, ub=14.0)
    feed = scip.addVar("feed", lb=0.5, ub=2.0)
    charges = scip.addVar("charges", vtype="I", ub=4)
    cleaning = scip.addVar("cleaning", vtype="B")
    predictor = add_predictor_constr(scip, NETWORK, [temperature, minutes, feed, charges], unique_naming_prefix="reactor_")
    margin, impurity = predictor.output[0]
    scip.addCons(impurity <= 12.0, name="cleanable")
    scip.addConsIndicator(impurity <= 8.0, cleaning, activeone=False, name="pure_enough")
    scip.addCons(temperature + 12.0 * feed <= 378.0, name="heating")
    scip.setObjective(margin - 0.01 * (temperature - 330.0) - 0.2 * feed - 0.95 * charges - 0.3 * cleaning, "maximize")

    result = optimize(scip, time_limit=10, prove=True, max_starts=1)
    if result.is_feasible:
        print(f"\nProfit {scip.getObjVal():.3f} per hour at {scip.getVal(impurity):.2f} % impurity, cleaning: {scip.getVal(cleaning):.0f}.")
        print(f"Run at {result.value(temperature):.1f} K for {result.value(minutes):.1f} min with {result.value(feed):.2f} mol/l.")
        print(f"No setting earns more than {scip.getDualbound():.3f}: SCIP says {scip.getStatus()}, gap {scip.getGap():.2%}.")
    return result


if __name__ == "__main__":
    main()
