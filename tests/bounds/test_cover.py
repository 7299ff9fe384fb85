"""Covers: parts, planes that are lifted where that pays, points that end the work, inputs that only later stages look at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dcembed import NetworkBuilder, build_mlp
from dcembed.bounds.box_parts import Builder
from dcembed.bounds.cover import LIFTING_COST, Cover
from dcembed.bounds.lagrangian import price_of
from dcembed.bounds.pieces import Own, Piece
from dcembed.crew.crew import Crew
from dcembed.network.network import evaluate
from dcembed.network.planes import planes_within
from dcembed.run.clock import Clock, RunEnded
from dcembed.status import Status
from problems import random_mlp


def _piece(network, low, high, step=None, limit=None):
    """min f_0 over a box, with f_1 <= limit if there is one."""
    size, outputs = low.size, network.num_outputs
    rows = np.eye(outputs)[[1]] if limit is not None else np.zeros((0, outputs))
    own = Own(np.zeros((rows.shape[0], size)), rows, np.full(rows.shape[0], limit or 0.0), np.arange(rows.shape[0]))
    place = np.arange(size)
    return Piece(
        network,
        np.zeros(size),
        place,
        place,
        np.ones(size),
        low,
        high,
        np.array([0]),
        np.eye(outputs)[[0]],
        own,
        np.zeros(size) if step is None else np.array(step),
    )


def _cover(piece):
    return Cover(piece, True, Builder(Crew(), Clock(np.inf), lambda: None)), price_of(piece, np.zeros(piece.columns.size), np.ones(1))


def test_many_boxes_are_bounded_in_parts_and_the_clock_is_looked_at_before_each(monkeypatch):
    network = random_mlp(1, (4, 24, 24, 2))
    cover, price = _cover(_piece(network, -np.ones(4), np.ones(4), limit=float(evaluate(network, np.zeros((1, 4)))[0, 1])))
    cover.least(price, np.inf, 0.0, 3000)
    number, whole = cover.boxes.number, cover._bounds(cover.boxes, price, np.inf, None)
    assert number > 200
    looks = []
    monkeypatch.setattr("dcembed.bounds.cover.PART", 64)
    cover.builder = replace(cover.builder, check=lambda: looks.append(None))
    np.testing.assert_array_equal(cover._bounds(cover.boxes, price, np.inf, None), whole)
    assert len(looks) == np.ceil(number / 64)

    def end():
        if len(looks) > 1:
            raise RunEnded(Status.TIME_LIMIT)
        looks.append(None)

    looks.clear()
    cover.builder = replace(cover.builder, check=end)
    with pytest.raises(RunEnded):
        cover.least(price, np.inf, 0.0, 3000)
    assert cover.boxes.number == number


def test_inputs_are_split_that_only_a_later_stage_looks_at():
    rng = np.random.default_rng(0)
    builder = NetworkBuilder((3,))
    squares = builder.linear(builder.input, np.array([[1.0, 0.0, 0.0]]), np.zeros(1))
    first = builder.relu(squares)
    joined = builder.concat([builder.input, first])
    hidden = builder.relu(builder.linear(joined, rng.normal(size=(12, 4)) * [0.0, 3.0, 3.0, 1.0], rng.normal(size=12)))
    network = builder.finish(builder.linear(hidden, rng.normal(size=(1, 12)), np.zeros(1)))
    piece = _piece(network, np.array([-1.0, 0.0, 0.0]), np.ones(3), [0.0, 1.0, 1.0])
    cover, price = _cover(piece)
    least = cover.least(price, np.inf, 1e-3, 2000)
    ends = np.array(np.meshgrid(np.linspace(-1, 1, 2001), [0, 1], [0, 1])).reshape(3, -1).T
    best = evaluate(network, ends).min()
    assert best - 2e-3 <= least <= best


def test_points_of_a_part_of_the_box_end_the_work_there():
    network = random_mlp(3, (2, 12, 2))
    low, high = -np.ones(2), np.ones(2)
    values = evaluate(network, np.random.default_rng(0).uniform(-1, 1, (4000, 2)))
    piece = _piece(network, low, high, limit=float(np.median(values[:, 1])))
    cover, price = _cover(piece)
    cover.least(price, np.inf, 1e-4, 5000)
    for part in ((low, np.array([0.37, 1.0])), (np.array([-0.4, -0.21]), high)):
        before = cover.num_boxes
        least = cover.least(price, np.inf, 1e-3, 5000, part)
        assert cover.num_boxes - before < 2000
        assert cover.best(price, part) - 1e-3 <= least <= cover.best(price, part) + 1e-3


def _boxes_until_proved(piece, monkeypatch, cost):
    monkeypatch.setattr("dcembed.bounds.cover.LIFTING_COST", cost)
    cover, price = _cover(piece)
    least = cover.least(price, np.inf, 1e-3, 200_000)
    assert cover.best(price) - 1.001e-3 <= least <= cover.best(price) + 1e-9
    return cover.num_boxes


@pytest.mark.parametrize(("seed", "is_limited", "share"), [(6, False, 0.5), (6, True, 0.7)])
def test_lifted_planes_save_boxes_of_a_deep_network(seed, is_limited, share, monkeypatch):
    network = random_mlp(seed, (3, 20, 20, 20, 20, 2))
    low, high = -np.ones(3), np.ones(3)
    values = evaluate(network, np.random.default_rng(0).uniform(low, high, (4000, 3)))
    piece = _piece(network, low, high, limit=float(np.quantile(values[:, 1], 0.3)) if is_limited else None)
    lifted, plain = (_boxes_until_proved(piece, monkeypatch, cost) for cost in (LIFTING_COST, 1e300))
    assert lifted < share * plain


def test_planes_that_are_exact_are_not_lifted(monkeypatch):
    # Every unit stays on its side.
    network = build_mlp([np.ones((8, 2)), np.ones((1, 8))], [np.full(8, 50.0), None])
    cover, price = _cover(_piece(network, -np.ones(2), np.ones(2)))
    steps = []
    monkeypatch.setattr("dcembed.bounds.box_parts.planes_within", lambda *a, **k: steps.append(a[5:]) or planes_within(*a, **k))
    cover._halves(cover.boxes, price, np.inf)
    # They are on trial alone.
    assert len(steps) == 5
    assert steps.count(()) == 4
    assert steps[-1] == ()
