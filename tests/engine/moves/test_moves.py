"""Each move finds what it is there for, and makes the same start from the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed.engine.moves import blocks, crossover, exchange, opposite, perturbation, relaxation
from dcembed.engine.moves.narrowing import hold_others, narrow, seen_from_outside
from dcembed.engine.moves.nearest import nearest
from dcembed.engine.moves.table import MOVES
from dcembed.engine.moves.verified import MAX_POINTS, Verified
from dcembed.engine.outcome import Outcome
from dcembed.run.starts import measure_start
from dcembed.status import Status
from move_problems import all_jobs, follow, jobs_problem, open_terrain, two_valleys
from problems import box_problem, grid_optimum, random_mlp

SIZES = {"exchange": 0.5, "perturbation": 0.7, "crossover": 1.0, "blocks": 0.8, "relaxation": 1.0}


def searched(terrain, verified: Verified, name: str, size: float, num_starts: int) -> Verified:
    """What is known after some starts of one kind."""
    for number in range(num_starts):
        suggested = MOVES[name](terrain, verified, size, np.random.default_rng([7, number]))
        if suggested is not None:
            assert suggested.origin == name
            verified = verified.heard(terrain.space, follow(terrain, suggested).best)
    return verified


def known(terrain, *points) -> Verified:
    verified = Verified()
    for w in points:
        verified = verified.heard(terrain.space, measure_start(terrain.problem.embedded, np.asarray(w, dtype=float)))
    return verified


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_moves_of_integers_find_the_best_jobs_from_the_worst(monkeypatch, name, size):
    monkeypatch.setattr(exchange, "NUM_ROUNDS", 8)
    program, embedding = jobs_problem()
    terrain = open_terrain(program, embedding)
    jobs, values = all_jobs(program, embedding)
    order = np.argsort(values)
    # No job can move alone, so nothing better is found by changing one.
    worst = jobs[order[-1]]
    begun = known(terrain, worst, max(jobs, key=lambda w: (w != worst).sum()))
    found = searched(terrain, begun, name, size, 14)
    assert found.points[0].violation <= 1e-5
    assert found.points[0].objective == pytest.approx(values[order[0]], abs=1e-6)


@pytest.mark.parametrize("name", ["blocks", "relaxation", "crossover"])
def test_a_neighbourhood_holds_what_is_not_open_and_a_start_stays_inside(name):
    program, embedding = jobs_problem(1)
    terrain = open_terrain(program, embedding)
    jobs, values = all_jobs(program, embedding)
    order = np.argsort(values)
    verified = known(terrain, jobs[order[-1]], jobs[order[20]])
    for number in range(5):
        suggested = MOVES[name](terrain, verified, 0.3, np.random.default_rng(number))
        held = suggested.box.lb == suggested.box.ub
        assert 0 < held.sum() < 9
        assert np.array_equal(suggested.w[held], suggested.box.lb[held])
        outcome = follow(terrain, suggested)
        assert np.array_equal(outcome.best.w[held], suggested.w[held])
        assert outcome.best.objective <= measure_start(terrain.problem.embedded, suggested.w).objective + 1e-9


def test_a_kick_leaves_a_valley():
    network = random_mlp(4, (2, 8, 1))
    terrain = open_terrain(*box_problem(network, np.array([0.1, -0.2]), 1.0))
    best = grid_optimum(network, np.array([0.1, -0.2]), 1.0, np.inf, 2.0, 201)
    worst = max(
        ([x, y] for x in (-2.0, 2.0) for y in (-2.0, 2.0)), key=lambda w: measure_start(terrain.problem.embedded, np.array(w)).objective
    )
    found = searched(terrain, known(terrain, worst), "perturbation", 0.3, 25)
    assert found.points[0].objective <= best + 1e-6
    between = searched(terrain, found, "crossover", 0.5, 5)
    assert between.points[0].objective <= found.points[0].objective


def test_the_other_side_of_a_ridge_is_looked_at():
    terrain = open_terrain(*two_valleys())
    lower = known(terrain, [-2.0])
    assert lower.points[0].objective == pytest.approx(-1.6)
    suggested = opposite.mirror(terrain, lower, 1.0, np.random.default_rng(0))
    assert suggested.w == pytest.approx([2.0])
    assert follow(terrain, suggested).best.objective == pytest.approx(-2.0)
    # Kicks of a small size fall back.
    kicked = perturbation.perturb(terrain, lower, 0.01, np.random.default_rng(0))
    assert follow(terrain, kicked).best.objective == pytest.approx(-1.6)


def test_two_points_with_the_same_integers_meet_between_or_beyond_them():
    terrain = open_terrain(*two_valleys())
    pair = known(terrain, [-2.0], [-1.0])
    made = [crossover.cross(terrain, pair, 0.5, np.random.default_rng(number)).w[0] for number in range(20)]
    assert min(made) >= -2.0
    assert max(made) <= 0.0
    assert len(set(made)) > 10


@pytest.mark.parametrize("name", MOVES)
def test_the_same_seed_makes_the_same_start_and_nothing_is_made_of_nothing(monkeypatch, name):
    monkeypatch.setattr(exchange, "NUM_ROUNDS", 4)
    terrain = open_terrain(*jobs_problem()) if name != "opposite" else open_terrain(*two_valleys())
    jobs = all_jobs(*jobs_problem())[0]
    points = [[-2.0], [1.0]] if name == "opposite" else [jobs[0], jobs[7], jobs[11]]
    first, again = (MOVES[name](terrain, known(terrain, *points), 0.5, np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first.w, again.w)
    assert first.box is None or all(np.array_equal(one, other) for one, other in zip(first.box, again.box, strict=True))
    assert MOVES[name](terrain, Verified(), 0.5, np.random.default_rng(3)) is None


def test_moves_have_nothing_to_do_where_there_is_nothing_to_move():
    terrain = open_terrain(*two_valleys())
    verified = known(terrain, [1.0], [-1.0])
    for move in (blocks.open_blocks, relaxation.open_by_relaxation, exchange.exchange):
        assert move(terrain, verified, 0.5, np.random.default_rng(0)) is None
    integers = open_terrain(*jobs_problem())
    assert opposite.mirror(integers, known(integers, all_jobs(*jobs_problem())[0][0]), 1.0, np.random.default_rng(0)) is None


def test_the_nearest_point_keeps_what_it_is_told_to_keep():
    program, embedding = jobs_problem()
    terrain = open_terrain(program, embedding)
    jobs = all_jobs(program, embedding)[0]
    kicked, kept = jobs[0].copy(), np.zeros(9, dtype=bool)
    kicked[0] = 1.0 - (kicked[0] > 0)
    kept[0] = True
    found = np.round(nearest(terrain, kicked, kept))
    assert found[0] == kicked[0]
    assert (found.reshape(3, 3).sum(axis=0) == 3).all()
    assert (found.reshape(3, 3).sum(axis=1) == 3).all()
    # Jobs that cannot be kept have no point near them.
    kicked[:3], kept[:3] = 0.0, True
    assert nearest(terrain, kicked, kept) is None


def test_an_empty_neighbourhood_says_nothing_of_the_whole_problem():
    program, embedding = jobs_problem()
    terrain = open_terrain(program, embedding)
    jobs = all_jobs(program, embedding)[0]
    nothing = np.zeros(9, dtype=bool)
    box = hold_others(terrain.problem, jobs[3], nothing)
    assert narrow(terrain.problem, None) is terrain.problem
    held = narrow(terrain.problem, box)
    assert held.is_narrow
    assert held.embedded.host.num_integers == 0
    point = measure_start(terrain.problem.embedded, jobs[3])
    for status in (Status.LOCALLY_SOLVED, Status.LOCALLY_INFEASIBLE, Status.HOST_INFEASIBLE, Status.UNBOUNDED):
        assert seen_from_outside(Outcome(status, point, None)).status is Status.ITERATION_LIMIT
    assert seen_from_outside(Outcome(Status.INTERRUPTED, point, None)).status is Status.INTERRUPTED


def test_verified_points_are_the_best_that_differ():
    program, embedding = jobs_problem()
    terrain = open_terrain(program, embedding)
    jobs, values = all_jobs(program, embedding)
    verified = known(terrain, *jobs, *jobs)
    assert len(verified.points) == MAX_POINTS
    assert [point.objective for point in verified.points] == pytest.approx(np.sort(values)[:MAX_POINTS])
    assert verified.heard(terrain.space, None) is verified
    picked = [verified.pick(np.random.default_rng(number)).objective for number in range(60)]
    assert np.mean(np.isclose(picked, values.min())) > 0.3
    assert len(set(picked)) > 3
    one, other = verified.pick_two(np.random.default_rng(0))
    assert one is not other
    assert known(terrain, jobs[0]).pick_two(np.random.default_rng(0)) is None


def test_an_exchange_kicks_just_as_far_when_its_size_has_shrunk(monkeypatch):
    """A search makes sizes finer where a neighbourhood was too large to be finished, which a descent always is."""
    terrain = open_terrain(*jobs_problem())
    jobs = all_jobs(*jobs_problem())[0]
    far, kicked = [], exchange._kicked

    def measured(terrain, w, *others):
        result = kicked(terrain, w, *others)
        far.append(np.abs(result - w).sum())
        return result

    monkeypatch.setattr(exchange, "_kicked", measured)
    exchange.exchange(terrain, known(terrain, jobs[10]), 0.005, np.random.default_rng(0))
    # One chain of two changes alone moves four integers by one.
    assert max(far) > 8
