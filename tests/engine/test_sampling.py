"""Many points of the host at once: every one of them is a point of the host."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from dcembed import AffineInputs, ConeConstraint, Embedding, Indicator, Program
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.verify import measure_host
from dcembed.engine.scouting.pool import Corners, Pool, random_cost
from dcembed.engine.scouting.sampling import draw, draw_near
from dcembed.program.tightening import tighten
from dcembed.run.clock import Clock
from dcembed.run.space import Space
from dcembed.solvers.base import SessionOptions
from dcembed.solvers.failover import Solver
from dcembed.solvers.table import choose_backend
from problems import random_mlp

NETWORK = random_mlp(0, (3, 6, 1))
# Columns: three inputs, a binary, an endless column, the prediction.
LB, UB = [-1.0, 0.0, -2.0, 0.0, -np.inf, -np.inf], [1.0, 3.0, 2.0, 1.0, np.inf, np.inf]
HOSTS = {
    "box": {},
    "integers in a box": {"integer": [1, 3]},
    "rows": {"rows": [[1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.0, 0.0, 0.0]], "row_lb": [0.0, -np.inf], "row_ub": [1.5, 0.5]},
    "an equality": {"rows": [[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]], "row_lb": 0.5, "row_ub": 0.5},
    "rows and integers": {"rows": [[1.0, 1.0, 0.0, 1.0, 0.0, 0.0]], "row_ub": 2.0, "integer": [1, 3]},
    "an endless row": {"rows": [[1.0, 0.0, 0.0, 0.0, -1.0, 0.0]], "row_ub": 0.0},
    "an indicator": {"integer": [3], "indicators": [Indicator(3, 1, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0], ub=0.5)]},
    "a cone": {"cones": [ConeConstraint([[0.0] * 6, [1.0, 0, 0, 0, 0, 0], [0, 0, 1.0, 0, 0, 0]], [0.8, 0.0, 0.0])]},
}


def space_of(kind: str) -> Space:
    program = Program(**{"cost": np.zeros(6), "lb": LB, "ub": UB, **HOSTS[kind]})
    embedded = eliminate(program, [Embedding(NETWORK, [0, 1, 2], [5])])
    return Space(embedded, tighten(embedded.host))


def pool_of(space: Space, rng: np.random.Generator) -> Pool:
    solver = Solver(choose_backend(space.host.problem_class), SessionOptions())
    inside = np.array([0.0, 0.0, 0.5, 0.0, 0.0])
    pool = Pool().with_point(space, inside) if np.isclose(measure_host(space.host, inside)[1], 0.0) else Pool()
    with closing(Corners(space, solver)) as corners:
        for _ in range(3):
            pool = corners.enlarge(pool, rng, Clock(np.inf))
    return pool


@pytest.mark.parametrize("kind", HOSTS)
def test_every_point_is_one_of_the_host_and_they_differ(kind):
    space, rng = space_of(kind), np.random.default_rng(0)
    pool = pool_of(space, rng)
    drawn = draw(space, pool, rng, 200)
    near = draw_near(space, pool, pool.groups[0][0], rng, 200)
    assert drawn.shape == near.shape == (200, space.host.num_columns)
    assert max(measure_host(space.host, w)[1] for w in (*drawn, *near)) <= 1e-6
    inputs = drawn[:, :3]
    assert np.unique(np.round(inputs, 6), axis=0).shape[0] > 30
    # Near points are near and far.
    distance = np.abs(near - pool.groups[0][0])[:, :3].max(axis=1)
    assert distance.min() < 0.05 < distance.max()


@pytest.mark.parametrize("kind", ["box", "rows", "integers in a box"])
def test_they_are_all_over_the_host(kind):
    space, rng = space_of(kind), np.random.default_rng(1)
    drawn = draw(space, pool_of(space, rng), rng, 2000)
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    room = (space.box.ub - space.box.lb)[:3]
    assert ((high - low)[:3] > 0.8 * room).all()


def test_rays_leave_the_hull_of_the_points_that_were_found():
    space, rng = space_of("rows"), np.random.default_rng(0)
    few = Pool((np.array([[0.0, 0.2, 0.0, 0.0, 0.0], [0.1, 0.2, 0.0, 0.0, 0.0]]),))
    drawn = draw(space, few, rng, 200)
    assert drawn[:, 0].max() > 0.5
    assert drawn[:, 1].max() > 0.5


def test_random_objectives_leave_endless_columns_alone():
    space = space_of("an endless row")
    cost = random_cost(space, np.random.default_rng(0))
    assert cost[4] == 0.0
    assert (cost[:3] != 0.0).all()
    # With a cost there this host would have no corner at all in half of the cases.
    assert sum(group.shape[0] for group in pool_of(space, np.random.default_rng(0)).groups) == 1 + 4 + 2 + 2


def test_points_are_combined_with_those_of_equal_integers_only():
    space = space_of("rows and integers")
    pool = pool_of(space, np.random.default_rng(3))
    for group in pool.groups:
        assert (group[:, [1, 3]] == group[0, [1, 3]]).all()
    assert len(pool.groups) > 1


def test_neighbours_have_other_integers_where_the_rows_allow_it():
    space = space_of("rows and integers")
    center = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    near = draw_near(space, Pool().with_point(space, center), center, np.random.default_rng(0), 300)
    assert {tuple(row) for row in near[:, [1, 3]]} >= {(0.0, 0.0), (2.0, 0.0), (1.0, 1.0), (0.0, 1.0)}


def test_inputs_without_bounds_are_drawn_around_a_point():
    program = Program(cost=[1.0, 1.0], lb=[-np.inf, -np.inf])
    embedded = eliminate(program, [Embedding(random_mlp(0, (1, 4, 1)), AffineInputs([[1.0, 0.0]]), [1])])
    space = Space(embedded, tighten(embedded.host))
    drawn = draw(space, Pool((np.array([[5.0]]),)), np.random.default_rng(0), 100)
    assert np.isfinite(drawn).all()
    assert drawn.std() > 1.0
