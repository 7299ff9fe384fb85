"""Chains of changes keep the rows that single changes break."""

from __future__ import annotations

import numpy as np

from dcembed import Embedding, Program
from dcembed.engine.moves.chains import Chains
from dcembed.engine.scouting.sampling import rows_hold
from move_problems import all_jobs, jobs_problem, open_terrain
from problems import random_mlp


def test_chains_reach_every_neighbour_and_break_nothing():
    terrain = open_terrain(*jobs_problem())
    jobs = all_jobs(*jobs_problem())[0]
    drawn, holds = terrain.chains.draw(np.tile(jobs[10], (400, 1)), terrain.integers, np.random.default_rng(0))
    kept = drawn[holds]
    assert rows_hold(terrain.space, kept).all()
    assert (kept == np.round(kept)).all()
    # Two jobs of two cores change places: the nearest points there are.
    changed = {tuple(w) for w in kept}
    neighbours = {tuple(w) for w in jobs if np.abs(w - jobs[10]).sum() == 4}
    assert neighbours <= changed
    assert all(tuple(w) in {tuple(point) for point in jobs} for w in changed)
    again, _ = terrain.chains.draw(np.tile(jobs[10], (400, 1)), terrain.integers, np.random.default_rng(0))
    assert np.array_equal(drawn, again)


def test_continuous_columns_follow_and_slide_along_their_cost():
    # stock = made - 2, late >= 3 - made: what is made is an integer and an input.
    program = Program(
        cost=[0.0, 0.5, 1.0, 1.0],
        rows=[[1.0, -1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]],
        row_lb=[2.0, 3.0],
        row_ub=[2.0, np.inf],
        lb=[0.0, 0.0, 0.0, -np.inf],
        ub=[5.0, 5.0, 5.0, np.inf],
        integer=[0],
    )
    terrain = open_terrain(program, Embedding(random_mlp(0, (1, 4, 1)), [0], [3]))
    chains = Chains(terrain.space)
    drawn, holds = chains.draw(np.tile([3.0, 1.0, 2.0], (60, 1)), np.array([0]), np.random.default_rng(0))
    assert holds.any()
    kept = chains.slide(drawn[holds])
    assert np.allclose(kept[:, 1], kept[:, 0] - 2.0)
    assert np.allclose(kept[:, 2], np.maximum(3.0 - kept[:, 0], 0.0))
    assert {2.0, 4.0} <= set(kept[:, 0])


def test_chains_are_the_same_with_the_zeros_of_the_rows_and_without(monkeypatch):
    space, integers = open_terrain(*jobs_problem()).space, open_terrain(*jobs_problem()).integers
    first = all_jobs(*jobs_problem())[0][10]
    drawn = []
    for most in (1_000_000, 0):
        monkeypatch.setattr("dcembed.engine.moves.chains.MAX_DENSE", most)
        chains = Chains(space)
        assert (chains._dense_columns is None) == (most == 0)
        drawn.append(chains.draw(np.tile(first, (200, 1)), integers, np.random.default_rng(0)))
    assert np.array_equal(drawn[0][0], drawn[1][0])
    assert np.array_equal(drawn[0][1], drawn[1][1])


def test_chains_begin_at_points_that_a_solver_has_found():
    """Which keep rows to its tolerance, and no better."""
    terrain = open_terrain(*jobs_problem())
    exact = all_jobs(*jobs_problem())[0][10]
    found = exact + 1e-7 * (np.arange(exact.size) == 0)
    whole, near, strict = (
        chains.draw(np.tile(w, (400, 1)), terrain.integers, np.random.default_rng(0))[1].mean()
        for chains, w in ((terrain.chains, exact), (terrain.chains, found), (Chains(terrain.space), found))
    )
    assert near == whole
    assert strict < 0.5 * whole
