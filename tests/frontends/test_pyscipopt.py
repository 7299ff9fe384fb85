"""PySCIPOpt models with networks: what is accepted, what is rejected, and what the model holds afterwards."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest

scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")

from tests.frontends.problems import PROBLEMS, ConvexQP, NeuralMILP, NeuralMIQP, solved  # noqa: E402
from tests.frontends.pyscipopt_models import NETWORK, add_cardinality, inputs_of, written  # noqa: E402

import dcembed  # noqa: E402
from dcembed.errors import InputError, OptionError  # noqa: E402
from dcembed.frontends import contract  # noqa: E402
from dcembed.frontends import pyscipopt_ as front  # noqa: E402
from dcembed.pyscipopt import NoSolutionError, add_predictor_constr, optimize  # noqa: E402


@pytest.fixture
def model():
    model = scip.Model()
    model.hideOutput()
    model.setParam("display/verblevel", 0)
    return model


def write_qp(model):
    x = model.addMatrixVar(4, lb=-1, ub=1, name="x")
    y = model.addMatrixVar(2, lb=None, ub=ConvexQP.limit, name="y")
    far = model.addVar("far")
    model.addCons(scip.quicksum(x) == ConvexQP.total, name="total")
    model.addCons(far >= 0.5 * scip.quicksum((x[i] - float(ConvexQP.target[i])) ** 2 for i in range(4)), name="distance")
    model.setObjective(far)
    return add_predictor_constr(model, ConvexQP.network, x.reshape(2, 2), y)


def write_milp(model):
    x = [model.addVar(f"x{i}", ub=1) for i in range(2)]
    z = [model.addVar(f"z{i}", vtype="B") for i in range(2)]
    b = model.addVar("b", vtype="B")
    predictor = add_predictor_constr(model, NeuralMILP.network, x)
    y = predictor.output[0, 0]
    for upper, switch in zip(x, z, strict=True):
        model.addCons(upper <= switch)
    model.addCons(z[0] + z[1] <= 1 + b)
    model.addConsIndicator(y >= NeuralMILP.level, b, name="if_b")
    model.setObjective(y + NeuralMILP.reward * b - scip.quicksum(float(c) * v for c, v in zip(NeuralMILP.cost, z, strict=True)), "maximize")
    return predictor


def write_miqp(model):
    x = [model.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)]
    k = model.addVar("k", vtype="I", ub=3)
    far = model.addVar("far", lb=None)
    predictor = add_predictor_constr(model, NeuralMIQP.network, x)
    model.addCons(predictor.output[0, 0] == NeuralMIQP.slope * k + NeuralMIQP.intercept)
    model.addCons(scip.quicksum((x[i] - float(NeuralMIQP.center[i])) ** 2 for i in range(2)) - far <= 0, name="distance")
    model.setObjective(far + 0.1 * k)
    return predictor


WRITERS = dict(zip(PROBLEMS, (write_qp, write_milp, write_miqp), strict=True))


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.__name__)
def test_the_three_problems_give_what_their_matrices_give(problem, model, tmp_path):
    predictor = WRITERS[problem](model)
    before = written(model, tmp_path), written(model, tmp_path, "cip")
    result = optimize(model, time_limit=200, max_starts=1)
    reference = solved(problem)
    assert result.program.sense * result.objective == pytest.approx(reference.objective, abs=1e-6)
    assert (written(model, tmp_path), written(model, tmp_path, "cip")) == before
    assert predictor.get_error().max() <= 1e-9
    # SCIP has the point as a solution, complete with epigraph variables and the slacks of indicators.
    assert model.getObjVal() == pytest.approx(result.objective, abs=1e-6)
    assert model.checkSol(model.getBestSol(), original=True)
    for variable in model.getVars():
        assert model.getVal(variable) == pytest.approx(result.value(variable), abs=1e-9)


def test_a_quadratic_objective_needs_no_quadratic_constraint(model):
    write_qp(model)
    program = front.extract(model).program
    assert program.problem_class == "QP"
    assert optimize(model).solver == "piqp"


def test_an_indicator_on_zero_is_read(model):
    x = model.addVar("x", ub=10)
    b = model.addVar("b", vtype="B")
    model.addConsIndicator(2 * x <= 5, b, activeone=False, name="off")
    (indicator,) = front.extract(model).program.indicators
    number = [variable.name for variable in front.extract(model).handle.variables].index
    assert (indicator.column, indicator.value, indicator.ub) == (number("b"), 0, 5.0)
    assert indicator.coefficients.toarray()[0, number("x")] == 2.0
    model.addVar("b", vtype="B")
    with pytest.raises(InputError, match="the indicator constraint 'off' cannot be told: 2 variables are called 'b'"):
        front.extract(model)


def test_the_slack_of_an_indicator_that_is_off_is_part_of_the_solution(model):
    x = [model.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)]
    b = model.addVar("b", vtype="B", ub=0)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.addConsIndicator(x[0] + x[1] <= -1.5, b)
    model.addCons(x[0] >= 0.5)
    model.setObjective(predictor.output[0, 0])
    optimize(model)
    assert model.checkSol(model.getBestSol(), original=True)


def test_there_are_no_values_without_a_solution(model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    with pytest.raises(NoSolutionError, match="There is no solution"):
        _ = predictor.output_values
    optimize(model)
    assert predictor.output_values.shape == (1, 1)
    model.freeTransform()
    model.addCons(v[0] + v[1] == 5)
    result = optimize(model)
    assert result.status is dcembed.Status.HOST_INFEASIBLE
    # The nearest point is the result's alone.
    assert sum(result.value(v)) == pytest.approx(2.0)
    with pytest.raises(NoSolutionError):
        predictor.get_error()


def test_a_solution_that_a_changed_model_does_not_allow_is_forgotten(model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    model.setObjective(predictor.output[0, 0])
    before = optimize(model)
    # Unchanged, it is solved again as it is.
    assert optimize(model, max_starts=1).is_feasible
    model.freeTransform()
    model.addCons(v[0] >= 0.1 if before.value(v[0]) < 0 else v[0] <= -0.1)
    result = optimize(model)
    assert model.getVal(v[0]) == pytest.approx(result.value(v[0]))
    assert result.value(v[0]) * before.value(v[0]) < 0


CHANGES = {
    "constraint": lambda model, v: model.addCons(v[0] + v[1] <= 0.5),
    "bound": lambda model, v: model.chgVarLb(v[0], 0.5),
    "variable": lambda model, v: model.addVar("z"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_scip_would_lose_is_refused(change, model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    model.setObjective(predictor.output[0, 0])
    optimize(model, max_starts=1)
    CHANGES[change](model, v)
    with pytest.raises(InputError, match=r"is not as dcembed left it.*Call scip.freeTransform\(\) after a solve"):
        optimize(model)


@pytest.mark.parametrize("change", CHANGES)
def test_scips_own_call_says_so_too_each_time(change, model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    model.setObjective(predictor.output[0, 0])
    optimize(model, max_starts=1)
    CHANGES[change](model, v)
    for _ in range(2):
        with pytest.raises(InputError, match=r"is not as dcembed left it.*Call scip.freeTransform\(\) after a solve"):
            model.optimize()
    model.freeTransform()
    CHANGES[change](model, v)
    assert optimize(model, max_starts=1).is_feasible


def test_bounds_that_cross_are_named(model):
    _, v = inputs_of(model)
    add_predictor_constr(model, NETWORK, v)
    model.chgVarLb(v[0], 30)
    with pytest.raises(InputError, match=rf"^Program: the bounds of column '{re.escape(v[0].name)}' cross: lb = 30 > ub = "):
        optimize(model)


def test_the_value_of_what_is_no_polynomial_is_refused(model):
    _, v = inputs_of(model)
    add_predictor_constr(model, NETWORK, v)
    result = optimize(model)
    assert result.value(v[0] * v[0] + 1) == pytest.approx(result.value(v[0]) ** 2 + 1)
    with pytest.raises(InputError, match=r"is no polynomial"):
        result.value(scip.exp(v[0]))


def test_a_start_is_where_the_run_begins(model):
    _, v = inputs_of(model)
    add_predictor_constr(model, NETWORK, v)
    start = model.createSol()
    model.setSolVal(start, v[0], 0.5)
    model.setSolVal(start, v[1], -0.25)
    result = optimize(model, start=start, max_iterations=0)
    assert result.value(v) == pytest.approx([0.5, -0.25])
    with pytest.raises(InputError, match=r"start is a solution from scip.createSol\(\) or a Result, received list"):
        optimize(model, start=[0.5, -0.25])


def test_the_parameters_of_scip_are_the_defaults_of_the_options(model, monkeypatch):
    _, v = inputs_of(model)
    add_predictor_constr(model, NETWORK, v)
    received = {}

    def record(words, program, embeddings, start, options):
        received.update(vars(options))
        return dcembed.solve(program, embeddings, start, options)

    monkeypatch.setattr(contract, "solve_for", record)
    optimize(model)
    assert (received["time_limit"], received["verbose"]) == (np.inf, False)
    model.setParam("limits/time", 17)
    optimize(model)
    assert received["time_limit"] == 17
    began = time.monotonic()
    model.optimize()
    # Without what SCIP has taken of it before.
    assert 16.9 - (time.monotonic() - began) <= received["time_limit"] <= 17
    optimize(model, 5)
    assert received["time_limit"] == 5
    with pytest.raises(OptionError, match="unknown option 'tme_limit'"):
        optimize(model, tme_limit=3)


def test_a_model_that_nobody_uses_is_freed():
    model = scip.Model()
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None
    assert predictor.network is NETWORK


def test_without_pyscipopt_the_command_that_installs_it_is_told():
    code = "import sys; sys.modules['pyscipopt'] = None; import dcembed.pyscipopt"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert run.returncode == 1
    assert (
        'MissingPackageError: dcembed.pyscipopt needs the package pyscipopt, which is not installed. Run: pip install "dcembed[scip]"'
        in run.stderr
    )


def test_a_model_that_scip_has_solved_must_be_freed_first(model):
    _, v = inputs_of(model)
    model.setObjective(v[0])
    model.optimize()
    model.freeTransform()
    add_predictor_constr(model, NETWORK, v)
    assert optimize(model).is_feasible


def test_a_point_is_kept_where_scip_has_given_up(model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    extraction = front.extract(model)
    result = dcembed.solve(extraction.program, extraction.embeddings, options={"verbose": False, "max_starts": 1})
    model.addCons(v[0] + v[1] >= 3, name="hopeless")
    model.optimize()
    assert model.getStageName() == "SOLVED"
    front.restore(extraction, result)
    assert model.getVal(v[0]) == pytest.approx(result.x[[w.ptr() for w in extraction.handle.variables].index(v[0].ptr())])
    assert predictor.get_error().max() <= 1e-9


def test_an_error_does_not_keep_the_model_alive():
    model = scip.Model()
    _, v = inputs_of(model)
    add_predictor_constr(model, NETWORK, v)
    add_cardinality(model, v, None)
    with pytest.raises(InputError):
        optimize(model, verbose=False)
    reference = weakref.ref(model)
    del model, v
    gc.collect()
    assert reference() is None


def test_a_model_without_networks_is_for_scip(model):
    with pytest.raises(InputError, match="no network is embedded in the model"):
        optimize(model)
