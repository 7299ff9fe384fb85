"""The tables of docs/hosts.md: every cell that code can answer is tried, predictors by embedding them and parts of models by extracting them."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import dcembed
from dcembed.errors import DcembedError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "hosts.md"
PACKAGES = {
    "Python": "numpy",
    "Pyomo": "pyomo",
    "CVXPY": "cvxpy",
    "gurobipy": "gurobipy",
    "PySCIPOpt": "pyscipopt",
    "linopy": "linopy",
    "files": "highspy",
}
HOSTS = tuple(PACKAGES)
TOOLS = ("Pyomo", "CVXPY", "gurobipy", "PySCIPOpt", "linopy")
NETWORK = dcembed.build_mlp([[[1.0, 0.5], [1.0, -1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
YES, NO, NONE = "yes", "refused", "-"


def read_table(heading: str) -> dict[tuple[str, str], str]:
    """The cells of the table below a heading of the page, by row and column; of a cell the first word counts."""
    section = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if line.startswith("|")]
    return {(row[0], host): cell.partition(" ")[0].rstrip(",:;") for row in rows for host, cell in zip(header[1:], row[1:], strict=True)}


def require(host: str) -> None:
    if find_spec(PACKAGES[host]) is None:
        pytest.skip(f"{PACKAGES[host]} is not installed")


# What predictors go in


def open_model(host):
    """A model of a tool with two inputs in [-1, 1], and what embeds a network in it and extracts all."""
    module, extract = import_module(f"dcembed.{host.lower()}"), import_module(f"dcembed.frontends.{host.lower()}_").extract
    if host == "Pyomo":
        import pyomo.environ as pyo

        model = pyo.ConcreteModel()
        model.x, model.nn, model.cost = pyo.Var(range(2), bounds=(-1, 1)), pyo.Block(), pyo.Objective(expr=0)
        return lambda net: (module.embed(model.nn, net, inputs=[model.x[0], model.x[1]]), extract(model))[1]
    if host == "CVXPY":
        import cvxpy as cp

        x = cp.Variable(2, bounds=[-1, 1])
        return lambda net: extract(cp.Problem(cp.Minimize(cp.sum(module.embed(net, x)) + x[0])))
    if host == "gurobipy":
        import gurobipy as gp

        model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
        x = model.addMVar(2, lb=-1, ub=1)
        return lambda net, **keywords: (module.add_predictor_constr(model, net, x, **keywords), extract(model))[1]
    if host == "PySCIPOpt":
        import pyscipopt

        model = pyscipopt.Model()
        x = [model.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)]
        return lambda net, **keywords: (module.add_predictor_constr(model, net, x, **keywords), extract(model))[1]
    import linopy

    model = linopy.Model()
    x = [model.add_variables(lower=-1, upper=1, name=f"x{i}") for i in range(2)]
    model.add_objective(1 * x[0])
    return lambda net: (module.embed(model, net, x), extract(model))[1]


@pytest.fixture(scope="module")
def predictors(tmp_path_factory):
    """A model of every kind, with two inputs; each kind is left out where its package is missing."""
    folder, rng, made = tmp_path_factory.mktemp("predictors"), np.random.default_rng(0), {"a Network, .npz": NETWORK}
    if find_spec("torch"):
        import torch

        torch.manual_seed(0)
        made["PyTorch"] = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        if find_spec("keras"):
            os.environ.setdefault("KERAS_BACKEND", "torch")
            import keras

            made["Keras"] = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(1)])
    if find_spec("onnx"):
        import onnx
        from onnx import helper, numpy_helper

        ends = [[helper.make_tensor_value_info(name, 1, ["n", size])] for name, size in (("x", 2), ("y", 3))]
        weights = [numpy_helper.from_array(rng.normal(size=(2, 3)).astype(np.float32), "W")]
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "W"], ["y"])], "g", *ends, weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), folder / "net.onnx")
        made["ONNX"] = str(folder / "net.onnx")
    if find_spec("sklearn"):
        from sklearn.linear_model import LogisticRegression
        from sklearn.neural_network import MLPRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        x = rng.normal(size=(60, 2))
        regressor = MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", random_state=0).fit(x, x.sum(axis=1))
        made["scikit-learn"] = make_pipeline(StandardScaler().fit(x), regressor)
        made["classes of a classifier"] = LogisticRegression().fit(x, x[:, 0] > 0)
    return made


@pytest.mark.parametrize("host", TOOLS)
def test_what_goes_into_a_tool_is_what_the_page_says(host, predictors):
    require(host)
    said = {kind: cell for (kind, tool), cell in read_table("What networks go into what").items() if tool == host}
    assert set(predictors) <= set(said)
    found = {}
    for kind, model in predictors.items():
        keywords = {"output_type": "classification"} if kind.startswith("classes") and host in ("gurobipy", "PySCIPOpt") else {}
        try:
            open_model(host)(model, **keywords)
            found[kind] = YES
        except DcembedError:
            found[kind] = NO
    assert found == {kind: said[kind] for kind in predictors}


# What a model may have. Each function adds one thing to a model with a network in it, or writes it as a program or a file.


def pyomo_parts():
    import pyomo.environ as pyo
    from pyomo.gdp import Disjunct, Disjunction

    def model(*, add=lambda m: None, cost=lambda m: m.x[0]):
        m = pyo.ConcreteModel()
        m.x, m.z, m.nn = pyo.Var(range(2), bounds=(-1, 1)), pyo.Var(domain=pyo.Binary), pyo.Block()
        dcembed.pyomo.embed(m.nn, NETWORK, inputs=[m.x[0], m.x[1]])
        add(m)
        m.cost = pyo.Objective(expr=cost(m))
        return m

    def disjunct(m):
        m.on, m.off = Disjunct(), Disjunct()
        m.on.row = pyo.Constraint(expr=m.nn.outputs[0] >= 0)
        m.choice = Disjunction(expr=[m.on, m.off])

    def logic(m):
        m.b = pyo.BooleanVar()
        m.logic = pyo.LogicalConstraint(expr=m.b)

    def sos(m):
        m.sos = pyo.SOSConstraint(var=m.x, sos=2)

    def curve(m):
        m.curve = pyo.Piecewise(m.x[1], m.x[0], pw_pts=[-1, 0, 1], f_rule=[0, 1, 0], pw_constr_type="EQ", pw_repn="INC")

    def row(expression):
        return lambda m: setattr(m, "row", pyo.Constraint(expr=expression(m)))

    def extract(**given):
        import dcembed.pyomo

        return dcembed.pyomo.extract(model(**given))

    return {
        "integers": lambda: extract(add=lambda m: setattr(m, "n", pyo.Var(domain=pyo.Integers, bounds=(0, 3)))),
        "convex quadratic objective": lambda: extract(cost=lambda m: m.x[0] ** 2),
        "quadratic objective that is not convex": lambda: extract(cost=lambda m: m.x[0] * m.x[1]),
        "convex quadratic constraint": lambda: extract(add=row(lambda m: m.x[0] ** 2 + m.x[1] ** 2 <= 1)),
        "quadratic constraint that is not convex": lambda: extract(add=row(lambda m: m.x[0] * m.x[1] <= 0.5)),
        "second-order cone": lambda: extract(add=row(lambda m: m.x[0] ** 2 <= m.x[1] ** 2)),
        "row behind a binary": lambda: extract(add=disjunct),
        "SOS": lambda: extract(add=sos),
        "logic (and, or)": lambda: extract(add=logic),
        "maximum, absolute value": lambda: extract(add=row(lambda m: abs(m.x[0]) >= 0.5)),
        "piecewise linear curve": lambda: extract(add=curve),
        "other nonlinear functions": lambda: extract(add=row(lambda m: pyo.exp(m.x[0]) <= 2)),
    }


def cvxpy_parts():
    import cvxpy as cp

    import dcembed.cvxpy

    def extract(cost=lambda x: x[0], rows=lambda x: []):
        x = cp.Variable(2, bounds=[-1, 1])
        f = dcembed.cvxpy.embed(NETWORK, x)
        return dcembed.cvxpy.extract(cp.Problem(cp.Minimize(cost(x) + f[0]), rows(x)))

    return {
        "integers": lambda: extract(rows=lambda x: [x[0] <= cp.Variable(integer=True)]),
        "convex quadratic objective": lambda: extract(cost=cp.sum_squares),
        "quadratic objective that is not convex": lambda: extract(cost=lambda x: -cp.sum_squares(x)),
        "convex quadratic constraint": lambda: extract(rows=lambda x: [cp.sum_squares(x) <= 1]),
        "quadratic constraint that is not convex": lambda: extract(rows=lambda x: [cp.sum_squares(x) >= 1]),
        "second-order cone": lambda: extract(rows=lambda x: [cp.norm(x) <= 1 + x[0]]),
        "maximum, absolute value": lambda: extract(rows=lambda x: [cp.max(cp.abs(x)) <= 0.5]),
        "other nonlinear functions": lambda: extract(rows=lambda x: [cp.exp(x) <= 2]),
    }


def gurobipy_parts():
    import gurobipy as gp

    import dcembed.gurobipy

    def extract(change):
        model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
        x, z = model.addVars(2, lb=-1, ub=1), model.addVars(2, vtype="B")
        y = dcembed.gurobipy.add_predictor_constr(model, NETWORK, [x[0], x[1]]).output[0, 0].item()
        t = model.addVar(lb=-9, ub=9)
        change(model, x, z, y, t)
        model.update()
        return import_module("dcembed.frontends.gurobipy_").extract(model)

    return {
        "integers": lambda: extract(lambda m, x, z, y, t: m.addVar(vtype="I", ub=3)),
        "convex quadratic objective": lambda: extract(lambda m, x, z, y, t: m.setObjective(x[0] * x[0])),
        "quadratic objective that is not convex": lambda: extract(lambda m, x, z, y, t: m.setObjective(x[0] * x[1])),
        "convex quadratic constraint": lambda: extract(lambda m, x, z, y, t: m.addConstr(x[0] * x[0] + x[1] * x[1] <= 1)),
        "quadratic constraint that is not convex": lambda: extract(lambda m, x, z, y, t: m.addConstr(x[0] * x[1] <= 0.5)),
        "second-order cone": lambda: extract(lambda m, x, z, y, t: (m.addConstr(t == gp.norm([x[0], x[1]], 2)), m.addConstr(t <= 1))),
        "row behind a binary": lambda: extract(lambda m, x, z, y, t: m.addConstr((z[0] == 1) >> (y >= 0))),
        "SOS": lambda: extract(lambda m, x, z, y, t: m.addSOS(gp.GRB.SOS_TYPE2, [x[0], x[1]])),
        "semi-continuous variables": lambda: extract(lambda m, x, z, y, t: m.addVar(vtype="S", lb=1, ub=3)),
        "logic (and, or)": lambda: extract(lambda m, x, z, y, t: m.addConstr(z[0] == gp.or_(z[1]))),
        "maximum, absolute value": lambda: extract(lambda m, x, z, y, t: m.addConstr(t == gp.abs_(x[0]))),
        "piecewise linear curve": lambda: extract(lambda m, x, z, y, t: m.addGenConstrPWL(x[0], t, [-1, 0, 1], [0, 1, 0])),
        "other nonlinear functions": lambda: extract(lambda m, x, z, y, t: m.addGenConstrExp(x[0], t)),
    }


def pyscipopt_parts():
    import pyscipopt

    import dcembed.pyscipopt

    def extract(change):
        scip = pyscipopt.Model()
        x, z = [scip.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)], [scip.addVar(f"z{i}", vtype="B") for i in range(2)]
        y = dcembed.pyscipopt.add_predictor_constr(scip, NETWORK, x).output[0, 0]
        t = scip.addVar("t", lb=None)
        scip.setObjective(t)
        change(scip, x, z, y, t)
        return import_module("dcembed.frontends.pyscipopt_").extract(scip)

    return {
        "integers": lambda: extract(lambda m, x, z, y, t: m.addVar("n", vtype="I", ub=3)),
        "convex quadratic objective": lambda: extract(lambda m, x, z, y, t: m.addCons(t >= x[0] ** 2)),
        "quadratic objective that is not convex": lambda: extract(lambda m, x, z, y, t: m.addCons(t >= x[0] * x[1])),
        "convex quadratic constraint": lambda: extract(lambda m, x, z, y, t: m.addCons(x[0] ** 2 + x[1] ** 2 <= 1)),
        "quadratic constraint that is not convex": lambda: extract(lambda m, x, z, y, t: m.addCons(x[0] * x[1] <= 0.5)),
        "second-order cone": lambda: extract(lambda m, x, z, y, t: m.addCons(x[0] ** 2 <= x[1] ** 2)),
        "row behind a binary": lambda: extract(lambda m, x, z, y, t: m.addConsIndicator(y <= 1, z[0])),
        "SOS": lambda: extract(lambda m, x, z, y, t: m.addConsSOS2(x)),
        "logic (and, or)": lambda: extract(lambda m, x, z, y, t: m.addConsOr([z[0]], z[1])),
        "maximum, absolute value": lambda: extract(lambda m, x, z, y, t: m.addCons(abs(x[0]) >= 0.5)),
        "other nonlinear functions": lambda: extract(lambda m, x, z, y, t: m.addCons(pyscipopt.exp(x[0]) <= 2)),
    }


def linopy_parts():
    import linopy
    import pandas as pd

    import dcembed.linopy

    def extract(change=lambda m, x, z, y: None, cost=lambda x: 1 * x):
        model = linopy.Model()
        at = pd.RangeIndex(2, name="feature")
        x = model.add_variables(lower=0, upper=1, coords=[at], name="x")
        z = model.add_variables(binary=True, name="z")
        y = dcembed.linopy.embed(model, NETWORK, x).output
        change(model, x, z, y)
        model.add_objective(cost(x).sum())
        return dcembed.linopy.extract(model)

    return {
        "integers": lambda: extract(lambda m, x, z, y: m.add_variables(integer=True, lower=0, upper=3, name="n")),
        "convex quadratic objective": lambda: extract(cost=lambda x: x * x),
        "quadratic objective that is not convex": lambda: extract(cost=lambda x: -1 * x * x),
        "row behind a binary": lambda: extract(lambda m, x, z, y: m.add_indicator_constraints(z, 1, y, "<=", 1)),
        "piecewise linear curve": lambda: extract(
            lambda m, x, z, y: m.add_piecewise_formulation(
                (x.sel(feature=0), [0, 0.5, 1]), (m.add_variables(lower=0, upper=1, name="t"), [0, 1, 0])
            )
        ),
        "SOS": lambda: extract(lambda m, x, z, y: m.add_sos_constraints(x, sos_type=2, sos_dim="feature")),
        "semi-continuous variables": lambda: extract(lambda m, x, z, y: m.add_variables(semi_continuous=True, lower=1, upper=3, name="s")),
    }


def python_parts():
    def extract(**given):
        return dcembed.Program([1.0, 0.0, 0.0, 0.0], lb=[-1.0, -1.0, 0.0, -9.0], ub=[1.0, 1.0, 1.0, 9.0], integer=[2], **given)

    ball = np.diag([2.0, 2.0, 0.0, 0.0])
    saddle = np.diag([2.0, -2.0, 0.0, 0.0])
    return {
        "integers": lambda: extract(),
        "convex quadratic objective": lambda: extract(quadratic=ball),
        "quadratic objective that is not convex": lambda: extract(
            **dict(zip(("quadratic", "concave"), dcembed.split_quadratic(saddle), strict=True))
        ),
        "convex quadratic constraint": lambda: extract(quadratic_constraints=[dcembed.QuadraticConstraint(ball, ub=1.0)]),
        "quadratic constraint that is not convex": lambda: extract(quadratic_constraints=[dcembed.QuadraticConstraint(saddle, ub=1.0)]),
        "second-order cone": lambda: extract(cones=[dcembed.ConeConstraint(np.eye(4)[:3])]),
        "row behind a binary": lambda: extract(indicators=[dcembed.Indicator(2, 1, [0, 0, 0, 1], ub=1.0)]),
    }


def files_parts():
    from dcembed.frontends.host_files import read_host

    def extract(folder, cost="x", rows="r: x + y + z <= 1", sections=""):
        (folder / "host.lp").write_text(
            f"Minimize\n cost: {cost}\nSubject To\n {rows}\nBounds\n -1 <= x <= 1\n -1 <= y <= 1\n{sections}\nEnd\n"
        )
        return read_host(folder / "host.lp")

    return {
        "integers": lambda folder: extract(folder, sections="Generals\n x"),
        "convex quadratic objective": lambda folder: extract(folder, cost="x + [ x ^2 ] / 2"),
        "quadratic objective that is not convex": lambda folder: extract(folder, cost="x + [ x * y ] / 2"),
        "convex quadratic constraint": lambda folder: extract(folder, rows="r: [ x ^2 + y ^2 ] <= 1"),
        "row behind a binary": lambda folder: extract(folder, rows="r: z = 1 -> x <= 0.5", sections="Binaries\n z"),
        "SOS": lambda folder: extract(folder, sections="SOS\n s: S2:: x:1 y:2"),
        "semi-continuous variables": lambda folder: extract(folder, sections="Semi-Continuous\n x"),
    }


PARTS = {
    "Python": python_parts,
    "Pyomo": pyomo_parts,
    "CVXPY": cvxpy_parts,
    "gurobipy": gurobipy_parts,
    "PySCIPOpt": pyscipopt_parts,
    "linopy": linopy_parts,
    "files": files_parts,
}


@pytest.mark.filterwarnings("ignore:piecewise")
@pytest.mark.parametrize("host", HOSTS)
def test_what_a_model_may_have_is_what_the_page_says(host, tmp_path):
    require(host)
    said = {part: cell for (part, tool), cell in read_table("What a model may have").items() if tool == host and cell != NONE}
    found = {}
    for part, extract in PARTS[host]().items():
        try:
            extract(tmp_path) if host == "files" else extract()
            found[part] = YES
        except DcembedError:
            found[part] = NO
    assert found == said
