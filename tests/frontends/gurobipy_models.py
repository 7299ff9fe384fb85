"""gurobipy models with networks that several tests solve."""

from __future__ import annotations

import warnings

import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")

from tests.frontends.problems import PROBLEMS, ConvexQP, NeuralMILP, NeuralMIQP, make_network  # noqa: E402

from dcembed.gurobipy import add_predictor_constr  # noqa: E402

INF = gp.GRB.INFINITY
NETWORK = make_network(2, (5,), 0)


def write_qp(model):
    x = model.addMVar(4, lb=-1, ub=1, name="x")
    y = model.addMVar(2, lb=-INF, ub=ConvexQP.limit, name="y")
    model.addConstr(x.sum() == ConvexQP.total, name="total")
    away = x - ConvexQP.target
    model.setObjective(0.5 * (away @ away))
    return add_predictor_constr(model, ConvexQP.network, x.reshape(2, 2), y)


def write_milp(model):
    x = model.addMVar(2, ub=1, name="x")
    z = model.addMVar(2, vtype=gp.GRB.BINARY, name="z")
    b = model.addVar(vtype=gp.GRB.BINARY, name="b")
    predictor = add_predictor_constr(model, NeuralMILP.network, x)
    y = predictor.output[0, 0].item()
    model.addConstr(x <= z)
    model.addConstr(z.sum() <= 1 + b)
    model.addConstr((b == 1) >> (y >= NeuralMILP.level), name="if_b")
    model.setObjective(y + NeuralMILP.reward * b - NeuralMILP.cost @ z, gp.GRB.MAXIMIZE)
    return predictor


def write_miqp(model):
    x = model.addMVar(2, lb=-1, ub=1, name="x")
    k = model.addVar(vtype=gp.GRB.INTEGER, ub=3, name="k")
    predictor = add_predictor_constr(model, NeuralMIQP.network, x)
    model.addConstr(predictor.output[0, 0] == NeuralMIQP.slope * k + NeuralMIQP.intercept)
    away = x - NeuralMIQP.center
    model.setObjective(away @ away + 0.1 * k)
    return predictor


WRITERS = dict(zip(PROBLEMS, (write_qp, write_milp, write_miqp), strict=True))


def written(model, tmp_path):
    """The model as an LP file; that the networks are not in it is told, and known here."""
    path = str(tmp_path / "model.lp")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.write(path)
    with open(path) as file:
        return file.read()


def small(model):
    """Two inputs whose predictions a model wants small."""
    x = model.addMVar(2, lb=-1, ub=1, name="x")
    return x, x.tolist()
