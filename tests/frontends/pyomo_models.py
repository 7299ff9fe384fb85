"""Pyomo models of the three problems, and what tests do with them."""

from __future__ import annotations

import pyomo.environ as pyo
from pyomo.gdp import Disjunct, Disjunction
from tests.frontends.problems import ConvexQP, NeuralMILP, NeuralMIQP, make_network

import dcembed.pyomo

NETWORK = make_network(2, (4,), 0)


def build_qp():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4), bounds=(-1, 1))
    m.y = pyo.Var(range(2), bounds=(None, ConvexQP.limit))
    m.total = pyo.Constraint(expr=sum(m.x.values()) == ConvexQP.total)
    m.distance = pyo.Objective(expr=0.5 * sum((m.x[i] - ConvexQP.target[i]) ** 2 for i in range(4)))
    m.nn = pyo.Block()
    dcembed.pyomo.embed(m.nn, ConvexQP.network, inputs=[[m.x[0], m.x[1]], [m.x[2], m.x[3]]], outputs=[[m.y[0]], [m.y[1]]])
    return m


def build_milp(gdp: bool = True):
    p = NeuralMILP
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 1))
    m.z = pyo.Var(range(2), domain=pyo.Binary)
    m.nn = pyo.Block()
    y = dcembed.pyomo.embed(m.nn, p.network, inputs=[m.x[0], m.x[1]]).output[0][0]
    if gdp:
        m.on, m.off = Disjunct(), Disjunct()
        m.on.level = pyo.Constraint(expr=y >= p.level)
        m.choice = Disjunction(expr=[m.on, m.off])
        b = m.on.binary_indicator_var
    else:
        m.b = b = pyo.Var(domain=pyo.Binary)
        m.level = pyo.Constraint(expr=y - p.level >= -20 * (1 - b))
    m.open = pyo.Constraint(range(2), rule=lambda m, i: m.x[i] <= m.z[i])
    m.few = pyo.Constraint(expr=m.z[0] + m.z[1] <= 1 + b)
    m.profit = pyo.Objective(expr=y + p.reward * b - sum(p.cost[i] * m.z[i] for i in range(2)), sense=pyo.maximize)
    return m


def build_miqp():
    p = NeuralMIQP
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-1, 1))
    m.k = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 3))
    m.nn = pyo.Block()
    dcembed.pyomo.embed(m.nn, p.network, inputs=m.x)
    m.tie = pyo.Constraint(expr=m.nn.outputs[0] == p.slope * m.k + p.intercept)
    m.o = pyo.Objective(expr=sum((m.x[i] - p.center[i]) ** 2 for i in range(2)) + 0.1 * m.k)
    return m


def written(model, path) -> str:
    """The model without its networks, as an LP file."""
    with dcembed.pyomo.without_networks(model):
        model.write(str(path), io_options={"symbolic_solver_labels": True})
    return path.read_text()


def solve(model, **options):
    return pyo.SolverFactory("dcembed").solve(model, **options)


def box_model():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-1, 1))
    m.nn = pyo.Block()
    return m
