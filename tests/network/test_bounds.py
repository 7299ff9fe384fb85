"""Bounds contain every pre-activation, whichever way they run."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from dcembed import Network, NetworkBuilder, build_mlp
from dcembed.network import bounds
from dcembed.network.activations import find_activation
from dcembed.network.affine import Affine
from dcembed.network.bounds import bound, runs_backward
from dcembed.network.network import preactivations
from strategies import networks, seeds

WAYS = (bounds._bound_forward, bounds._bound_backward)


def draw_boxes(network, rng):
    lb = rng.normal(size=(3, network.num_inputs))
    return lb, lb + rng.exponential(size=lb.shape)


def random_mlp(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return build_mlp([rng.normal(size=(b, a)) / np.sqrt(a) for a, b in itertools.pairwise(sizes)], [None] * (len(sizes) - 1))


@pytest.mark.parametrize("way", WAYS)
@given(network=networks(), seed=seeds())
def test_bounds_contain_sampled_preactivations(way, network, seed):
    rng = np.random.default_rng(seed)
    lb, ub = draw_boxes(network, rng)
    boxes = way(network, lb, ub, bounds.go_on)
    for _ in range(5):
        x = lb + rng.random(lb.shape) * (ub - lb)
        for a, (low, high) in zip(preactivations(network, x), boxes, strict=True):
            room = 1e-9 * (1 + np.abs(low) + np.abs(high))
            assert np.all(low - room <= a)
            assert np.all(a <= high + room)


def test_an_infinite_side_reaches_only_the_units_that_use_it():
    network = build_mlp([[[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]], [[1.0, 1.0, 1.0]]], [np.zeros(3), None])
    low, high = bound(network, np.array([[0.0, -1.0]]), np.array([[np.inf, 1.0]]))[0]
    assert np.array_equal(high, [[np.inf, 1.0, 1.0]])
    assert np.array_equal(low, [[0.0, -1.0, -np.inf]])


def test_sparse_blocks_have_the_bounds_of_dense_ones():
    """A deep network whose blocks are stored sparse, as a convolution's are."""
    rng = np.random.default_rng(7)
    sizes = (10, 30, 30, 30, 30, 1)
    weights = [rng.normal(size=(b, a)) * (rng.random((b, a)) < 0.1) for a, b in itertools.pairwise(sizes)]
    sparse = Network(
        10,
        tuple(Affine({index: sp.csr_array(weight)}, np.full(weight.shape[0], 0.1)) for index, weight in enumerate(weights[:-1])),
        Affine({4: sp.csr_array(weights[-1])}, np.full(1, 0.1)),
    )
    dense = build_mlp(weights, [np.full(weight.shape[0], 0.1) for weight in weights])
    assert sp.issparse(sparse.stages[1].weights[1])
    lb, ub = -np.ones((3, 10)), np.ones((3, 10))
    for (low, high), (low_, high_) in zip(bound(sparse, lb, ub), bound(dense, lb, ub), strict=True):
        assert np.allclose(low, low_)
        assert np.allclose(high, high_)


@given(networks(), seeds())
def test_backward_bounds_are_never_looser_than_intervals(network, seed):
    lb, ub = draw_boxes(network, np.random.default_rng(seed))
    backward = bounds._bound_backward(network, lb, ub, bounds.go_on)
    for (low, high), (low_, high_) in zip(backward, bounds._bound_by_intervals(network, lb, ub), strict=True):
        room = 1e-9 * (1 + np.abs(low_) + np.abs(high_))
        assert np.all(low >= low_ - room)
        assert np.all(high <= high_ + room)


def test_bounds_run_backward_where_inputs_are_many():
    assert runs_backward(random_mlp((200, 20, 20, 20, 1)))
    assert not runs_backward(random_mlp((5, 20, 20, 20, 1)))
    assert not runs_backward(random_mlp((5, 64, 64, 64, 64, 64, 64, 1)))


def test_many_inputs_are_not_carried_along(monkeypatch):
    """The way that was counted to be cheaper is the one taken, and it leaves no more units open."""
    network = random_mlp((200, 20, 20, 20, 1))
    lb, ub = -np.full((1, 200), 0.01), np.full((1, 200), 0.01)
    forward = bounds._bound_forward(network, lb, ub, bounds.go_on)
    monkeypatch.setattr(bounds, "_push", None)
    backward = bound(network, lb, ub)
    for (low, high), (low_, high_) in zip(backward, forward, strict=True):
        assert np.sum((low < 0) & (high > 0)) <= np.sum((low_ < 0) & (high_ > 0))


@pytest.mark.parametrize("sizes", [(200, 20, 20, 20, 1), (2, 20, 20, 20, 20, 20, 1)])
def test_a_check_that_raises_ends_the_bounds(sizes):
    class Enough(Exception):
        pass

    asked = []

    def check():
        asked.append(True)
        if len(asked) == 3:
            raise Enough

    network = random_mlp(sizes)
    with pytest.raises(Enough):
        bound(network, np.full(sizes[0], -1.0), np.full(sizes[0], 1.0), check)
    assert len(asked) == 3


def test_without_units_there_is_nothing_to_bound():
    assert bound(build_mlp([[[1.0, 2.0]]], [None]), [[0.0, 0.0]], [[1.0, 1.0]]) == []


def test_many_inputs_take_memory_for_the_units_alone():
    network = random_mlp((1500, 30, 30, 30, 1))
    tracemalloc.start()
    bound(network, np.full(1500, -0.01), np.full(1500, 0.01))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The lines of the inputs alone, one for each in all of them, would be 18 MB.
    assert peak < 5e6


def test_what_overflows_has_no_bounds_rather_than_wrong_ones():
    builder = NetworkBuilder((1,))
    grown = builder.activate(builder.activate(builder.input, find_activation("exp")), find_activation("exp"))
    both = builder.add(grown, builder.scale(builder.activate(grown, find_activation("square")), -1.0))
    network = builder.finish(builder.activate(builder.activate(both, find_activation("tanh")), find_activation("relu")))
    points = np.linspace(-400.0, 400.0, 801)[:, None]
    with np.errstate(all="ignore"):
        reached = preactivations(network, points)
    for (low, high), values in zip(bound(network, [[-400.0]], [[400.0]]), reached, strict=True):
        known = values[np.isfinite(values).all(axis=1)]
        assert not np.isnan([low, high]).any()
        assert (low <= known + 1e-9).all()
        assert (known <= high + 1e-9).all()
