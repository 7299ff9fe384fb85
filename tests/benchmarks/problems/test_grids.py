"""Small random networks whose optimum a grid knows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dcembed
from benchmarks.problems.grids import NUM_PROBLEMS, SHARE, build_grid_problem, grid_points
from problems import quiet

# Those of two inputs have a grid of many points.
built = cache(build_grid_problem)


@pytest.mark.parametrize("number", [0, 1, 20, 39])
def test_the_grid_has_the_optimum_it_says(number):
    problem = built(number)
    program, (embedding,) = problem.instance.program, problem.instance.embeddings
    assert program.objective(problem.best) == pytest.approx(problem.optimum, abs=1e-12)
    found = dcembed.verify(program, [embedding], problem.best)
    assert found.violation <= 1e-12
    assert problem.lowest <= problem.optimum < problem.highest
    assert problem.gap(problem.highest) <= 1.0
    # The row cuts most of the box off, and the whole objective is not settled by it.
    level, values = program.ub[-1], embedding.network(grid_points(embedding.network.num_inputs))
    assert np.mean(values[:, 1] <= level) == pytest.approx(SHARE, abs=0.01)


def test_half_of_them_have_one_input_and_half_minimize_the_network():
    problems = [built(number) for number in (0, 1, 19, 20, 39)]
    assert [problem.instance.embeddings[0].network.num_inputs for problem in problems] == [1, 1, 1, 2, 2]
    assert [bool(problem.instance.program.cost[-2]) for problem in problems] == [True, False, False, True, False]
    with pytest.raises(ValueError, match="39"):
        build_grid_problem(NUM_PROBLEMS)


def test_a_number_gives_the_same_problem_again():
    one, other = built(20), build_grid_problem(20)
    assert one.optimum == other.optimum
    assert np.array_equal(one.instance.program.cost, other.instance.program.cost)


def test_a_run_from_where_the_grid_is_best_is_no_worse():
    problem = built(20)
    instance = problem.instance
    result = dcembed.solve(instance.program, instance.embeddings, problem.best, quiet(max_iterations=20))
    assert result.is_feasible
    assert problem.gap(result.objective) <= 1e-9
