"""Interval bounds contain every pre-activation."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from dcembed import build_mlp
from dcembed.network.bounds import bound
from dcembed.network.evaluate import preactivations
from strategies import networks, seeds


@given(networks(), seeds())
def test_bounds_contain_sampled_preactivations(network, seed):
    rng = np.random.default_rng(seed)
    lb = rng.normal(size=(3, network.num_inputs))
    ub = lb + rng.exponential(size=lb.shape)
    boxes = bound(network, lb, ub)
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
