"""Starts that are good and different."""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import dcembed
from dcembed import ConeConstraint, Embedding, Options, Program, QuadraticConstraint, build_mlp
from dcembed.crew.crew import Crew
from dcembed.crew.task import Shared
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.embedded.verify import measure_host
from dcembed.engine.problem import build_problem
from dcembed.engine.scouting import linked
from dcembed.engine.scouting.choice import find_neighbours, find_valleys
from dcembed.engine.scouting.descent import descend
from dcembed.engine.scouting.pool import Corners, Pool
from dcembed.engine.scouting.sampling import draw
from dcembed.engine.scouting.scoring import find_open, merit_gradient, score_points
from dcembed.engine.scouting.scout import APART, MAX_LENGTH, MAX_WIDTH, Scout
from dcembed.program.tightening import tighten
from dcembed.run.clock import Clock
from dcembed.run.space import Space
from dcembed.solvers.base import SessionOptions
from dcembed.solvers.failover import Solver
from dcembed.solvers.table import choose_backend
from problems import binary_problem, box_problem, indicator_problem, level_problem, quiet, random_mlp

# Four hats of different heights on [0, 8], one after the other; the deepest valley of the negative is at 5.
HATS = build_mlp(
    [np.ones((12, 1)), [[2.0, -4.0, 2.0, 1.0, -2.0, 1.0, 3.0, -6.0, 3.0, 1.5, -3.0, 1.5]]],
    [-np.array([0.5, 1.0, 1.5, 2.5, 3.0, 3.5, 4.5, 5.0, 5.5, 6.5, 7.0, 7.5]), [0.0]],
)


def hats() -> Space:
    program = Program(cost=[0.0, -1.0], lb=[0.0, -np.inf], ub=[8.0, np.inf])
    return space_of(program, Embedding(HATS, [0], [1]))


def space_of(program: Program, embedding: Embedding) -> Space:
    embedded = eliminate(program, [embedding])
    return Space(embedded, tighten(embedded.host))


def scout_of(space: Space, seed: int = 0) -> Scout:
    solver = Solver(choose_backend(space.host.problem_class), SessionOptions())
    problem = build_problem(space.embedded, Options(seed=seed, verbose=False))
    return Scout(Shared(problem), lambda: solver, Crew(), Clock(np.inf))


def starts_of(space: Space, number: int, seed: int = 0) -> list[np.ndarray]:
    """So many starts, each of which ends where it began."""
    with closing(scout_of(space, seed)) as scout:
        first = np.zeros(space.host.num_columns)
        scout.hear_start(first)
        scout.hear_end(first)
        found = []
        while len(found) < number and (w := scout.next(None, 1.0)) is not None:
            scout.hear_start(w)
            scout.hear_end(w)
            found.append(w)
        return found


def test_valleys_are_better_than_their_neighbours_and_the_best_come_first():
    x = np.linspace(0, 8, 400)[:, None]
    valleys = find_valleys(find_neighbours(x), -HATS(x)[:, 0])
    tops = x[valleys, 0][:4]
    assert np.allclose(tops, [5.0, 1.0, 7.0, 3.0], atol=0.02)


def test_the_first_starts_are_the_valleys_one_after_the_other():
    starts = [float(w[0]) for w in starts_of(hats(), 3)]
    assert np.allclose(starts, [5.0, 1.0, 7.0], atol=0.1)


def test_where_a_start_has_ended_no_other_begins():
    starts = [w[0] for w in starts_of(hats(), 12)]
    assert min(abs(a - b) for a, b in itertools.combinations(starts, 2)) > 1e-6


def test_the_same_seed_gives_the_same_starts_and_another_one_others():
    one, again, other = (np.array(starts_of(hats(), 8, seed)) for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_starts_differ_in_their_integers():
    space = space_of(*binary_problem(0))
    starts = np.array(starts_of(space, 20))[:, :10]
    assert np.unique(starts, axis=0).shape[0] == 20


def test_of_few_points_all_are_starts_in_the_end():
    """Four jobs on three machines: loads follow from binaries by equalities, so every point costs a solve, and few of them are valleys."""
    jobs, machines = np.array([1.0, 2.0, 3.0, 5.0]), 3
    once = np.hstack([np.kron(np.ones(machines), np.eye(4)), np.zeros((4, 6))])
    load = np.hstack([np.kron(np.eye(machines), jobs), -np.eye(machines), np.zeros((3, 3))])
    lb, ub = np.r_[np.zeros(15), np.full(3, -np.inf)], np.r_[np.ones(12), np.full(3, 11.0), np.full(3, np.inf)]
    sides = np.r_[np.ones(4), np.zeros(3)]
    cost = np.r_[np.zeros(15), np.ones(3)]
    program = Program(cost, rows=np.vstack([once, load]), row_lb=sides, row_ub=sides, lb=lb, ub=ub, integer=np.arange(12))
    embedding = Embedding(random_mlp(3, (1, 8, 1)), 12 + np.arange(3)[:, None], 15 + np.arange(3)[:, None])
    starts = np.array(starts_of(space_of(program, embedding), 30))
    assert np.unique(starts[:, :12], axis=0).shape[0] >= 20


def test_where_nothing_is_left_to_draw_there_is_no_further_start():
    program = Program(cost=[0.0, 1.0], lb=[0.0, -np.inf], ub=[2.0, np.inf], integer=[0])
    starts = starts_of(space_of(program, Embedding(random_mlp(0, (1, 4, 1)), [0], [1])), 10)
    assert sorted(w[0] for w in starts) == [1.0, 2.0]


def test_a_flat_piece_is_left_for_the_best_point_drawn():
    space = hats()
    with closing(scout_of(space)) as scout:
        flat = measure_point(space.embedded, np.array([0.1]))
        w = scout.leave(flat, 1.0)
        assert w is not None
        assert abs(w[0] - 5.0) < 0.2
        assert scout.leave(measure_point(space.embedded, np.array([5.0])), 1.0) is None


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_an_epigraph_column_is_scored_where_the_networks_put_it(sense):
    # minimize t >= f_0, t >= f_1, or maximize t <= f_0, t <= f_1; columns x, t, y_0, y_1.
    network = random_mlp(1, (1, 6, 2))
    program = Program(
        cost=[0.0, sense, 0.0, 0.0],
        rows=[[0.0, sense, -sense, 0.0], [0.0, sense, 0.0, -sense]],
        row_lb=0.0,
        lb=[-2.0, -np.inf, -np.inf, -np.inf],
        ub=[2.0, np.inf, np.inf, np.inf],
    )
    space = space_of(program, Embedding(network, [0], [2, 3]))
    x = np.linspace(-2, 2, 9)
    scored = score_points(space, find_open(space), np.column_stack([x, np.full(9, 77.0)]))
    expected = sense * (sense * network(x[:, None])).max(axis=1)
    assert np.allclose(scored.w[:, 1], expected)
    assert np.allclose(scored.excess, 0.0)
    assert np.allclose(scored.objective, sense * expected)


def test_a_column_that_rows_of_the_host_hold_is_left_where_it_is():
    network = random_mlp(1, (1, 6, 1))
    rows = [[0.0, 1.0, -1.0], [1.0, 1.0, 0.0]]
    program = Program(cost=[0.0, 1.0, 0.0], rows=rows, row_lb=0.0, lb=[-2.0, -9.0, -np.inf], ub=[2.0, 9.0, np.inf])
    space = space_of(program, Embedding(network, [0], [2]))
    assert find_open(space).followers.columns.size == 0


def test_linked_outputs_are_predicted():
    network = random_mlp(1, (1, 6, 1))
    program = Program(cost=[0.0, 1.0], quadratic=np.diag([0.0, 1.0]), lb=[-2.0, -np.inf], ub=[2.0, np.inf])
    space = space_of(program, Embedding(network, [0], [1]))
    x = np.linspace(-2, 2, 5)
    scored = score_points(space, find_open(space), np.column_stack([x, np.full(5, 3.0)]))
    assert np.allclose(scored.w[:, 1], network(x[:, None])[:, 0])
    assert np.allclose(scored.slack, 0.0)


def test_a_dear_network_is_asked_less_often():
    small = scout_of(space_of(*box_problem(random_mlp(0, (3, 10, 1)), np.ones(3), 1.0)))
    large = scout_of(space_of(*box_problem(random_mlp(0, (3, 1000, 1000, 1)), np.ones(3), 1.0)))
    assert small._num_points() == 512
    assert large._num_points() < 256


def test_where_passes_are_dear_each_look_gives_one_start_away_from_all_others(monkeypatch):
    monkeypatch.setattr("dcembed.engine.scouting.scout.DESCENT_COST", 1000)
    space = space_of(*box_problem(random_mlp(0, (3, 10, 1)), np.ones(3), 1.0))
    scout, looks, made = scout_of(space), [], [np.zeros(3)]
    scout.hear_start(made[0])
    draw_batch = scout._draw_batch
    monkeypatch.setattr(scout, "_draw_batch", lambda *given: looks.append(0) or draw_batch(*given))
    for _ in range(4):
        made.append(scout.next(None, 1.0))
        scout.hear_start(made[-1])
    assert len(looks) == 4
    places = space.places(np.array(made))
    assert cdist(places, places, "chebyshev")[np.triu_indices(5, 1)].min() > APART


def test_where_passes_are_dear_many_short_ways_take_turns_with_few_long_ones():
    scout = scout_of(space_of(*box_problem(random_mlp(0, (3, 1000, 1000, 1)), np.ones(3), 1.0)))
    efforts = []
    for scout._num_batches in range(8):
        efforts.append(scout._effort)
    assert {length for _, length in efforts[::2]} == {1}
    assert efforts[-1] == (MAX_WIDTH // MAX_LENGTH, MAX_LENGTH)


@pytest.mark.parametrize(
    "problem", [lambda: box_problem(random_mlp(0, (3, 10, 8, 1)), np.ones(3), 0.7, limit=0.2), lambda: indicator_problem(0)]
)
def test_the_gradient_of_the_merit_is_that_of_differences(problem):
    space = space_of(*problem())
    followers, rng = find_open(space), np.random.default_rng(0)
    w = rng.uniform(-1, 1, (6, space.host.num_columns))
    w[:, space.host.integer] = np.round(np.abs(w[:, space.host.integer]))
    gradient = merit_gradient(space, followers, score_points(space, followers, w), np.full(6, 3.0))
    for column in np.flatnonzero(~space.host.integer):
        step = 1e-6 * np.eye(space.host.num_columns)[column]
        up, down = (score_points(space, followers, w + side * step).merit(3.0) for side in (1, -1))
        assert np.allclose(gradient[:, column], (up - down) / 2e-6, atol=1e-6)


def linked_space(seed: int = 0) -> Space:
    """Two inputs over a box; a prediction that is squared in the objective and held by a row of the host with an input in it."""
    quadratic = np.diag([0.0, 0.0, 1.0])
    program = Program(
        cost=[0.3, -0.2, 0.5], quadratic=quadratic, rows=[[1.0, 0.0, 2.0]], row_ub=-0.3, lb=[-1.0, -1.0, -0.4], ub=[1.0, 1.0, np.inf]
    )
    return space_of(program, Embedding(random_mlp(seed, (2, 8, 6, 1)), [0, 1], [2]))


def test_what_the_host_says_of_a_prediction_counts_and_its_slope_goes_on_to_the_inputs():
    space = linked_space()
    open_, rng = find_open(space), np.random.default_rng(0)
    w = rng.uniform(-1, 1, (20, 3))
    scored = score_points(space, open_, w)
    f = space.embedded.embeddings[0].network(w[:, :2])[:, 0]
    outside = np.maximum(w[:, 0] + 2 * f + 0.3, 0.0) + np.maximum(-0.4 - f, 0.0)
    assert np.allclose(scored.outside, outside)
    assert (outside > 0).any()
    assert np.allclose(scored.merit(3.0), scored.objective + 3.0 * outside)
    gradient = merit_gradient(space, open_, scored, np.full(20, 3.0))
    for column in (0, 1):
        step = 1e-6 * np.eye(3)[column]
        up, down = (score_points(space, open_, w + side * step).merit(3.0) for side in (1, -1))
        assert np.allclose(gradient[:, column], (up - down) / 2e-6, atol=1e-5)


def test_a_large_quadratic_constraint_is_not_written_as_a_cone_for_a_score(monkeypatch):
    space = linked_space()
    curve = QuadraticConstraint(np.eye(3) + 0.5, None, 1e-3)
    curved = space_of(replace(space.embedded.program, quadratic_constraints=[curve]), space.embedded.embeddings[0])
    assert find_open(curved).linked.cones is not None
    monkeypatch.setattr(linked, "EIGEN_COLUMNS", 2)
    assert find_open(curved).linked.cones is None


def test_in_a_ball_points_go_down_and_stay_inside():
    network, n = random_mlp(2, (6, 20, 1)), 6
    identity = np.hstack([np.eye(n), np.zeros((n, 1))])
    cone = ConeConstraint(np.vstack([np.zeros((1, n + 1)), identity]), [0.5, *np.full(n, -0.2)])
    program = Program(cost=[*np.zeros(n), 1.0], lb=[*-np.ones(n), -np.inf], ub=[*np.full(n, 0.4), np.inf], cones=[cone])
    space, rng = space_of(program, Embedding(network, np.arange(n), [n])), np.random.default_rng(0)
    assert space.in_ball.all()
    pool = Pool().with_point(space, np.full(n, 0.2))
    w, open_ = draw(space, pool, rng, 30), find_open(space)
    end = descend(space, pool, open_, w, np.full(30, 1.0))
    assert max(measure_host(space.host, point)[1] for point in [*w, *end]) <= 1e-9
    before, after = (score_points(space, open_, points).merit(1.0) for points in (w, end))
    assert (after <= before).all()
    assert np.median(after) < before.min()


def test_with_many_columns_points_go_to_corners_of_the_box():
    n = 150
    program = Program(cost=[*np.zeros(n), 1.0], lb=[*-np.ones(n), -np.inf], ub=[*np.ones(n), np.inf])
    space, rng = space_of(program, Embedding(random_mlp(0, (n, 12, 1)), np.arange(n), [n])), np.random.default_rng(0)
    w, open_ = rng.uniform(-1.0, 1.0, (8, n)), find_open(space)
    end = descend(space, Pool(), open_, w, np.ones(8))
    before, after = (score_points(space, open_, points).merit(1.0) for points in (w, end))
    assert after.max() < before.min()
    assert (np.abs(end) == 1.0).mean() > 0.8


def test_an_epigraph_column_goes_along_with_the_row_it_lies_on():
    network = random_mlp(1, (2, 6, 2))
    rows = [[0.0, 0.0, 1.0, -1.0, 0.0], [0.0, 0.0, 1.0, 0.0, -1.0]]
    lb, ub = [-2.0, -2.0, *[-np.inf] * 3], [2.0, 2.0, *[np.inf] * 3]
    space = space_of(Program(cost=[0.0, 0.0, 1.0, 0.0, 0.0], rows=rows, row_lb=0.0, lb=lb, ub=ub), Embedding(network, [0, 1], [3, 4]))
    followers, w = find_open(space), np.random.default_rng(0).uniform(-2, 2, (8, 3))
    gradient = merit_gradient(space, followers, score_points(space, followers, w), np.full(8, 1.0))
    for column in (0, 1):
        step = 1e-6 * np.eye(2)[column]
        up, down = (network(w[:, :2] + side * step).max(axis=1) for side in (1, -1))
        assert np.allclose(gradient[:, column], (up - down) / 2e-6, atol=1e-6)


@pytest.mark.parametrize("problem", [lambda: level_problem(3), lambda: binary_problem(0), lambda: indicator_problem(1)])
def test_on_its_way_down_no_point_gets_worse_or_leaves_the_host(problem):
    space, rng = space_of(*problem()), np.random.default_rng(0)
    solver = Solver(choose_backend(space.host.problem_class), SessionOptions())
    with closing(Corners(space, solver)) as corners:
        pool = corners.enlarge(
            Pool().with_point(space, np.clip(np.zeros(space.host.num_columns), space.host.lb, space.host.ub)), rng, Clock(np.inf)
        )
    followers, w = find_open(space), draw(space, pool, rng, 40)
    penalty = np.full(40, 5.0)
    before, after = (score_points(space, followers, points).merit(5.0) for points in (w, descend(space, pool, followers, w, penalty)))
    assert (after <= before + 1e-12).all()
    if not space.host.integer.all():
        assert np.median(before - after) > 0
    end = descend(space, pool, followers, w, penalty)
    assert max(measure_host(space.host, point)[1] for point in end) <= 1e-6
    assert np.array_equal(end[:, space.host.integer], w[:, space.host.integer])


def test_networks_without_hidden_layers_have_further_starts_too():
    network = dcembed.build_mlp([np.random.default_rng(0).normal(size=(2, 3))], [None])
    program = Program(cost=np.ones(5), lb=[-1.0] * 3 + [-np.inf] * 2, ub=[1.0] * 3 + [np.inf] * 2)
    result = dcembed.solve(program, Embedding(network, [0, 1, 2], [3, 4]), options=quiet(max_starts=4))
    assert result.is_feasible
    assert result.history[-1].start > 0


def test_networks_that_feed_others_have_further_starts_too():
    network = random_mlp(0, (1, 6, 1))
    program = Program(cost=np.ones(3), lb=[-1.0, -5.0, -np.inf], ub=[1.0, 5.0, np.inf])
    embeddings = [Embedding(network, [0], [1]), Embedding(network, [1], [2])]
    result = dcembed.solve(program, embeddings, options=quiet(max_starts=None))
    assert result.is_feasible


@pytest.mark.parametrize("dimension", [2, 20])
def test_neighbours_are_the_nearest_points(dimension):
    places = np.random.default_rng(dimension).uniform(size=(300, dimension))
    neighbours = find_neighbours(places)
    distance = np.linalg.norm(places[:, None] - places, axis=2)
    number = neighbours.shape[1]
    assert number > 4
    expected = np.argsort(distance, axis=1)[:, :number]
    assert [set(row) for row in neighbours.tolist()] == [set(row) for row in expected.tolist()]


@pytest.mark.parametrize("seed", range(4))
def test_corners_are_found_where_a_row_has_predictions_that_no_bound_holds(seed):
    """The host alone would let them go without end; their networks do not."""
    program = Program(
        cost=[0.0, 0.0, 0.0],
        quadratic=np.diag([0.0, 1.0, 1.0]),
        rows=[[0.0, 1.0, 1.0]],
        row_ub=1.0,
        lb=[-1.0] + 2 * [-np.inf],
        ub=[1.0] + 2 * [np.inf],
    )
    embedded = eliminate(program, [Embedding(random_mlp(0, (1, 5, 2)), [0], [1, 2])])
    space = Space(embedded, tighten(embedded.bounded_host))
    with closing(Corners(space, Solver(choose_backend("LP"), SessionOptions()))) as corners:
        pool = corners.enlarge(Pool(), np.random.default_rng(seed), Clock(np.inf))
    assert sum(len(group) for group in pool.groups) == 4
