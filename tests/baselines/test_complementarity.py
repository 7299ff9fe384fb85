"""The algorithm of Liu and Dvorkin: its subproblem majorizes, and its penalty grows where products remain."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from dcembed.baselines import complementarity
from dcembed.baselines.recorder import open_recorder
from dcembed.embedded.verify import predict
from dcembed.run.arguments import read_arguments
from problems import binary_problem, grid_optimum, level_problem, quiet


@contextmanager
def lifted_problem(program, embedding):
    with open_recorder(read_arguments(program, [embedding], None, quiet())) as recorder:
        yield recorder, complementarity._lift(recorder)


def test_the_subproblem_touches_the_penalized_objective_and_is_nowhere_below():
    program, embedding = level_problem(0)
    rng = np.random.default_rng(0)
    with lifted_problem(program, embedding) as (_, lifted):
        at = lifted.encoding.values(predict([embedding], rng.uniform(-2, 2, 3))) + 0.1
        subproblem = complementarity._subproblem(lifted, at, 2.0)

    def gap(v):
        # The model leaves out the constant rho / 4 * sum (z^ - s^)^2 of its linearization.
        constant = 2.0 / 4 * ((at[lifted.unit] - at[lifted.cut]) ** 2).sum()
        return subproblem.objective(v) + constant - complementarity._merit(lifted, v, 2.0)

    assert gap(at) == pytest.approx(0.0, abs=1e-9)
    assert min(gap(v) for v in rng.normal(size=(50, at.size))) >= -1e-9


def test_the_merit_never_grows_at_a_fixed_penalty():
    program, embedding = level_problem(1)
    merits = []
    with lifted_problem(program, embedding) as (recorder, lifted):
        columns = lifted.encoding.values(predict([embedding], np.array([1.0, 1.0, 0.0])))
        for _ in range(6):
            columns = complementarity._step(recorder, lifted, columns, 1.0).x
            merits.append(complementarity._merit(lifted, columns, 1.0))
    assert merits[-1] < merits[0] - 1e-3
    assert (np.diff(merits) <= 1e-6).all()


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_feasible_points_of_neural_rows(seed):
    program, embedding = level_problem(seed)
    result = complementarity.solve(program, embedding, options=quiet())
    assert result.is_feasible
    assert result.objective >= grid_optimum(embedding.network, np.array([1.0, 0.5]), 0.0, program.ub[2], 2.0, 401) - 0.05


def test_the_penalty_grows_from_a_small_one():
    program, embedding = level_problem(0)
    result = complementarity.solve(program, embedding, options=quiet(initial_penalty=1e-6, max_penalty=1e4))
    penalties = [h.penalty for h in result.history]
    assert penalties[0] == 1e-6
    assert penalties[-1] > 1e-6
    assert result.is_feasible


def test_integers_go_to_scip():
    program, embedding = binary_problem(1, num_binaries=6)
    result = complementarity.solve(program, embedding, options=quiet())
    assert result.solver == "scip"
    assert result.sizes.added_binaries == 0
