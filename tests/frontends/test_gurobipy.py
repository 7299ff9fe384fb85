"""gurobipy models with networks: what is accepted, what is rejected."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")

from tests.frontends.calls import count_calls  # noqa: E402
from tests.frontends.gurobipy_models import INF, NETWORK, small, written  # noqa: E402

from dcembed.errors import InputError, OptionError  # noqa: E402
from dcembed.frontends import gurobipy_ as front  # noqa: E402
from dcembed.gurobipy import add_predictor_constr, optimize  # noqa: E402


def test_bounds_that_cross_are_named(model):
    x, _ = small(model)
    add_predictor_constr(model, NETWORK, x)
    x[0].LB = 3.0
    with pytest.raises(InputError, match=rf"^Program: the bounds of column '{re.escape(x[0].item().VarName)}' cross: lb = 3 > ub = "):
        optimize(model)


def test_reading_a_model_goes_by_arrays_not_by_rows(monkeypatch):
    from benchmarks.studies import frontend_gurobipy

    calls = []
    with gp.Env(params={"OutputFlag": 0}) as env:
        for num_rows in (1000, 1000, 5000):
            monkeypatch.setattr(frontend_gurobipy, "NUM_ROWS", num_rows)
            with frontend_gurobipy.build_model(env) as model:
                calls.append(count_calls(lambda model=model: front.extract(model)))
    # The first loads what the others have; a row is its name and no more.
    _, few, many = calls
    assert many - few <= 2 * 4000


def test_without_gurobipy_the_command_that_installs_it_is_told():
    code = "import sys; sys.modules['gurobipy'] = None; import dcembed.gurobipy"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert run.returncode == 1
    assert (
        'MissingPackageError: dcembed.gurobipy needs the package gurobipy, which is not installed. Run: pip install "dcembed[gurobi]"'
        in run.stderr
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_a_convex_quadratic_constraint_is_kept(sign, model, tmp_path):
    x, v = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    disc = v[0] * v[0] + v[0] * v[1] + v[1] * v[1] + 0.1 * v[0]
    model.addConstr(disc <= 0.5 if sign == 1 else -disc >= -0.5, name="disc")
    model.setObjective(predictor.output.sum() + x[0] + x[1])
    before = written(model, tmp_path)
    result = optimize(model)
    a, b = x.X
    assert a * a + a * b + b * b + 0.1 * a == pytest.approx(0.5, abs=1e-4)
    assert result.is_feasible
    assert predictor.get_error().max() <= 1e-6
    assert written(model, tmp_path) == before


# What a program cannot hold, each with the message that names it.


def add_ring(model, x, y):
    model.addConstr(x[0] * x[0] + x[1] * x[1] >= 1, name="ring")


def add_circle(model, x, y):
    model.addConstr(x[0] * x[0] + x[1] * x[1] == 1, name="circle")


def add_objective(model, x, y):
    model.setObjectiveN(x[0], 0)
    model.setObjectiveN(x[1], 1)


CARRIES = "dcembed takes linear, indicator and convex quadratic constraints beside the networks"
REJECTED = {
    add_ring: (
        "optimize: the constraint 'ring' is not taken. QuadraticConstraint: quadratic is not positive semidefinite (smallest eigenvalue -2), "
        "so the constraint is not convex. dcembed takes convex constraints; note that 1/2 w'Qw + a'w <= ub is meant. "
        "A product that only the objective needs is taken in the objective itself, convex or not."
    ),
    add_circle: f"optimize: the constraint 'circle' is a quadratic equality, which is not convex; {CARRIES}. "
    "A product that only the objective needs is taken in the objective itself, convex or not.",
    add_objective: "optimize: the model has 2 objectives; dcembed takes one. Set NumObj = 1 and weigh them yourself.",
}


@pytest.mark.parametrize("add", REJECTED, ids=lambda add: add.__name__)
def test_what_cannot_be_carried_is_rejected_by_name(add, model, tmp_path):
    x, variables = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    add(model, variables, predictor.output[0, 0].item())
    before = written(model, tmp_path)
    with pytest.raises(InputError) as error:
        optimize(model)
    assert str(error.value) == REJECTED[add]
    assert written(model, tmp_path) == before


def test_a_nonlinear_constraint_is_rejected_by_name(model):
    nlfunc = pytest.importorskip("gurobipy.nlfunc", reason="this gurobipy has no nonlinear constraints")
    x, variables = small(model)
    add_predictor_constr(model, NETWORK, x)
    model.addGenConstrNL(model.addVar(lb=-INF), nlfunc.exp(variables[0]), name="growth")
    with pytest.raises(InputError, match="the general constraint 'growth' is of kind NL"):
        optimize(model)


def test_an_input_that_left_the_model_is_named(model, env):
    x, variables = small(model)
    add_predictor_constr(model, NETWORK, x)
    model.remove(variables[1])
    with pytest.raises(InputError, match=r"the input variable .* of a predictor is not in the model"):
        optimize(model)
    with gp.Model(env=env) as other:
        foreign = other.addMVar(2)
        other.update()
        again = add_predictor_constr(other, NETWORK, foreign)
        again._batch.variables[:] = variables
        with pytest.raises(InputError, match="belongs to another model"):
            optimize(other)


BAD_CALLS = {
    "quadratic input": (lambda v: [v[0] * v[0], v[1]], None, "an input is of type QuadExpr"),
    "text": (lambda v: [v[0], "x"], None, "an input is of type str: 'x'"),
    "not finite": (lambda v: [v[0], np.nan], None, r"input \(0, 1\) is not a finite number"),
    "too few": (lambda v: [v[0]], None, r"the inputs have shape \(1,\), but the network has 2 inputs: expected \(2,\) or \(k, 2\)"),
    "ragged": (lambda v: [v, [v[0]]], None, r"the inputs are nested lists of unequal shapes \[\(1,\), \(2,\)\]"),
    "empty": (lambda v: [], None, "the inputs are empty"),
    "outputs": (lambda v: v, lambda v: [v], r"the outputs have shape \(1, 2\), but the network has 1 output: expected \(1,\) or \(k, 1\)"),
    "batches": (lambda v: [v, v], lambda v: [v[0]], "2 evaluations are given by the inputs, but 1 by the outputs"),
    "expression out": (lambda v: v, lambda v: [v[0] + 1], "an output is of type LinExpr"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_inputs_and_outputs_are_told(name, model):
    inputs, outputs, message = BAD_CALLS[name]
    _, variables = small(model)
    model.update()
    with pytest.raises(InputError, match=message):
        add_predictor_constr(model, NETWORK, inputs(variables), outputs and outputs(variables))


def test_an_unknown_argument_is_told(model):
    x, _ = small(model)
    with pytest.raises(OptionError, match="unknown argument 'ouput_type'"):
        add_predictor_constr(model, NETWORK, x, ouput_type="classification")


def test_infinite_bounds_and_binaries_are_read_as_gurobi_means_them(model):
    x = model.addVar(lb=-INF, ub=INF)
    b = model.addVar(vtype=gp.GRB.BINARY)
    model.addRange(x + b, -1, 2)
    model.addConstr(x >= -7)
    program = front.extract(model).program
    assert program.lb[0] == -np.inf
    assert program.ub[0] == np.inf
    assert (program.lb[1], program.ub[1], program.integer[1]) == (0, 1, True)
    assert program.num_rows == 2


def test_an_indicator_on_zero_with_a_constant(model):
    x = model.addVar(name="x")
    b = model.addVar(vtype=gp.GRB.BINARY)
    model.addGenConstrIndicator(b, False, 2 * x + 3 == 5)
    (indicator,) = front.extract(model).program.indicators
    assert (indicator.column, indicator.value, indicator.lb, indicator.ub) == (1, 0, 2.0, 2.0)
    assert indicator.coefficients.toarray().tolist() == [[2.0, 0.0]]
