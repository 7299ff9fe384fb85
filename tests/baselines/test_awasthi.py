"""The algorithm of Awasthi et al.: objectives only."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.baselines import awasthi
from dcembed.errors import InputError
from dcembed.solvers.base import Solution, SolveStatus
from dcembed.solvers.highs_ import HighsSession
from problems import box_problem, level_problem, quiet, random_mlp


def test_neural_rows_are_refused():
    program, embedding = level_problem(0)
    with pytest.raises(InputError, match="scalar objective only, but this problem has 1 neural restriction"):
        awasthi.solve(program, embedding, options=quiet())


def test_it_descends_with_both_components_as_columns():
    network = random_mlp(3, (2, 8, 6, 1))
    program, embedding = box_problem(network, np.array([0.3, -0.2]), 1.0)
    result = awasthi.solve(program, embedding, np.array([1.0, 1.0, 0.0]), quiet())
    objectives = [objective for _, objective in result.incumbents]
    assert result.status is dcembed.Status.LOCALLY_SOLVED
    assert objectives == sorted(objectives, reverse=True)
    # 2 N - n_1 columns, as the direct representation has.
    assert result.sizes.added_columns == 2 * 14 - 8


def test_the_formulation_is_that_of_the_method():
    program, embedding = box_problem(random_mlp(3, (2, 8, 6, 1)), np.zeros(2), 1.0)
    one, other = (awasthi.solve(program, embedding, np.zeros(3), quiet(formulation=f)) for f in ("lazy", "two-path"))
    assert one.sizes == other.sizes
    assert one.objective == other.objective


def test_a_start_outside_the_host_does_not_count_as_an_answer():
    # Far outside the box the objective is lower than anywhere inside.
    for seed in (5, 21, 30):
        network = random_mlp(seed, (2, 6, 6, 1))
        program, embedding = box_problem(network, np.zeros(2), 1.0)
        far = np.random.default_rng(seed).uniform(-30, 30, (200, 2))
        start = np.append(far[network(far)[:, 0].argmin()], 0.0)
        result = awasthi.solve(program, embedding, start, quiet())
        assert result.is_feasible
        assert awasthi.solve(program, embedding, result.x, quiet()).objective == pytest.approx(result.objective, abs=1e-5)


def test_without_a_start_several_are_tried():
    program, embedding = box_problem(random_mlp(3, (2, 8, 6, 1)), np.zeros(2), 1.0)
    one, more = (awasthi.solve(program, embedding, options=quiet(max_starts=number)) for number in (1, 5))
    assert {record.start for record in more.history} == set(range(5))
    assert {record.start for record in one.history} == {0}
    assert more.objective <= one.objective


def test_a_solver_that_fails_once_costs_a_step(monkeypatch):
    program, embedding = box_problem(random_mlp(3, (2, 8, 6, 1)), np.zeros(2), 1.0)
    start = np.array([1.0, 1.0, 0.0])
    expected = awasthi.solve(program, embedding, start, quiet())
    real, calls = HighsSession.solve, []

    def fails_once(self, *rest, **more):
        calls.append(1)
        return Solution(SolveStatus.FAILED, None, "numerical trouble") if len(calls) == 2 else real(self, *rest, **more)

    monkeypatch.setattr(HighsSession, "solve", fails_once)
    result = awasthi.solve(program, embedding, start, quiet())
    assert result.objective == pytest.approx(expected.objective)
    assert len(result.history) == len(expected.history) + 1
