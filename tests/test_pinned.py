"""Fixing the inputs and solving returns the network's own prediction: every importer, every formulation."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program
from importers.models import all_models
from problems import FORMULATIONS, quiet, random_mlp

MODELS = all_models()
POINT = np.array([0.4, -0.7])


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", MODELS)
def test_pinned_inputs_give_the_prediction(name, formulation):
    model, num_inputs = MODELS[name]
    network = dcembed.load_network(model)
    pin = np.resize(POINT, num_inputs)
    program = Program(
        cost=np.concatenate([np.zeros(num_inputs), [1.0]]), lb=np.concatenate([pin, [-np.inf]]), ub=np.concatenate([pin, [np.inf]])
    )
    result = dcembed.solve(program, Embedding(network, np.arange(num_inputs), [num_inputs]), options=quiet(formulation=formulation))
    assert result.is_feasible
    assert result.objective == pytest.approx(network(pin)[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("kind", ["linear", "quadratic", "integer"])
def test_pinned_inputs_give_the_prediction_also_where_the_output_stays_a_column(kind, formulation):
    network = random_mlp(0, (2, 6, 1))
    pin = POINT
    quadratic = np.diag([0.0, 0.0, 1.0]) if kind == "quadratic" else None
    integer = [0] if kind == "integer" else None
    pin = np.array([1.0, -0.7]) if kind == "integer" else pin
    program = Program(cost=[0.0, 0.0, -1.0], quadratic=quadratic, lb=[*pin, -np.inf], ub=[*pin, np.inf], integer=integer)
    result = dcembed.solve(program, Embedding(network, [0, 1], [2]), options=quiet(formulation=formulation))
    assert result.is_feasible
    assert result.x[2] == pytest.approx(network(pin)[0], abs=1e-9)
