"""Branch and bound by input splits: bounds that hold, points that count, and the study on top of it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers import auto_lirpa_
from benchmarks.problems.avoidance import build_avoidance
from benchmarks.studies import box_hosts
from benchmarks.studies.box_hosts import EXTREMES, ProcessorLimit, Row, cells, main, run, scalar_problem, time_to_gap
from benchmarks.studies.input_splits import descend, gradients, minimize_by_splits, split
from dcembed import build_mlp
from dcembed.network.planes import lower_planes, lowest
from problems import box_problem, grid_optimum, quiet, random_mlp

LOW, HIGH = -2.0 * np.ones(2), 2.0 * np.ones(2)


def planes_of(network):
    return lambda lb, ub: lowest(lower_planes(network, np.ones((len(lb), 1)), lb, ub), lb, ub)[:, 0]


@pytest.mark.parametrize("seed", range(3))
def test_splits_prove_the_optimum_of_a_grid(seed):
    network = random_mlp(seed, (2, 8, 6, 1))
    found = minimize_by_splits(network, LOW, HIGH, planes_of(network), seconds=np.inf)
    best = grid_optimum(network, np.zeros(2), 1.0, np.inf, 2.0, 201)
    assert found.is_optimal
    assert found.objective == pytest.approx(network(found.x)[0])
    assert (found.x >= LOW).all()
    assert (found.x <= HIGH).all()
    assert -0.05 <= found.objective - best <= 1e-3 * abs(best)
    assert found.bound <= min(found.objective, best) + 1e-9
    bests, bounds = np.array([(step.best, step.bound) for step in found.trace]).T
    assert (np.diff(bests) <= 0).all()
    assert (np.diff(bounds) >= -1e-12).all()


def test_without_time_the_first_bound_is_what_is_proved():
    network = random_mlp(1, (2, 8, 6, 1))
    found = minimize_by_splits(network, LOW, HIGH, planes_of(network), seconds=0.0)
    assert not found.is_optimal
    assert len(found.trace) == 1
    assert found.bound == planes_of(network)(LOW[None], HIGH[None])[0] < found.objective


def test_a_bounder_that_knows_nothing_proves_nothing():
    network, calls = random_mlp(1, (2, 4, 1)), []

    def clock():
        calls.append(0)
        return float(len(calls))

    found = minimize_by_splits(network, LOW, HIGH, lambda lb, ub: np.full(len(lb), -100.0), seconds=30.0, clock=clock)
    assert not found.is_optimal
    assert found.bound == -100.0


def test_halves_cover_a_box_and_split_the_input_that_matters():
    network = build_mlp([[[1.0, 0.1]], [[1.0]]], [[0.0], None])
    low, high = split(network, np.array([[1.0, 0.0]]), np.array([[2.0, 5.0]]))
    np.testing.assert_array_equal(low, [[1.0, 0.0], [1.5, 0.0]])
    np.testing.assert_array_equal(high, [[1.5, 5.0], [2.0, 5.0]])


def test_gradients_are_those_of_small_differences():
    network, points = random_mlp(0, (3, 8, 6, 1)), np.random.default_rng(0).normal(size=(20, 3))
    for j in range(3):
        step = 1e-6 * np.eye(3)[j]
        slope = (network(points + step) - network(points - step))[:, 0] / 2e-6
        np.testing.assert_allclose(gradients(network, points)[:, j], slope, atol=1e-5)
    assert network(descend(network, -np.ones(3), np.ones(3)))[:, 0].min() <= network(np.zeros((1, 3)))[0, 0]


@pytest.mark.parametrize("number", [EXTREMES[0], EXTREMES[3]])
def test_the_scalar_problem_is_the_instance(number):
    instance = build_avoidance(number)
    network, lb, ub = scalar_problem(instance)
    w = instance.starts[0]
    assert network(w[:5])[0] == pytest.approx(instance.program.sense * instance.program.objective(w))
    np.testing.assert_array_equal((lb, ub), (instance.program.lb[:5], instance.program.ub[:5]))


@pytest.mark.parametrize("method", ["dcembed", "big-M", "split, our planes"])
def test_methods_of_the_study_bound_from_below_what_they_find(method):
    row = run(EXTREMES[4], method, 0.3)
    assert row.method == method
    assert row.bound <= row.objective
    assert row.ended in ("optimal", "time_limit")
    assert (row.ended == "optimal") == (time_to_gap(row, 1e-4) is not None)
    assert len(cells(row)) == len(box_hosts.TITLES)


def test_times_to_a_gap_are_of_both_sides():
    trace = ((0.5, 10.0, -np.inf), (1.0, 10.0, 5.0), (2.0, 8.0, 7.5), (3.0, 8.0, 8.0))
    row = Row("a", "b", "optimal", 8.0, 8.0, 3.0, None, trace)
    assert [time_to_gap(row, gap) for gap in (0.5, 0.1, 1e-4)] == [1.0, 2.0, 3.0]
    assert time_to_gap(Row("a", "b", "time_limit", 8.0, 7.0, 2.0, None, trace[:2]), 0.1) is None


def test_a_limit_of_processor_seconds_stops_a_run():
    from dcembed.baselines import big_m

    limit = ProcessorLimit(0.0)
    program, embedding = box_problem(random_mlp(0, (2, 8, 1)), np.zeros(2), 1.0)
    result = big_m.solve(program, embedding, np.zeros(3), quiet(stop=limit))
    assert result.status.name == "INTERRUPTED"
    assert limit.spent_at(0.0) == 0.0
    assert limit.spent_at(np.inf) > 0.0


def test_a_number_that_is_no_extreme_is_answered(capsys):
    with pytest.raises(SystemExit):
        main(["1"])
    assert "accepted: 0, 2" in capsys.readouterr().err


@pytest.mark.skipif(not auto_lirpa_.is_installed(), reason="auto_LiRPA is not installed: it is no dependency, see box_hosts")
@pytest.mark.parametrize("method", ["IBP", "CROWN", "CROWN-Optimized"])
def test_bounds_of_auto_lirpa_hold_for_any_number_of_boxes(method):
    network = random_mlp(0, (2, 8, 6, 1))
    bounder = auto_lirpa_.build_bounder(network, 8, method, 5)
    rng = np.random.default_rng(0)
    for count in (8, 1, 3):
        low = rng.uniform(-2, 1, (count, 2))
        points = low[:, None] + rng.random((count, 500, 2))
        assert (bounder(low, low + 1.0) <= network(points.reshape(-1, 2)).reshape(count, 500).min(axis=1)).all()
