"""Relax-and-walk: relaxations, linear regions, steps between them, and what is refused."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from dcembed import Embedding, Program, QuadraticConstraint, Status
from dcembed.baselines import big_m, relax_and_walk
from dcembed.baselines.recorder import open_recorder
from dcembed.errors import InputError
from dcembed.run.arguments import read_arguments
from problems import binary_problem, box_problem, grid_optimum, level_problem, quiet, random_mlp

COST = np.array([0.3, -0.2])


def passes(number: int = 2, **changes):
    return quiet(**{"time_limit": np.inf, "max_iterations": number, **changes})


def open_walker(program: Program, embedding: Embedding):
    arguments = read_arguments(program, embedding, None, passes())
    return open_recorder(arguments)


@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_over_a_box_is_found(seed):
    network = random_mlp(seed, (2, 8, 6, 1))
    result = relax_and_walk.solve(*box_problem(network, COST, 1.0), options=passes())
    assert result.status is Status.ITERATION_LIMIT
    assert result.objective == pytest.approx(grid_optimum(network, COST, 1.0, np.inf, 2.0, 401), abs=0.01)


def test_rows_of_the_host_hold_and_the_optimum_is_that_of_the_exact_encoding():
    rng = np.random.default_rng(0)
    network = random_mlp(1, (4, 8, 8, 1))
    rows = np.hstack([rng.normal(size=(3, 4)), np.zeros((3, 1))])
    program = Program(cost=[0.1, 0.0, -0.1, 0.0, 1.0], rows=rows, row_ub=0.5, lb=[-1.0] * 4 + [-np.inf], ub=[1.0] * 4 + [np.inf])
    embedding = Embedding(network, np.arange(4), [4])
    exact = big_m.solve(program, embedding, options=quiet())
    result = relax_and_walk.solve(program, embedding, options=passes(3))
    assert exact.status is Status.OPTIMAL
    assert result.is_feasible
    assert result.objective == pytest.approx(exact.objective, abs=1e-3)


def test_the_first_relaxation_is_a_lower_bound_and_passes_fix_more_and_more_units():
    program, embedding = box_problem(random_mlp(2, (2, 8, 6, 1)), COST, 1.0)
    best = grid_optimum(embedding.network, COST, 1.0, np.inf, 2.0, 201)
    with open_walker(program, embedding) as recorder, closing(relax_and_walk._Walker(recorder)) as walker:
        none = np.zeros(walker.unit.size, dtype=bool)
        relaxed = walker._solve(none, none)
        assert program.objective(relaxed[:3]) <= best + 1e-6
        assert len(list(walker.relax(np.random.default_rng(0)))) > 1


def test_with_all_units_fixed_the_relaxation_is_the_network():
    program, embedding = box_problem(random_mlp(2, (2, 8, 6, 1)), COST, 1.0)
    with open_walker(program, embedding) as recorder, closing(relax_and_walk._Walker(recorder)) as walker:
        point = recorder.offer_start(np.array([0.3, -0.4, 0.0]), 0)
        values = walker._encoding.values(point.x)
        on = values[walker.unit] >= values[walker._cut]
        solved = walker._solve(on, ~on)
        assert solved[2] == pytest.approx(embedding.network(solved[:2])[0], abs=1e-6)
        assert program.objective(solved[:3]) <= point.objective + 1e-9


def test_a_walk_goes_through_several_regions():
    program, embedding = box_problem(random_mlp(0, (2, 20, 20, 1)), np.zeros(2), 1.0)
    start = np.array([0.1, 0.1, 0.0])
    with open_walker(program, embedding) as recorder, closing(relax_and_walk._Walker(recorder)) as walker:
        first = recorder.offer_start(start, 0)
        walker.walk(first)
        assert len(recorder.journal.history) > 2
        objectives = [record.objective for record in recorder.journal.history]
        assert (np.diff(objectives) <= 1e-9).all()
        assert recorder.incumbent.point.objective < first.objective


def test_a_network_without_open_units_is_one_region():
    network = random_mlp(0, (2, 3, 1))
    program = Program(cost=[0.0, 0.0, 1.0], lb=[0.5, 0.5, -np.inf], ub=[0.5 + 1e-9, 0.5 + 1e-9, np.inf])
    result = relax_and_walk.solve(program, Embedding(network, [0, 1], [2]), options=passes())
    assert result.status is Status.LOCALLY_SOLVED


def test_an_infeasible_host_is_told():
    program, embedding = box_problem(random_mlp(0, (2, 4, 1)), COST, 1.0)
    empty = Program(
        cost=program.cost, rows=[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], row_lb=[1.0, -1.0], row_ub=[1.0, -1.0], lb=program.lb, ub=program.ub
    )
    assert relax_and_walk.solve(empty, embedding, options=passes()).status is Status.INFEASIBLE


def test_what_it_does_not_take_is_refused():
    with pytest.raises(InputError, match="continuous hosts only, but this one has 10 integer columns"):
        relax_and_walk.solve(*binary_problem(0), options=passes())
    with pytest.raises(InputError, match="in the objective only, but this problem has 1 neural restrictions"):
        relax_and_walk.solve(*level_problem(0), options=passes())
    program, embedding = box_problem(random_mlp(0, (2, 4, 1)), COST, 1.0)
    curved = Program(
        cost=program.cost, lb=program.lb, ub=program.ub, quadratic_constraints=[QuadraticConstraint(np.diag([1.0, 1.0, 0.0]), ub=1.0)]
    )
    with pytest.raises(InputError, match="polyhedra only"):
        relax_and_walk.solve(curved, embedding, options=passes())
