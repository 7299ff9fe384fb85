"""Inputs and outputs of networks in PySCIPOpt models: what is accepted and what is rejected."""

from __future__ import annotations

import io

import numpy as np
import pytest

scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")

from tests.frontends.pyscipopt_models import NETWORK, inputs_of  # noqa: E402

import dcembed  # noqa: E402
from dcembed.errors import InputError, OptionError  # noqa: E402
from dcembed.pyscipopt import add_predictor_constr, optimize  # noqa: E402


@pytest.fixture
def model():
    model = scip.Model()
    model.hideOutput()
    model.setParam("display/verblevel", 0)
    return model


INPUTS = {
    "matrix variable": lambda x, v: x,
    "one row": lambda x, v: x.reshape(1, 2),
    "list": lambda x, v: v,
    "nested list": lambda x, v: [v],
    "array": lambda x, v: np.array(v, dtype=object),
    "expressions": lambda x, v: [1.0 * v[0] + 0.0, v[1] + 0.0],
    "matrix expression": lambda x, v: 1.0 * x + 0.0,
}


@pytest.mark.parametrize("kind", INPUTS)
def test_every_kind_of_input_gives_the_same_answer(kind, model):
    x, variables = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, INPUTS[kind](x, variables))
    model.setObjective(predictor.output[0, 0] + 0.1 * x[0])
    result = optimize(model)
    direct = dcembed.Program([0.1, 0.0, 1.0], lb=[-1, -1, -np.inf], ub=[1, 1, np.inf])
    expected = dcembed.solve(direct, dcembed.Embedding(NETWORK, [0, 1], [2]), options={"verbose": False})
    assert result.objective == pytest.approx(expected.objective, abs=1e-6)
    assert predictor.input_values == pytest.approx(result.value(x).reshape(1, 2))
    assert predictor.output_values == pytest.approx(NETWORK(predictor.input_values), abs=1e-9)


def test_expressions_and_constants_are_predicted_as_they_are(model):
    x, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, [[v[0] - 2 * v[1] + 0.3, 0.5], [v[1], v[0]]])
    model.setObjective(predictor.output[0, 0] + predictor.output[1, 0])
    result = optimize(model)
    a, b = result.value(x)
    assert predictor.input_values == pytest.approx(np.array([[a - 2 * b + 0.3, 0.5], [b, a]]))
    assert result.value(predictor.output) == pytest.approx(NETWORK(predictor.input_values), abs=1e-9)
    assert result.value(v[0] * v[1] + 2) == pytest.approx(a * b + 2)


def test_given_outputs_are_used(model):
    _, v = inputs_of(model)
    y = model.addVar("y", lb=None)
    predictor = add_predictor_constr(model, NETWORK, v, [y])
    before = model.getNVars()
    model.setObjective(y)
    result = optimize(model)
    assert model.getNVars() == before
    assert result.value(y) == pytest.approx(predictor.output_values[0, 0])


def test_created_outputs_carry_the_prefix_and_no_bounds(model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v, unique_naming_prefix="net_")
    output = predictor.output[0, 0]
    assert output.name.startswith("net_out")
    assert output.getLbOriginal() <= -1e20
    assert output.getUbOriginal() >= 1e20
    text = io.StringIO()
    predictor.print_stats(file=text)
    assert "Constraints created: 0\nVariables created: 1, binaries 0\nInput Shape:  (1, 2)" in text.getvalue()


BAD_CALLS = {
    "quadratic input": (lambda v: [v[0] * v[0], v[1]], None, "an input is of type Expr and not linear"),
    "too few": (lambda v: [v[0]], None, r"the inputs have shape \(1,\), but the network has 2 inputs"),
    "expression out": (lambda v: v, lambda v: [v[0] + 1], "an output is of type Expr"),
    "batches": (lambda v: [v, v], lambda v: [v[0]], "2 evaluations are given by the inputs, but 1 by the outputs"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_inputs_and_outputs_are_told(name, model):
    inputs, outputs, message = BAD_CALLS[name]
    _, v = inputs_of(model)
    with pytest.raises(InputError, match=message):
        add_predictor_constr(model, NETWORK, inputs(v), outputs and outputs(v))


def test_an_unknown_argument_is_told(model):
    _, v = inputs_of(model)
    with pytest.raises(OptionError, match="unknown argument 'formulatoin'"):
        add_predictor_constr(model, NETWORK, v, formulatoin="sos")


def test_a_variable_of_another_model_is_named(model):
    _, v = inputs_of(model)
    other = scip.Model()
    foreign = other.addVar("foreign")
    add_predictor_constr(model, NETWORK, [v[0], foreign])
    with pytest.raises(InputError, match="the variable 'foreign', an input of a predictor, is not in the model"):
        optimize(model)
