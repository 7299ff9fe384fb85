"""The difference-of-convex split, over random networks (theorems 4.1 and 4.2)."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from dcembed.network.backpropagation import backpropagate
from dcembed.network.network import evaluate, preactivations, units
from dcembed.network.split import Split, split
from strategies import networks, points, seeds


def components(network, parts: Split, x) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """G, H (k, D) and the size of the sums behind them, which rounding is measured against."""
    z = units(network, preactivations(network, x))
    affine = x @ parts.slope.T + parts.constant
    g = affine + sum((zl @ w.T for zl, w in zip(z, parts.convex, strict=True)), np.zeros_like(affine))
    h = sum((zl @ w.T for zl, w in zip(z, parts.concave, strict=True)), np.zeros_like(affine))
    size = 1 + np.abs(x) @ np.abs(parts.slope.T) + np.abs(parts.constant) + np.abs(g) + np.abs(h)
    return g, h, size * _condition(network, x)


def _condition(network, x) -> float:
    """How much larger than the units the sums inside the network are: cancellation costs that many digits."""
    sources = [np.abs(x), *(np.abs(z) for z in units(network, preactivations(network, x)))]
    worst = 1.0
    for stage in (*network.stages, network.output):
        total = np.abs(stage.bias) + sum((sources[s] @ np.abs(block).T for s, block in stage.weights.items()), np.zeros((1, 1)))
        worst = max(worst, float(np.max(total)))
    return worst


def measurements(network, seed, count=3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, network.num_outputs))


@given(networks(), seeds())
def test_the_components_differ_by_the_measurement(network, seed):
    x, nu = points(network, seed), measurements(network, seed)
    g, h, size = components(network, split(network, nu), x)
    assert np.all(np.abs(g - h - evaluate(network, x) @ nu.T) <= 1e-12 * size)


@given(networks(), seeds())
def test_unit_weights_are_nonnegative(network, seed):
    parts = split(network, measurements(network, seed))
    assert all((weight >= 0).all() for weight in (*parts.convex, *parts.concave))


@given(networks(), seeds())
def test_both_components_are_convex_along_segments(network, seed):
    parts = split(network, measurements(network, seed))
    one, other = points(network, seed), points(network, seed + 1)[::-1]
    for t in (0.25, 0.5, 0.9):
        values = [components(network, parts, p) for p in (one, other, (1 - t) * one + t * other)]
        size = 1e-12 * (values[0][2] + values[1][2])
        for c in (0, 1):
            assert np.all(values[2][c] <= (1 - t) * values[0][c] + t * values[1][c] + size)


@given(networks(), seeds())
def test_tangents_lie_below_also_where_units_are_at_a_kink(network, seed):
    parts = split(network, measurements(network, seed, 1))
    x, y = points(network, seed), points(network, seed + 1)
    a = preactivations(network, x)
    for c, weights in ((0, parts.convex), (1, parts.concave)):
        for at_zero in (False, True):
            active = [stage >= 0 if at_zero else stage > 0 for stage in a]
            gradient = backpropagate(network, active, [np.repeat(w, len(x), axis=0) for w in weights]) if a else np.zeros_like(x)
            if c == 0:
                gradient = gradient + parts.slope
            value, other = components(network, parts, x), components(network, parts, y)
            tangent = value[c][:, 0] + ((y - x) * gradient).sum(axis=1)
            size = value[2][:, 0] + other[2][:, 0] + np.abs((y - x) * gradient).sum(axis=1)
            assert np.all(tangent <= other[c][:, 0] + 1e-11 * size)


@given(networks(scales=(1.0,)), seeds())
def test_the_gradient_is_that_of_the_linear_piece(network, seed):
    parts = split(network, measurements(network, seed, 1))
    x = np.random.default_rng(seed).normal(size=(1, network.num_inputs))
    a = preactivations(network, x)
    if not a or min(np.abs(stage).min() for stage in a) < 1e-3:
        return
    gradient = backpropagate(network, [stage > 0 for stage in a], list(parts.concave))
    step = 1e-7 * np.eye(network.num_inputs)
    change = (components(network, parts, x + step)[1] - components(network, parts, x)[1])[:, 0] / 1e-7
    assert np.allclose(change, gradient[0], rtol=1e-4, atol=1e-4 * (1 + np.abs(gradient).max()))


def test_the_components_of_a_plain_network_are_the_papers():
    # One measurement of a network 1 -> 2 -> 2 -> 1, worked out by hand from equations (6) and (7).
    from dcembed import build_mlp

    network = build_mlp([[[1.0], [-1.0]], [[2.0, -3.0], [-1.0, 4.0]], [[5.0, -6.0]]], [[0.0, 0.5], [0.0, 0.0], [7.0]])
    parts = split(network, [[1.0]])
    rho = np.array([5.0, 6.0])
    c = np.array([[0.0, 3.0], [1.0, 0.0]]).T @ rho
    assert np.allclose(parts.convex[0], c)
    assert np.allclose(parts.concave[0], c)
    assert np.allclose(parts.convex[1], [5.0, 0.0])
    assert np.allclose(parts.concave[1], [0.0, 6.0])
    assert parts.constant == 7.0
