"""Predictions measured along directions, and lines below them."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dcembed import build_mlp
from dcembed.network.along import measured_along, turned_along
from dcembed.network.bounds import bound, lower_lines
from dcembed.network.network import preactivations


def drawn(rng: np.random.Generator):
    sizes = (3, 5, 4, 2)
    weights = [rng.normal(size=(b, a)) for a, b in itertools.pairwise(sizes)]
    return build_mlp(weights, [rng.normal(size=b) for b in sizes[1:]])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_the_last_stage_has_the_measured_predictions(seed):
    rng = np.random.default_rng(seed)
    network, directions, points = drawn(rng), rng.normal(size=(3, 2)), rng.normal(size=(7, 3))
    expected = network(points) @ directions.T
    assert np.allclose(preactivations(measured_along(network, directions), points)[-1], expected)
    assert np.allclose(turned_along(network, directions)(points), expected)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_bounds_and_lines_stay_around_and_below(seed):
    rng = np.random.default_rng(seed)
    network, directions = drawn(rng), rng.normal(size=(3, 2))
    middle, radius = rng.normal(size=(4, 3)), rng.uniform(0.0, 1.0, (4, 3))
    low, high = bound(measured_along(network, directions), middle - radius, middle + radius)[-1]
    height, rise = lower_lines(turned_along(network, directions), middle - radius, middle + radius)
    for _ in range(30):
        share = rng.uniform(-1, 1, (4, 3))
        values = network(middle + share * radius) @ directions.T
        assert np.all((low <= values + 1e-9) & (values <= high + 1e-9))
        assert np.all(height + np.einsum("koj,kj->ko", rise, share) <= values + 1e-9)
