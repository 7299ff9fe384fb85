"""Completion: true predictions in, everything else solved for."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.program.tightening import tighten
from dcembed.run.completion import can_complete, complete
from dcembed.run.host import open_host
from dcembed.run.starts import find_start
from dcembed.solvers import BACKENDS, Limits, SessionOptions
from dcembed.solvers.failover import Solver
from problems import indicator_problem, quiet, random_mlp

TOL = 1e-5


def opened(program, embedding, solver="highs"):
    embedded = eliminate(program, [embedding])
    return embedded, open_host(embedded, tighten(embedded.host), Solver(BACKENDS[solver], SessionOptions()))


def test_decisions_behind_indicators_are_set_as_the_predictions_allow():
    program, embedding = indicator_problem(0)
    embedded, host = opened(program, embedding)
    w = np.zeros(embedded.host.num_columns)
    w[-4:] = 1.0  # claim all, whatever the network says
    point = measure_point(embedded, w)
    reached = embedding.network(point.x[:8].reshape(4, 2))[:, 0] >= 0.1
    assert point.violation > TOL
    assert can_complete(embedded, point, TOL)
    completed = complete(host, point, Limits(), TOL)
    assert completed.violation <= TOL
    assert np.array_equal(completed.x[-4:] == 1.0, reached)


def test_a_linked_output_is_put_at_its_prediction_and_the_rest_follows():
    # y = f(x) stays a column because the quadratic has it; s >= y - 1 is free to follow.
    network = random_mlp(1, (1, 6, 1))
    program = Program(
        cost=[0.0, 0.0, 1.0], quadratic=np.diag([0.0, 1.0, 0.0]), rows=[[0.0, -1.0, 1.0]], row_lb=-1.0, lb=[-1, -10, 0], ub=[1, 10, 20]
    )
    embedded, host = opened(program, Embedding(network, [0], [1]), "piqp")
    point = measure_point(embedded, np.array([0.5, 3.0, 0.0]))
    assert can_complete(embedded, point, TOL)
    completed = complete(host, point, Limits(), TOL)
    assert completed.violation <= TOL
    assert completed.x[1] == pytest.approx(network(np.array([0.5]))[0], abs=1e-7)
    assert completed.x[2] == pytest.approx(max(0.0, completed.x[1] - 1.0), abs=1e-6)


def test_a_violated_row_of_inputs_alone_is_not_worth_a_solve():
    network = random_mlp(1, (1, 6, 1))
    limit = float(network(np.zeros(1))[0]) - 1e-4
    embedded, _ = opened(Program(cost=[0.0, 0.0], lb=[-1, -np.inf], ub=[1, limit]), Embedding(network, [0], [1]))
    point = measure_point(embedded, np.zeros(1))
    assert point.violation == pytest.approx(1e-4)
    assert not can_complete(embedded, point, TOL)


def test_after_a_completion_the_host_is_whole_again():
    program, embedding = indicator_problem(0)
    embedded, host = opened(program, embedding)
    before = find_start(host, Limits()).x
    w = np.zeros(embedded.host.num_columns)
    w[-4:] = 1.0
    assert complete(host, measure_point(embedded, w), Limits(), TOL) is not None
    assert np.allclose(find_start(host, Limits()).x, before)


def test_a_run_counts_what_completion_repaired():
    program, embedding = indicator_problem(1)
    result = dcembed.solve(program, embedding, options=quiet(initial_penalty=1e-3, max_penalty=1e-3, max_iterations=1))
    # With next to no penalty the first candidate claims everything; the incumbent is its completion.
    assert result.history[0].violation > TOL or result.is_feasible
    assert result.is_feasible
