"""`scip.optimize()` on a model with networks: as in scripts for PySCIPOpt-ML, in which nothing but the import is changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")

from tests.frontends.problems import make_network  # noqa: E402

from dcembed.errors import InputError  # noqa: E402
from dcembed.frontends.pyscipopt_plugin import hook  # noqa: E402
from dcembed.pyscipopt import add_predictor_constr, optimize  # noqa: E402

NETWORK = make_network(2, (5,), 0)
ROOT = Path(__file__).parents[2]


def build(sense="minimize"):
    """min f(x) + 0.1 x0 over a box; without the network it is unbounded."""
    model = scip.Model()
    model.hideOutput()
    x = [model.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)]
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(predictor.output[0, 0] + 0.1 * x[0], sense)
    return model, x, predictor


def best(sign=1.0):
    a, b = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(-1, 1, 201), np.linspace(-1, 1, 201)))
    return sign * (sign * (NETWORK(np.column_stack([a, b]))[:, 0] + 0.1 * a)).min()


@pytest.mark.parametrize("call", ["optimize", "optimizeNogil"])
def test_scips_own_call_solves_with_the_network(call):
    model, x, predictor = build()
    getattr(model, call)()
    point = np.array([[model.getVal(v) for v in x]])
    assert model.getVal(predictor.output[0, 0]) == pytest.approx(NETWORK(point)[0, 0], abs=1e-6)
    assert model.getObjVal() <= best() + 1e-3
    assert predictor.get_error().max() <= 1e-9
    assert model.getNSols() >= 1
    assert model.checkSol(model.getBestSol())


def test_a_script_for_pyscipopt_ml():
    """The best mix: a regressor trained on data, its prediction bounded, checked with scikit-learn itself."""
    sklearn = pytest.importorskip("sklearn.neural_network")
    from pyscipopt import Model, quicksum

    rng = np.random.default_rng(7)
    X = rng.uniform(0, 1, size=(150, 3))
    regressor = sklearn.MLPRegressor(hidden_layer_sizes=(8,), random_state=0, max_iter=300, solver="lbfgs").fit(
        X, X[:, 0] * 2 - X[:, 1] + 0.5 * X[:, 2] ** 2
    )

    model = Model()
    model.hideOutput()
    amounts = np.array([[model.addVar(f"a{i}_{j}", lb=0, ub=1) for j in range(3)] for i in range(2)])
    quality = np.array([[model.addVar(f"q{i}", lb=None)] for i in range(2)])
    for row in amounts:
        model.addCons(quicksum(row) == 1)
    model.addCons(quicksum(quality[:, 0]) >= 1.2)
    model.setObjective(quicksum(0.3 * row[0] + 0.1 * row[1] + 0.2 * row[2] for row in amounts), "minimize")
    constraint = add_predictor_constr(model, regressor, amounts, quality, unique_naming_prefix="mix_")
    model.optimize()

    values = np.array([[model.getVal(v) for v in row] for row in amounts])
    assert regressor.predict(values) == pytest.approx([model.getVal(q) for q in quality[:, 0]], abs=1e-5)
    assert regressor.predict(values).sum() >= 1.2 - 1e-5
    assert np.max(constraint.get_error()) < 1e-5


def parameters(model):
    """All but one that SCIP sets for itself in every solve."""
    return {name: value for name, value in model.getParams().items() if name != "propagating/genvbounds/timingmask"}


@pytest.mark.parametrize("way", [lambda model: model.optimize(), lambda model: optimize(model, max_starts=1)], ids=["scip's", "ours"])
def test_what_scip_says_after_a_run(way):
    model, _, _ = build("maximize")
    before = parameters(model)
    way(model)
    assert parameters(model) == before
    assert model.getStatus() == "userinterrupt"
    assert model.getPrimalbound() == pytest.approx(model.getObjVal())
    assert model.getPrimalbound() == pytest.approx(best(-1.0), abs=1e-2)
    # A local method proves nothing about the other side.
    assert model.getDualbound() == model.infinity()
    assert model.getGap() == model.infinity()
    assert model.getSolvingTime() >= hook(model).result.seconds > 0


@pytest.mark.parametrize("way", [lambda model: model.optimize(), optimize], ids=["scip's", "ours"])
def test_an_infeasible_host_is_infeasible_to_scip(way):
    model, x, _ = build()
    hopeless = model.addCons(x[0] + x[1] >= 3)
    way(model)
    assert (model.getStatus(), model.getNSols()) == ("infeasible", 0)
    model.freeTransform()
    model.delCons(hopeless)
    way(model)
    assert model.getNSols() >= 1


def test_a_time_limit_is_one_to_scip():
    model, _, _ = build()
    result = optimize(model, time_limit=0.0)
    assert result.status.name == "TIME_LIMIT"
    assert (model.getStatus(), model.getParam("limits/time")) == ("timelimit", 1e20)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_nothing_that_can_be_asked_after_a_run_ends_the_interpreter():
    run = subprocess.run([sys.executable, "-m", "tests.frontends.scip_getters"], capture_output=True, text=True, check=True, cwd=ROOT)
    for line in run.stdout.splitlines():
        _, number, *crashed = line.split()
        assert int(number) > 150
        assert crashed == []


def test_hidden_output_is_hidden(capfd):
    model, _, _ = build()
    optimize(model, max_starts=1)
    model.freeTransform()
    model.optimize()
    assert capfd.readouterr().out == ""
    model.freeTransform()
    model.hideOutput(False)
    optimize(model, max_starts=1)
    assert "penalty convex-concave procedure" in capfd.readouterr().out


def test_points_that_ignore_the_network_are_refused():
    model, _, predictor = build()
    wrong = model.createOrigSol()
    model.setSolVal(wrong, predictor.output[0, 0], -1e3)
    assert not model.checkSol(wrong, original=True)
    model.addSol(wrong)
    model.optimize()
    assert model.getObjVal() > -100


def test_a_removed_network_leaves_the_model_to_scip():
    model, _, predictor = build()
    model.chgVarLb(predictor.output[0, 0], -7)
    optimize(model, max_starts=1)
    model.freeTransform()
    predictor.remove()
    model.optimize()
    assert model.getStatus() == "optimal"
    assert model.getObjVal() == pytest.approx(-7.1)


def test_weights_changed_after_embedding_show_in_the_error():
    sklearn = pytest.importorskip("sklearn.neural_network")
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 2))
    regressor = sklearn.MLPRegressor(hidden_layer_sizes=(4,), random_state=0, max_iter=50, solver="lbfgs").fit(X, X.sum(axis=1))
    model = scip.Model()
    model.hideOutput()
    x = [model.addVar(lb=0, ub=1) for _ in range(2)]
    predictor = add_predictor_constr(model, regressor, x)
    model.setObjective(predictor.output[0, 0])
    model.optimize()
    assert predictor.get_error().max() <= 1e-9
    regressor.intercepts_[-1][0] += 0.5
    assert predictor.get_error() == pytest.approx(np.array([[0.5]]))
    assert predictor.get_error()[0, 0] == pytest.approx(abs(regressor.predict(predictor.input_values)[0] - predictor.output_values[0, 0]))


def test_what_cannot_be_carried_is_said_by_scips_own_call(capfd):
    model, x, _ = build()
    model.addConsCardinality(x, 1, name="few")
    with pytest.raises(InputError, match="the constraint 'few' is of kind cardinality"):
        model.optimize()
    assert capfd.readouterr().err == ""
    assert model.getNSols() == 0
    model.freeTransform()
    assert model.getStageName() == "PROBLEM"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_where_pyscipopt_has_no_such_call_scip_raises(monkeypatch):
    model, x, _ = build()
    model.addConsCardinality(x, 1, name="few")
    monkeypatch.setattr(scip.scip, "PY_SCIP_CALL", scip.scip.PY_SCIP_CALL.own)
    with pytest.raises(Exception, match="SCIP: unspecified error"):
        model.optimize()


def test_errors_of_scip_itself_are_as_ever():
    model, _, _ = build()
    with pytest.raises(KeyError, match="Not a valid parameter name"):
        model.setParam("no/such", 1)
    with pytest.raises(Exception, match="SCIP"):
        model.freeTransform() or model.restartSolve()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "way", [lambda model: scip.Model(sourceModel=model), lambda model: model.solveConcurrent()], ids=["copy", "concurrent"]
)
def test_copies_without_the_network_are_not_made(way):
    model, _, predictor = build()
    with pytest.raises(InputError, match="a copy of it would be solved without them"):
        way(model)
    assert model.getNSols() == 0
    model.freeTransform()
    predictor.remove()
    scip.Model(sourceModel=model)


SCRIPT = """
import os, signal, sys
import pyscipopt
from tests.frontends.problems import make_network
from dcembed.frontends.pyscipopt_plugin import hook
from dcembed.pyscipopt import add_predictor_constr
from dcembed.run.journal import Journal

step = Journal.step

def press(journal, *arguments):
    Journal.step = step
    os.kill(os.getpid(), signal.SIGINT)
    return step(journal, *arguments)

Journal.step = press
model = pyscipopt.Model()
x = [model.addVar(lb=-1, ub=1) for _ in range(20)]
predictor = add_predictor_constr(model, make_network(20, (60, 60), 0), x)
model.setObjective(predictor.output[0, 0])
model.optimize()
assert hook(model).result.status.name == "INTERRUPTED", hook(model).result
assert model.getStatus() == "userinterrupt"
assert model.getNSols() == 1
sys.kept = model
"""


def test_ctrl_c_is_heard_and_a_model_alive_at_exit_does_not_crash():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=200, cwd=ROOT)
    assert run.returncode == 0, run.stderr
