"""What holds for every baseline."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Options, Program, Status
from dcembed.baselines import BASELINES
from dcembed.embedded import unit_bounds
from dcembed.network.bounds import bound
from problems import EVERY_BASELINE, binary_problem, box_problem, level_problem, quiet, random_mlp

POINT = np.array([0.4, -0.7])
COST = np.array([0.3, -0.2])
# One of these goes a long way: a round of many descents, a pass over all units.
FEW = {"attack": 1, "relax-and-walk": 2, "dual-decomposition": 5}


def few(method: str, **changes) -> Options:
    """A number of steps in place of a time: some use all the time they are given, and get further on a quicker machine."""
    return quiet(**{"time_limit": np.inf, "max_iterations": FEW.get(method, 20), **changes})


def neural_objective():
    """A problem that every baseline takes: linear cost plus prediction over a box."""
    return box_problem(random_mlp(3, (2, 8, 6, 1)), COST, 1.0)


@EVERY_BASELINE
@pytest.mark.parametrize("sizes", [(2, 6, 1), (2, 8, 6, 1)])
def test_pinned_inputs_give_the_prediction(method, sizes):
    network = random_mlp(1, sizes)
    program = Program(cost=[0.0, 0.0, 1.0], lb=[*POINT, -np.inf], ub=[*POINT, np.inf])
    result = BASELINES[method](program, Embedding(network, [0, 1], [2]), options=few(method))
    assert result.is_feasible
    assert result.objective == pytest.approx(network(POINT)[0], abs=1e-9)


@EVERY_BASELINE
def test_points_are_measured_and_incumbents_improve(method):
    program, embedding = neural_objective()
    start = np.array([1.0, 1.0, 0.0])
    result = BASELINES[method](program, embedding, start, few(method))
    assert result.is_feasible
    assert dcembed.verify(program, [embedding], result.x).violation <= result.feasibility_tol
    assert result.objective == pytest.approx(program.objective(result.x), abs=1e-12)
    seconds, objectives = np.array(result.incumbents).T
    assert (np.diff(seconds) >= 0).all()
    assert (np.diff(objectives) < 0).all()
    assert objectives[0] == pytest.approx(start[:2] @ COST + embedding.network(start[:2])[0])
    assert objectives[-1] == result.objective
    assert objectives[-1] < objectives[0]


@EVERY_BASELINE
def test_without_time_the_start_is_returned(method):
    program, embedding = neural_objective()
    result = BASELINES[method](program, embedding, np.array([1.0, 1.0, 0.0]), quiet(time_limit=0.0))
    assert result.status is Status.TIME_LIMIT
    np.testing.assert_allclose(result.x[:2], 1.0)


@EVERY_BASELINE
def test_same_seed_same_trace(method):
    program, embedding = neural_objective()

    def trace():
        result = BASELINES[method](program, embedding, np.array([1.0, 1.0, 0.0]), few(method, seed=3))
        return [objective for _, objective in result.incumbents]

    assert trace() == trace()


@EVERY_BASELINE
def test_the_callback_ends_a_run(method):
    program, embedding = neural_objective()
    result = BASELINES[method](program, embedding, np.array([1.0, 1.0, 0.0]), quiet(callback=lambda record: True))
    assert result.status is Status.INTERRUPTED
    assert len(result.history) >= 1


@EVERY_BASELINE
def test_a_log_names_the_method_and_its_sizes(method, capsys):
    program, embedding = neural_objective()
    result = BASELINES[method](program, embedding, options=few(method, verbose=True))
    printed = capsys.readouterr().out
    assert f"{result.sizes.added_binaries} binaries" in printed
    assert result.status.name in printed


@pytest.mark.parametrize("method", ["big-m", "big-m-obbt", "big-m-cuts", "pgd", "complementarity", "dual-decomposition"])
def test_neural_rows_hold_at_what_is_called_feasible(method):
    program, embedding = level_problem(2)
    result = BASELINES[method](program, embedding, options=few(method, max_iterations=200))
    for _, objective in result.incumbents:
        assert np.isfinite(objective)
    if result.is_feasible:
        assert embedding.network(result.x[:2])[0] <= program.ub[2] + result.feasibility_tol


@pytest.mark.parametrize("method", ["big-m", "big-m-obbt", "big-m-cuts", "complementarity"])
def test_integers_of_the_host_are_kept(method):
    program, embedding = binary_problem(0)
    result = BASELINES[method](program, embedding, options=quiet())
    assert result.is_feasible
    np.testing.assert_array_equal(result.x[:10], np.round(result.x[:10]))


@pytest.mark.parametrize("method", ["big-m", "big-m-cuts", "complementarity"])
def test_a_run_that_must_end_while_units_are_bounded_keeps_its_start(method, monkeypatch):
    program, embedding = neural_objective()

    def stop_and_bound(network, lb, ub, check):
        check.__self__.stop()
        return bound(network, lb, ub, check)

    monkeypatch.setattr(unit_bounds, "bound", stop_and_bound)
    result = BASELINES[method](program, embedding, np.array([1.0, 1.0, 0.0]), quiet())
    assert result.status is Status.INTERRUPTED
    assert result.is_feasible
    assert result.x[:2].tolist() == [1.0, 1.0]
