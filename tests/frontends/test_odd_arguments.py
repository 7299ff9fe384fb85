"""Odd arguments of the front ends raise DcembedError, or are taken; nothing else is raised."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from tests.test_odd_arguments import NETWORK, ODD, outside

import dcembed

RUN = {"verbose": False, "max_starts": 1, "max_iterations": 0}


def gurobipy_model():
    gp = pytest.importorskip("gurobipy")
    model = gp.Model()
    model.Params.OutputFlag = 0
    x, y = model.addVar(lb=-1, ub=1), model.addVar(lb=-9)
    model.update()
    return model, x, y


def embed_in_gurobipy():
    model, x, y = gurobipy_model()
    good = {"gp_model": model, "predictor": NETWORK, "input_vars": [x], "output_vars": [y]}
    return (
        "gurobipy",
        "add_predictor_constr",
        {**good, "name": "n", "verbose": False, "output_type": None, "epsilon": None, "support": None},
    )


def optimize_in_gurobipy():
    model, x, y = gurobipy_model()
    importlib.import_module("dcembed.gurobipy").add_predictor_constr(model, NETWORK, [x], [y])
    return "gurobipy", "optimize", {"model": model, "callback": None, **RUN}


def pyscipopt_model():
    pyscipopt = pytest.importorskip("pyscipopt")
    model = pyscipopt.Model()
    model.hideOutput()
    return model, model.addVar(lb=-1, ub=1), model.addVar(lb=-9)


def embed_in_pyscipopt():
    model, x, y = pyscipopt_model()
    good = {"scip_model": model, "predictor": NETWORK, "input_vars": [x], "output_vars": [y]}
    return "pyscipopt", "add_predictor_constr", {**good, "unique_naming_prefix": "p", "output_type": None, "epsilon": None, "support": None}


def optimize_in_pyscipopt():
    model, x, y = pyscipopt_model()
    importlib.import_module("dcembed.pyscipopt").add_predictor_constr(model, NETWORK, [x], [y])
    return "pyscipopt", "optimize", {"scip": model, "start": None, **RUN}


def embed_in_pyomo():
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.x, model.y, model.nn = pyo.Var(bounds=(-1, 1)), pyo.Var(), pyo.Block()
    return "pyomo", "embed", {"block": model.nn, "network": NETWORK, "inputs": [model.x], "outputs": [model.y], "support": None}


def embed_in_linopy():
    linopy = pytest.importorskip("linopy")
    model = linopy.Model()
    x, y = model.add_variables(-1, 1, name="x"), model.add_variables(name="y")
    good = {"model": model, "network": NETWORK, "inputs": [x], "outputs": [y]}
    return "linopy", "embed", {**good, "mask": None, "name": "a", "feature_dim": None, "output_dim": None, "support": None}


def embed_in_cvxpy():
    cvxpy = pytest.importorskip("cvxpy")
    return "cvxpy", "embed", {"network": NETWORK, "X": cvxpy.Variable(1), "name": "f", "support": None}


# Arguments of a run beside the model are those of `dcembed.Options`, which are tried elsewhere; a run for each would take long.
ARGUMENTS = {
    embed_in_gurobipy: ("gp_model", "predictor", "input_vars", "output_vars", "name", "verbose", "output_type", "epsilon", "support"),
    optimize_in_gurobipy: ("model", "callback"),
    embed_in_pyscipopt: (
        "scip_model",
        "predictor",
        "input_vars",
        "output_vars",
        "unique_naming_prefix",
        "output_type",
        "epsilon",
        "support",
    ),
    optimize_in_pyscipopt: ("scip", "start"),
    embed_in_pyomo: ("block", "network", "inputs", "outputs", "support"),
    embed_in_linopy: ("model", "network", "inputs", "outputs", "mask", "name", "feature_dim", "output_dim", "support"),
    embed_in_cvxpy: ("network", "X", "name", "support"),
}
CASES = [(make, name) for make, names in ARGUMENTS.items() for name in names]
# A good one, or one that a callback may be.
TAKEN = {"callback": (type, type(None)), "start": (type(None),)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "name"), CASES, ids=[f"{make.__name__}-{name}" for make, name in CASES])
def test_odd_arguments_raise_our_own_error(make, name):
    refused = 0
    for value in ODD:
        if isinstance(value, TAKEN.get(name, ())):
            continue
        tool, function, good = make()
        try:
            getattr(importlib.import_module(f"dcembed.{tool}"), function)(**{**good, name: value})
        except dcembed.DcembedError:
            refused += 1
    assert refused or name == "epsilon"


def test_a_wrong_model_is_named():
    gurobipy = pytest.importorskip("dcembed.gurobipy")
    with pytest.raises(
        dcembed.DcembedError, match=r"^add_predictor_constr: gp_model is not accepted: a Model is expected, received NoneType None\.$"
    ):
        gurobipy.add_predictor_constr(None, NETWORK, [1.0])


def test_a_limit_that_is_no_number_does_not_reach_numpy():
    _, _, good = embed_in_gurobipy()
    gurobipy = pytest.importorskip("dcembed.gurobipy")
    predictor = gurobipy.add_predictor_constr(**good)
    good["gp_model"].optimize(**RUN)
    for eps in (np.ones(3), "1", [0.1], outside()):
        with pytest.raises(dcembed.DcembedError, match=r"^get_error: eps is not accepted: .*number.* expected, received "):
            predictor.get_error(eps)
