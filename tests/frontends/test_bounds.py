"""A proved bound is where users of each tool look for it, in the sense of their model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.frontends.problems import make_network

import dcembed
from dcembed import Status

NETWORK = make_network(2, (5,), 0)
QUICK = {"max_starts": 1, "verbose": False}
# How far the bound lies from the best point, and what that makes of the run.
OPEN, CLOSED = 0.25, 1e-6
SENSES = pytest.mark.parametrize("sense", [1.0, -1.0], ids=["minimized", "maximized"])


# Pyomo


def pyomo_model(sense: float):
    """Sense * (f(x) + 0.1 x0 + 7) over a box."""
    pyo = pytest.importorskip("pyomo.environ")
    import dcembed.pyomo

    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-1, 1))
    m.nn = pyo.Block()
    y = dcembed.pyomo.embed(m.nn, NETWORK, inputs=[m.x[0], m.x[1]]).output[0][0]
    m.o = pyo.Objective(expr=sense * (y + 0.1 * m.x[0] + 7), sense=pyo.minimize if sense > 0 else pyo.maximize)
    return m, pyo.SolverFactory("dcembed")


@SENSES
@pytest.mark.parametrize("below", [OPEN, CLOSED])
def test_pyomo(certifies, sense, below):
    certifies(below)
    m, solver = pyomo_model(sense)
    results = solver.solve(m, prove="auto", load_solutions=False, **QUICK)
    low, high = results.problem.lower_bound, results.problem.upper_bound
    assert high - low == pytest.approx(below, rel=1e-6)
    assert (low if sense < 0 else high) == solver.result.objective
    assert results.solution(0).gap == pytest.approx(below, rel=1e-6)
    assert str(results.solver.termination_condition) == ("optimal" if below == CLOSED else "locallyOptimal")
    assert str(results.solution(0).status) == ("optimal" if below == CLOSED else "locallyOptimal")


def test_pyomo_options_may_be_a_string(certifies):
    certifies(OPEN)
    m, solver = pyomo_model(1.0)
    results = solver.solve(m, options_string="prove=True gap_tol=0.5", **QUICK)
    assert str(results.solver.termination_condition) == "optimal"
    results = solver.solve(m, options_string="prove=auto", **QUICK)
    assert str(results.solver.termination_condition) == "locallyOptimal"


def test_pyomo_takes_a_proof_of_infeasibility(certifies):
    pyo = pytest.importorskip("pyomo.environ")
    certifies(np.inf)
    m, solver = pyomo_model(1.0)
    m.limit = pyo.Constraint(expr=m.nn.outputs[0] >= 1e3)
    results = solver.solve(m, max_iterations=1, **QUICK)
    assert str(results.solver.termination_condition) == "infeasible"


# gurobipy


def gurobi_model(model, sense: float):
    import gurobipy as gp

    from dcembed.gurobipy import add_predictor_constr

    x = model.addMVar(2, lb=-1, ub=1)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(sense * (predictor.output[0, 0] + 0.1 * x[0] + 7), gp.GRB.MINIMIZE if sense > 0 else gp.GRB.MAXIMIZE)


@SENSES
@pytest.mark.parametrize("holder", ["Gurobi", "dcembed"])
def test_gurobipy(model, certifies, monkeypatch, sense, holder):
    from gurobipy import GRB

    from dcembed.frontends import gurobipy_ as front

    certifies(OPEN)
    gurobi_model(model, sense)
    if holder == "dcembed":
        monkeypatch.setattr(front, "accept", lambda *_: (None, "to see what then"))
        with pytest.warns(UserWarning, match="to see what then"):
            result = model.optimize(prove="auto", max_starts=1)
    else:
        result = model.optimize(prove="auto", max_starts=1)
    assert model.ObjBound == model.getAttr("ObjBoundC") == result.bound
    assert sense * (model.ObjVal - model.ObjBound) == pytest.approx(OPEN)
    assert model.MIPGap == pytest.approx(OPEN / abs(model.ObjVal))
    assert model.Status != GRB.OPTIMAL
    certifies(CLOSED)
    model.Params.MIPGap = 1e-3
    if holder == "Gurobi":
        model.optimize(prove=True, max_starts=1)
        assert model.Status == GRB.OPTIMAL
        model.Params.MIPGap = 0.0
        model.optimize(prove=True, max_starts=1)
        assert model.Status != GRB.OPTIMAL


# PySCIPOpt


def scip_model(sense: float):
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    from dcembed.pyscipopt import add_predictor_constr

    model = scip.Model()
    model.hideOutput()
    x = [model.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)]
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(sense * (predictor.output[0, 0] + 0.1 * x[0]), "minimize" if sense > 0 else "maximize")
    model.addObjoffset(7.0 * sense)
    return model


@SENSES
@pytest.mark.parametrize(("below", "status"), [(OPEN, "userinterrupt"), (CLOSED, "gaplimit"), (1e-13, "optimal")])
def test_pyscipopt(certifies, sense, below, status):
    model = scip_model(sense)
    from dcembed.pyscipopt import optimize

    certifies(below)
    model.setParam("limits/gap", 1e-5)
    result = optimize(model, prove="auto", **QUICK)
    assert (model.getParam("limits/gap"), model.getParam("limits/time")) == (1e-5, 1e20)
    assert model.getStatus() == status
    assert result.status is (Status.LOCALLY_SOLVED if below == OPEN else Status.OPTIMAL)
    assert model.getPrimalbound() == pytest.approx(result.objective)
    assert sense * (model.getPrimalbound() - model.getDualbound()) == pytest.approx(below, rel=1e-3, abs=1e-9)
    assert model.getGap() == pytest.approx(below / abs(result.objective), rel=0.1, abs=1e-9)


@SENSES
def test_pyscipopt_scales_objectives_of_integers_for_itself(certifies, sense):
    """The bound has the user's units all the same, rounded to what whole numbers can be."""
    scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")
    from dcembed.pyscipopt import add_predictor_constr, optimize

    model = scip.Model()
    model.hideOutput()
    x = [model.addVar(f"x{i}", vtype="I", lb=-3, ub=3) for i in range(2)]
    predictor = add_predictor_constr(model, NETWORK, x)
    model.addCons(predictor.output[0, 0] >= float(NETWORK(np.zeros((1, 2)))[0, 0]) - 0.1)
    model.setObjective(sense * (6 * x[0] + 12 * x[1]), "minimize" if sense > 0 else "maximize")
    certifies(6.0)
    result = optimize(model, prove="auto", **QUICK)
    assert result.is_feasible
    assert model.getDualbound() == pytest.approx(result.bound) == pytest.approx(result.objective - 6.0 * sense)


def test_pyscipopt_takes_a_proof_of_infeasibility(certifies):
    model = scip_model(1.0)
    from dcembed.pyscipopt import optimize

    model.addCons(model.getVars()[2] >= 1e3)
    certifies(np.inf)
    assert optimize(model, max_iterations=1, **QUICK).status is Status.INFEASIBLE
    assert model.getStatus() == "infeasible"


# CVXPY


def cvxpy_problem(sense: float):
    cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
    import dcembed.cvxpy as front

    x = cp.Variable(2, bounds=[-1, 1])
    f = front.embed(NETWORK, x)[0]
    goal = sense * (f + 0.1 * x[0] + 7)
    return cp.Problem(cp.Minimize(goal) if sense > 0 else cp.Maximize(goal)), f


@SENSES
@pytest.mark.parametrize(("below", "status"), [(OPEN, "locally_solved"), (CLOSED, "optimal")])
def test_cvxpy(certifies, sense, below, status):
    problem, _ = cvxpy_problem(sense)
    certifies(below)
    problem.solve(method="dcembed", prove="auto", **QUICK)
    stats = problem.solver_stats.extra_stats
    assert sense * (problem.value - stats.bound) == pytest.approx(below, rel=1e-3)
    assert stats.gap == pytest.approx(below / abs(problem.value), rel=1e-3)
    assert problem.status == status


def test_cvxpy_takes_a_proof_of_infeasibility(certifies):
    problem, f = cvxpy_problem(-1.0)
    certifies(np.inf)
    impossible = type(problem)(problem.objective, [f >= 1e3])
    assert impossible.solve(method="dcembed", max_iterations=1, **QUICK) == -np.inf
    assert impossible.status == "infeasible"


# linopy


@SENSES
@pytest.mark.parametrize(("below", "condition"), [(OPEN, "suboptimal"), (CLOSED, "optimal")])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_linopy(certifies, sense, below, condition):
    linopy = pytest.importorskip("linopy", reason="linopy is not installed")
    import dcembed.linopy

    model = linopy.Model()
    x = [model.add_variables(lower=-1, upper=1, name=f"x{i}") for i in range(2)]
    y = model.add_variables(lower=-100, upper=100, name="y")
    dcembed.linopy.embed(model, NETWORK, x, y)
    model.add_objective(sense * (y + 0.1 * x[0]), sense="min" if sense > 0 else "max")
    certifies(below)
    result = dcembed.linopy.solve(model, prove="auto", **QUICK)
    assert model.termination_condition == condition
    assert result is dcembed.linopy.result_of(model)
    assert sense * (model.objective.value - result.bound) == pytest.approx(below, rel=1e-3)
    # The relative gap of linopy's solvers is ours.
    model.solve(mip_rel_gap=0.9, prove="auto", **QUICK)
    assert model.termination_condition == "optimal"


def test_what_a_front_end_replaces_in_a_result_changes_its_gap():
    """The gap follows from objective and bound, whoever measures the point again."""
    program, embedding = (
        dcembed.Program(cost=[0.1, 0.0, 1.0], lb=[-1, -1, -np.inf], ub=[1, 1, np.inf]),
        dcembed.Embedding(NETWORK, [0, 1], [2]),
    )
    result = dcembed.solve(program, embedding, options=QUICK)
    moved = dataclasses.replace(result, objective=4.0, bound=3.0)
    assert moved.gap == 0.25
