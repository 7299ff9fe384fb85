"""A network on a box equals the network, and its split majorizes correctly there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from dcembed import build_mlp
from dcembed.network import batched_products as stacks
from dcembed.network import reduction
from dcembed.network.batched_products import of_boxes
from dcembed.network.bounds import bound
from dcembed.network.reduction import backpropagate_open, open_units, reduce, split_open
from dcembed.network.split import split
from strategies import networks, seeds

MODERATE = (0.1, 1.0, 3.0)


def boxes(network, seed, k=3, size=0.5):
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(k, network.num_inputs))
    radius = size * rng.random((k, network.num_inputs))
    return middle - radius, middle + radius, rng


def inside(lb, ub, rng):
    return lb + rng.random(lb.shape) * (ub - lb)


@given(networks(scales=MODERATE), seeds())
def test_on_its_box_the_reduced_network_is_the_network(network, seed):
    lb, ub, rng = boxes(network, seed)
    reduced = reduce(network, bound(network, lb, ub), 3)
    for _ in range(4):
        x = inside(lb, ub, rng)
        u = np.maximum(open_units(reduced, x), 0.0)
        f = np.einsum("kou,ku->ko", reduced.out_units, u) + np.einsum("kod,kd->ko", reduced.out_slope, x) + reduced.out_constant
        expected = network(x)
        # Dead units have biases of -1e9, whose rounding passes through.
        assert np.allclose(f, expected, rtol=1e-9, atol=1e-7 * (1 + np.abs(expected).max()))


@given(networks(scales=MODERATE), seeds())
def test_the_split_on_a_box_is_the_measurement_and_its_tangents_lie_below(network, seed):
    lb, ub, rng = boxes(network, seed)
    reduced = reduce(network, bound(network, lb, ub), 3)
    block = np.array([0, 1, 2, 0])
    nu = rng.normal(size=(4, network.num_outputs))
    convex, concave, slope, constant = split_open(reduced, block, nu)
    assert (convex >= 0).all()
    assert (concave >= 0).all()
    x, y = inside(lb, ub, rng), inside(lb, ub, rng)
    ux, uy = (np.maximum(open_units(reduced, p), 0.0)[block] for p in (x, y))
    g = (convex * ux).sum(axis=1) + (slope * x[block]).sum(axis=1) + constant
    h = (concave * ux).sum(axis=1)
    size = 1e-8 * (1 + np.abs(g) + np.abs(h))
    assert np.all(np.abs(g - h - (network(x)[block] * nu).sum(axis=1)) <= size)
    for weights in (convex, concave):
        for at_zero in (np.greater, np.greater_equal):
            active = at_zero(open_units(reduced, x)[block], 0.0)
            gradient = backpropagate_open(reduced, block, active, weights)
            tangent = (weights * ux).sum(axis=1) + (gradient * (y - x)[block]).sum(axis=1)
            room = 1e-8 * (1 + (weights * uy).sum(axis=1) + np.abs(tangent))
            assert np.all(tangent <= (weights * uy).sum(axis=1) + room)


@given(networks(scales=MODERATE), seeds())
def test_a_small_box_has_less_curvature_than_the_whole_space(network, seed):
    lb, ub, rng = boxes(network, seed, size=1e-3)
    reduced = reduce(network, bound(network, lb, ub), 3)
    nu = rng.normal(size=(3, network.num_outputs))
    convex, concave, _, _ = split_open(reduced, np.arange(3), nu)
    parts = split(network, nu)
    everything = sum((w.sum(axis=1) for w in (*parts.convex, *parts.concave)), np.zeros(3))
    assert np.all((convex + concave).sum(axis=1) <= everything * (1 + 1e-9) + 1e-9)


@given(networks(scales=MODERATE), seeds())
def test_one_box_at_a_time_gives_the_same_as_all_at_once(network, seed):
    lb, ub, rng = boxes(network, seed, k=5)
    block, nu = np.array([4, 1, 2, 3, 0, 3]), rng.normal(size=(6, network.num_outputs))
    results = []
    for entries in (1, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stacks, "CACHED_ENTRIES", entries)
            bounds = bound(network, lb, ub)
            reduced = reduce(network, bounds, 5)
            sides = [side for stage in bounds for side in stage]
            results.append([*sides, open_units(reduced, (lb + ub) / 2), *split_open(reduced, block, nu)])
    for one, other in zip(*results, strict=True):
        assert np.allclose(one, other, rtol=1e-9, atol=1e-9 * (1 + np.abs(other).max(initial=0.0)))


def test_boxes_that_stand_together_are_not_copied():
    values = np.arange(12.0).reshape(4, 3)
    assert np.shares_memory(of_boxes(values, np.array([1, 2])), values)
    for block in ([1, 2], [2, 1], [0, 0, 3], [0, 1, 2, 3], []):
        assert np.array_equal(of_boxes(values, np.array(block, dtype=int)), values[np.array(block, dtype=int)])


@pytest.mark.parametrize("entries", [1, 300])
@given(network=networks(scales=MODERATE), seed=seeds())
def test_a_stage_reduced_by_some_units_at_a_time_is_the_same(entries, network, seed):
    lb, ub, _ = boxes(network, seed)
    bounds = bound(network, lb, ub)
    whole = reduce(network, bounds, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reduction, "COMPOSED_ENTRIES", entries)
        pieced = reduce(network, bounds, 3)
    assert whole.stages == pieced.stages
    for name in ("alpha", "gamma", "out_units", "out_slope", "out_constant"):
        assert np.allclose(getattr(whole, name), getattr(pieced, name), rtol=1e-12, atol=1e-9)
    for one, other in zip(whole.links, pieced.links, strict=True):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-9)


def test_a_stage_without_units_is_no_obstacle():
    network = build_mlp([np.zeros((0, 2)), np.zeros((1, 0))], [None, [3.0]])
    reduced = reduce(network, bound(network, [[0.0, 0.0]], [[1.0, 1.0]]), 1)
    assert reduced.out_constant.tolist() == [[3.0]]
