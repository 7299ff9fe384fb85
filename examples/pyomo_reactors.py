"""Two reactors on one heating budget, written in Pyomo.

The network of reactor.py predicts margin and impurity of each reactor. The second reactor gets a feed that is blended from two
tanks, so an input of the network is a linear expression. A disjunction says that the second reactor is either off or pure.

    python examples/pyomo_reactors.py
"""

from __future__ import annotations

from pathlib import Path

import pyomo.environ as pyo
from pyomo.gdp import Disjunct, Disjunction

import dcembed.pyomo

NETWORK = Path(__file__).parent / "reactor.onnx"


def build_model() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel(name="two reactors")
    m.reactors = pyo.RangeSet(2)
    m.temperature = pyo.Var(m.reactors, bounds=(330, 375), initialize=345)
    m.minutes = pyo.Var(m.reactors, bounds=(2, 14), initialize=8)
    m.charges = pyo.Var(m.reactors, domain=pyo.NonNegativeIntegers, bounds=(0, 4), initialize=1)
    m.feed = pyo.Var(bounds=(0.5, 2.0), initialize=1)
    m.tanks = pyo.Var(["weak", "strong"], bounds=(0, 1), initialize=0.5)
    m.whole = pyo.Constraint(expr=m.tanks["weak"] + m.tanks["strong"] == 1)
    feeds = {1: m.feed, 2: 0.6 * m.tanks["weak"] + 1.8 * m.tanks["strong"]}

    m.nn = pyo.Block()
    dcembed.pyomo.embed(m.nn, NETWORK, inputs=[[m.temperature[r], m.minutes[r], feeds[r], m.charges[r]] for r in m.reactors])
    margin = {r: m.nn.outputs[r - 1, 0] for r in m.reactors}
    impurity = {r: m.nn.outputs[r - 1, 1] for r in m.reactors}

    m.limit = pyo.Constraint(expr=impurity[1] <= 8)
    m.heating = pyo.Constraint(expr=sum(m.temperature[r] + 12 * feeds[r] for r in m.reactors) <= 2 * 376)
    m.gain = pyo.Var(bounds=(0, 10), initialize=0)
    m.on, m.off = Disjunct(), Disjunct()
    m.on.pure = pyo.Constraint(expr=impurity[2] <= 10)
    m.on.earns = pyo.Constraint(expr=m.gain <= margin[2] - 0.95 * m.charges[2] - 0.2)
    m.off.earns = pyo.Constraint(expr=m.gain == 0)
    m.choice = Disjunction(expr=[m.on, m.off])
    heat = sum(0.01 * (m.temperature[r] - 330) for r in m.reactors)
    m.profit = pyo.Objective(expr=margin[1] - 0.95 * m.charges[1] - 0.2 * m.feed + m.gain - heat, sense=pyo.maximize)
    return m


def main() -> pyo.ConcreteModel:
    m = build_model()
    results = pyo.SolverFactory("dcembed").solve(m, tee=True, time_limit=10, prove=True, warmstart=True)
    print(
        f"\n{results.solver.termination_condition}: profit {pyo.value(m.profit):.3f} per hour; the second reactor is {'on' if m.on.indicator_var.value else 'off'}."
    )
    for r in m.reactors:
        print(f"  reactor {r}: {m.temperature[r].value:.1f} K for {m.minutes[r].value:.1f} min, charges {m.charges[r].value:.0f}")
    print(f"The best profit is between {results.problem.lower_bound:.3f} and {results.problem.upper_bound:.3f}.")
    return m


if __name__ == "__main__":
    main()
