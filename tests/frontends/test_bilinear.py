"""Prices times predicted demand, with an integer beside: every front end whose tool can write it finds what a fine grid knows."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from tests.frontends.problems import PriceTimesDemand as Sale

import dcembed
from dcembed.frontends.files_ import ModelFile, NetworkEntry, extract

QUICK = {"verbose": False, "max_starts": 2, "time_limit": 200.0}


def with_gurobipy(tmp_path):
    import gurobipy as gp

    from dcembed.gurobipy import add_predictor_constr

    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
        price = model.addVars(2, ub=Sale.highest, name="price")
        campaign = model.addVar(vtype=gp.GRB.INTEGER, ub=2, name="campaign")
        demand = model.addVars(2, lb=-gp.GRB.INFINITY, name="demand")
        add_predictor_constr(model, Sale.network, [price[0], price[1], campaign], [demand[0], demand[1]])
        model.addConstr(demand.sum() <= Sale.capacity)
        margin = gp.quicksum((price[i] - Sale.unit_cost) * demand[i] for i in range(2))
        model.setObjective(margin - Sale.campaign_cost * campaign, gp.GRB.MAXIMIZE)
        model.optimize(**QUICK)
        return model.ObjVal, [price[0].X, price[1].X], campaign.X


def with_pyomo(tmp_path):
    import pyomo.environ as pyo

    import dcembed.pyomo

    m = pyo.ConcreteModel()
    m.price = pyo.Var(range(2), bounds=(0, Sale.highest))
    m.campaign = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 2))
    m.demand = pyo.Var(range(2))
    m.capacity = pyo.Constraint(expr=sum(m.demand.values()) <= Sale.capacity)
    margin = sum((m.price[i] - Sale.unit_cost) * m.demand[i] for i in range(2))
    m.loss = pyo.Objective(expr=Sale.campaign_cost * m.campaign - margin)
    m.net = pyo.Block()
    dcembed.pyomo.embed(m.net, Sale.network, [[m.price[0], m.price[1], m.campaign]], [[m.demand[0], m.demand[1]]])
    pyo.SolverFactory("dcembed").solve(m, options=QUICK)
    return -pyo.value(m.loss), [m.price[0].value, m.price[1].value], m.campaign.value


def with_pyscipopt(tmp_path):
    import pyscipopt

    from dcembed.pyscipopt import add_predictor_constr, optimize

    model = pyscipopt.Model()
    model.hideOutput()
    price = [model.addVar(f"price{i}", ub=Sale.highest) for i in range(2)]
    campaign = model.addVar("campaign", vtype="I", ub=2)
    demand = [model.addVar(f"demand{i}", lb=None) for i in range(2)]
    margin = model.addVar("margin", lb=None)
    add_predictor_constr(model, Sale.network, np.array([*price, campaign]), np.array(demand))
    model.addCons(demand[0] + demand[1] <= Sale.capacity)
    model.addCons(margin <= sum((p - Sale.unit_cost) * d for p, d in zip(price, demand, strict=True)))
    model.setObjective(margin - Sale.campaign_cost * campaign, "maximize")
    optimize(model, **QUICK)
    return model.getObjVal(), [model.getVal(p) for p in price], model.getVal(campaign)


def with_linopy(tmp_path):
    import linopy

    from dcembed.linopy import embed, solve

    model = linopy.Model()
    price = model.add_variables(lower=0, upper=Sale.highest, coords=[range(2)], dims=["product"], name="price")
    campaign = model.add_variables(lower=0, upper=2, integer=True, name="campaign")
    demand = model.add_variables(coords=[range(2)], dims=["product"], name="demand")
    inputs = [price.loc[0], price.loc[1], campaign]
    embed(model, Sale.network, inputs, [demand.loc[0], demand.loc[1]])
    model.add_constraints(demand.sum() <= Sale.capacity, name="capacity")
    margin = (price * demand).sum() - Sale.unit_cost * demand.sum()
    model.add_objective(margin - Sale.campaign_cost * campaign, sense="max")
    solve(model, **QUICK)
    return model.objective.value, price.solution.values, float(campaign.solution)


def with_files(tmp_path):
    path = tmp_path / "sale.lp"
    path.write_text(
        f"Maximize\n profit: - {Sale.unit_cost} d0 - {Sale.unit_cost} d1 - {Sale.campaign_cost} k + [ 2 p0 * d0 + 2 p1 * d1 ] / 2\n"
        f"Subject To\n capacity: d0 + d1 <= {Sale.capacity}\n"
        f"Bounds\n p0 <= {Sale.highest}\n p1 <= {Sale.highest}\n k <= 2\n d0 free\n d1 free\nGeneral\n k\nEnd\n"
    )
    extraction = extract(ModelFile(path, [NetworkEntry(Sale.network, ["p0", "p1", "k"], ["d0", "d1"])]))
    result = dcembed.solve(extraction.program, extraction.embeddings, options=QUICK)
    at = dict(zip(extraction.program.column_names, result.x, strict=True))
    return result.objective, [at["p0"], at["p1"]], at["k"]


TOOLS = {"gurobipy": with_gurobipy, "pyomo": with_pyomo, "pyscipopt": with_pyscipopt, "linopy": with_linopy, "highspy": with_files}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("tool", TOOLS)
def test_price_times_demand_is_as_good_as_a_fine_grid(tool, tmp_path):
    if find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    objective, price, campaign = TOOLS[tool](tmp_path)
    assert campaign == pytest.approx(round(campaign), abs=1e-6)
    again = Sale.profit(np.array([price]), np.array([round(campaign)]))[0]
    if np.isfinite(again):
        assert objective == pytest.approx(again, abs=1e-5)
    # The grid knows the optimum but for its step of a hundredth.
    assert Sale.best_on_grid() - 1e-6 <= objective <= Sale.best_on_grid() + 2e-2


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
def test_a_variable_that_is_a_product_is_its_name(sense):
    """Scripts for SCIP write revenue == price * demand, and its sense does not matter then."""
    pyscipopt = pytest.importorskip("pyscipopt")
    from dcembed.pyscipopt import add_predictor_constr, optimize

    network = dcembed.build_mlp([[[-1.0], [1.0]], [[1.5, -0.5]]], [[1.5, -0.5], [0.2]])
    model = pyscipopt.Model()
    model.hideOutput()
    price, demand = model.addVar("price", lb=-1, ub=2), model.addVar("demand", lb=None)
    revenue = model.addVar("revenue", lb=None)
    add_predictor_constr(model, network, [price], [demand])
    model.addCons(revenue == price * demand + 0.1)
    model.setObjective(2 * revenue, sense)
    result = optimize(model, **QUICK)
    grid = np.linspace(-1, 2, 30001)
    best = getattr(np, sense[:3])(2 * (grid * network(grid[:, None])[:, 0] + 0.1))
    assert result.objective == pytest.approx(best, abs=1e-3)
    assert model.getObjVal() == pytest.approx(result.objective)
    assert model.getVal(revenue) == pytest.approx(model.getVal(price) * model.getVal(demand) + 0.1, abs=1e-6)


def test_a_product_with_a_limit_is_refused_with_a_way_out():
    pyscipopt = pytest.importorskip("pyscipopt")
    from dcembed.pyscipopt import add_predictor_constr, optimize

    model = pyscipopt.Model()
    model.hideOutput()
    price, demand = model.addVar("price", ub=2), model.addVar("demand", lb=None)
    revenue = model.addVar("revenue", lb=None, ub=1)
    add_predictor_constr(model, dcembed.build_mlp([[[1.0]], [[1.0]]], [None, None]), [price], [demand])
    model.addCons(revenue == price * demand, name="sales")
    model.setObjective(revenue, "maximize")
    with pytest.raises(dcembed.DcembedError, match=r"'sales' is not taken.*t == product, where t is in the objective"):
        optimize(model)
