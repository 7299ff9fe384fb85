"""Interval bounds contain every pre-activation."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp
from hypothesis import given

from dcembed import Network, build_mlp
from dcembed.network.affine import Affine
from dcembed.network.bounds import bound
from dcembed.network.network import preactivations
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
