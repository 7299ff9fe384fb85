"""The experiments of the paper, at sizes that a test can afford, with the paper's method."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import dcembed
from benchmarks.problems.pooling import all_designs, load_pooling_network, pooling_instance, surrogate_profit
from benchmarks.problems.qp import load_qp_network, qp_instance
from benchmarks.problems.water import budgets, load_water_network, water_instance, with_score_columns
from dcembed import Status
from problems import FORMULATIONS, quiet

POOLING_OPTIMA = {5: 190.5408, 6: 167.8190, 7: 180.4798}


@pytest.mark.parametrize("m", POOLING_OPTIMA)
@pytest.mark.usefixtures("data_folder")
def test_pooling_reaches_the_optimum_of_the_surrogate_with_the_papers_method(m):
    instance = pooling_instance(load_pooling_network(), m, trial=0)
    result = dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=quiet(formulation="shared"))
    assert result.status is Status.LOCALLY_SOLVED
    assert result.is_feasible
    assert -result.objective == pytest.approx(POOLING_OPTIMA[m], abs=1e-4)


@pytest.mark.parametrize("trial", range(3))
@pytest.mark.parametrize(("m", "optimum"), [*POOLING_OPTIMA.items(), (17, 169.408848)])
@pytest.mark.usefixtures("data_folder")
def test_pooling_reaches_the_optimum_from_every_pool_with_few_mixed_integer_solves(m, optimum, trial):
    instance = pooling_instance(load_pooling_network(), m, trial)
    result = dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=quiet())
    assert -result.objective == pytest.approx(optimum, abs=1e-4)
    assert len(result.history) <= 25


@pytest.mark.usefixtures("data_folder")
def test_the_pooling_optima_are_those_of_enumeration():
    network, designs = load_pooling_network(), all_designs()
    assert len(designs) == 495
    for m, optimum in POOLING_OPTIMA.items():
        assert surrogate_profit(network, m, designs).max() == pytest.approx(optimum, abs=1e-4)


@functools.cache
def solve_qp(width: int, depth: int, trial: int, formulation: str):
    instance = qp_instance(load_qp_network(width, depth, trial), trial)
    options = quiet(formulation=formulation, initial_penalty=100.0, time_limit=250.0)
    return dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=options)


# The two-path formulation takes minutes where the others take seconds, so it has a narrower network.
QP_SIZES = [(f, 64, 1) for f in FORMULATIONS] + [(f, 32 if f == "two-path" else 64, 3) for f in FORMULATIONS]


@pytest.mark.parametrize("trial", range(2))
@pytest.mark.parametrize(("formulation", "width", "depth"), QP_SIZES)
def test_a_qp_ends_locally_solved_at_a_feasible_point_with_neural_rows_active(formulation, width, depth, trial):
    result = solve_qp(width, depth, trial, formulation)
    assert result.status is Status.LOCALLY_SOLVED
    assert result.is_feasible
    predictions = result.x[150:]
    assert np.sum(predictions > -1e-4) >= 3
    assert result.objective < -0.05
    # Both formulations solve the same subproblems, along possibly different optimal faces.
    assert result.objective == pytest.approx(solve_qp(width, depth, trial, "shared").objective, rel=0.01)


@pytest.mark.parametrize("depth", [3, 6, 12])
def test_the_default_is_far_below_the_papers_objective_on_deep_networks(depth):
    # The paper's method ends at -0.0835 (depth 3) and -0.0824 (depth 6); these take it 11 and 100 seconds.
    instance = qp_instance(load_qp_network(64, depth, 0), 0)
    result = dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=quiet())
    assert result.status is Status.LOCALLY_SOLVED
    assert result.is_feasible
    assert result.objective < -0.0840


@pytest.mark.usefixtures("data_folder")
def test_water_written_with_score_columns_is_the_same_problem():
    instance = water_instance(load_water_network(), 25, 0)
    wide = with_score_columns(instance, 25)
    runs = [dcembed.solve(i.program, i.embeddings, start=i.starts, options=quiet(max_iterations=10)) for i in (instance, wide)]
    assert runs[0].sizes.neural_rows == runs[1].sizes.neural_rows == 25
    assert runs[0].objective == runs[1].objective


@pytest.mark.usefixtures("data_folder")
def test_water_at_its_smallest_size_counts_only_what_is_verified():
    network = load_water_network()
    instance = water_instance(network, 25, 0)
    removal, addition = budgets()
    assert removal[0] == pytest.approx(2.18416945)
    assert addition[-1] == pytest.approx(1.06652397)
    result = dcembed.solve(instance.program, instance.embeddings, start=instance.starts, options=quiet(max_iterations=25))
    assert result.is_feasible
    counted = result.x[-25:] == 1
    points = instance.embeddings[0].points(result.x)
    assert counted.sum() == -result.objective >= 15
    assert np.all(network(points)[counted, 0] >= 1e-4 - 1e-5)
