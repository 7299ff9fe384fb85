"""Networks of all activations: bounds, the form with convex units, the split on the whole space and on boxes, second derivatives, files."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.errors import InputError, NetworkError
from dcembed.network import NetworkBuilder
from dcembed.network.activations import RELU, activation_from, find_activation
from dcembed.network.activations.parts import is_convex_unit
from dcembed.network.backpropagation import backpropagate
from dcembed.network.bounds import bound, lower_lines
from dcembed.network.convex_form import convex_form
from dcembed.network.curvature import hessians
from dcembed.network.network import Network, preactivations, units
from dcembed.network.reduction import backpropagate_open, open_slopes, open_units, open_values, reduce, split_open
from dcembed.network.split import measure, split
from network.smooth_networks import NETWORKS, STEEP, layered

SIZES = (1e-3, 0.1, 1.0, 3.0)


def each(function):
    return pytest.mark.parametrize("name", NETWORKS)(function)


def boxes(number=12, seed=0):
    rng = np.random.default_rng(seed)
    middle = rng.standard_normal((number, 3))
    radius = np.resize(SIZES, number)[:, None] * rng.uniform(0.2, 1.0, (number, 3))
    return middle - radius, middle + radius


def points_in(low, high, number=50, seed=1):
    """Shape (number, boxes, inputs)."""
    return low + (high - low) * np.random.default_rng(seed).uniform(size=(number, *low.shape))


@each
def test_pre_activations_stay_in_their_bounds(name):
    network = NETWORKS[name]
    low, high = boxes()
    inside = points_in(low, high)
    reached = preactivations(network, inside.reshape(-1, 3))
    for (least, most), stage in zip(bound(network, low, high), reached, strict=True):
        values = stage.reshape(*inside.shape[:2], -1)
        room = 1e-9 * (1.0 + np.abs(values))
        assert (values >= least - room).all()
        assert (values <= most + room).all()


@each
def test_bounds_shrink_with_the_box(name):
    network = NETWORKS[name]
    middle = np.random.default_rng(3).standard_normal((5, 3))
    spread = [sum(float((most - least).sum()) for least, most in bound(network, middle - r, middle + r)) for r in (1e-1, 1e-3, 1e-5)]
    # To first order with the box: bounds by lines lose nothing there.
    assert spread[1] <= 0.05 * spread[0]
    assert spread[2] <= 0.011 * spread[1]


@each
def test_lines_below_the_predictions(name):
    network = NETWORKS[name]
    low, high = boxes()
    value, rise = lower_lines(network, low, high)
    inside = points_in(low, high)
    share = (inside - 0.5 * (low + high)) / (0.5 * (high - low))
    line = value + np.einsum("koi,pki->pko", rise, share)
    predicted = network(inside.reshape(-1, 3)).reshape(line.shape)
    assert (line <= predicted + 1e-9 * (1.0 + np.abs(predicted) + np.abs(line))).all()


@each
def test_the_convex_form_is_the_same_function_of_convex_units(name):
    network = NETWORKS[name]
    form = convex_form(network)
    assert all(is_convex_unit(activation) for activation in form.network.activations)
    points = np.random.default_rng(5).standard_normal((200, 3))
    expected = network(points)
    np.testing.assert_allclose(form.network(points), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    reached = preactivations(network, points)
    for (stage, sign), own in zip(form.origin, preactivations(form.network, points), strict=True):
        np.testing.assert_allclose(own, sign * reached[stage], rtol=1e-8, atol=1e-8 * (1.0 + np.abs(own).max()))


def test_networks_of_relu_units_are_in_convex_form_already():
    network = NETWORKS["relu"]
    assert convex_form(network).network is network


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in (*STEEP, "mixed")])
def test_the_split_on_the_whole_space(name):
    network = NETWORKS[name]
    form = convex_form(network).network
    nu = np.random.default_rng(7).standard_normal((3, 2))
    parts = split(form, nu)
    assert all((weight >= 0).all() for weight in (*parts.convex, *parts.concave))

    def components(x):
        z = units(form, preactivations(form, x))
        g = x @ parts.slope.T + parts.constant + sum(zl @ w.T for zl, w in zip(z, parts.convex, strict=True))
        return g, sum(zl @ w.T for zl, w in zip(z, parts.concave, strict=True))

    rng = np.random.default_rng(8)
    one, other, share = rng.standard_normal((100, 3)) * 2, rng.standard_normal((100, 3)) * 2, rng.uniform(size=(100, 1))
    ends, far, middle = components(one), components(other), components(share * one + (1 - share) * other)
    np.testing.assert_allclose(ends[0] - ends[1], network(one) @ nu.T, atol=1e-8 * (1.0 + np.abs(ends[0]).max()))
    for left, right, between in zip(ends, far, middle, strict=True):
        assert (between <= share * left + (1 - share) * right + 1e-9 * (1.0 + np.abs(left) + np.abs(right))).all()
    # Tangents lie below.
    slopes = [activation.slope(a) for activation, a in zip(form.activations, preactivations(form, one), strict=True)]
    gradient = backpropagate(form, slopes, [np.broadcast_to(weight[0], (100, weight.shape[1])) for weight in parts.concave])
    tangent = ends[1][:, 0] + np.einsum("ki,ki->k", gradient, other - one)
    assert (tangent <= far[1][:, 0] + 1e-8 * (1.0 + np.abs(far[1][:, 0]) + np.abs(tangent))).all()


@pytest.mark.parametrize("name", STEEP)
def test_units_that_grow_faster_than_any_line_have_no_split_on_the_whole_space(name):
    with pytest.raises(NetworkError, match=r'grows faster than any line.*decomposition="local"'):
        split(convex_form(NETWORKS[name]).network, np.eye(2))


@each
def test_the_split_on_a_box_is_exact_there_and_convex(name):
    network = NETWORKS[name]
    low, high = boxes()
    k = low.shape[0]
    form = convex_form(network)
    reduced = reduce(form.network, form.bounds(bound(network, low, high)), k)
    block, nu = np.arange(k), np.random.default_rng(9).standard_normal((k, 2))
    convex, concave, slope, constant = split_open(reduced, block, nu)
    assert (convex >= 0).all()
    assert (concave >= 0).all()

    def components(x):
        """G and H in each box at one point of it."""
        u = open_values(reduced, open_units(reduced, x))
        assert (u <= reduced.largest + 1e-9 * (1.0 + reduced.largest)).all()
        return np.einsum("ki,ki->k", slope, x) + constant + (convex * u).sum(axis=1), (concave * u).sum(axis=1)

    inside, others = points_in(low, high, 20), points_in(low, high, 20, seed=2)
    for x, y in zip(inside, others, strict=True):
        near, far, between = components(x), components(y), components(0.5 * (x + y))
        size = 1.0 + np.abs(near[0]) + np.abs(near[1]) + np.abs(far[0]) + np.abs(far[1])
        np.testing.assert_array_less(np.abs(near[0] - near[1] - np.einsum("ko,ko->k", nu, network(x))), 1e-9 * size)
        for at, there, middle, weights in ((near[0], far[0], between[0], None), (near[1], far[1], between[1], concave)):
            assert (middle <= 0.5 * (at + there) + 1e-9 * size).all()
            if weights is not None:
                before = open_units(reduced, x)
                gradient = backpropagate_open(reduced, block, open_slopes(reduced, before, lambda a: a >= 0), weights)
                assert (at + np.einsum("ki,ki->k", gradient, y - x) <= there + 1e-9 * size).all()


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "relu"])
def test_what_is_bent_on_a_box_shrinks_with_it(name):
    network = NETWORKS[name]
    form, middle = convex_form(network), np.random.default_rng(11).standard_normal((4, 3))
    curved = []
    for radius in (1e-1, 1e-3):
        reduced = reduce(form.network, form.bounds(bound(network, middle - radius, middle + radius)), 4)
        convex, concave, _, _ = split_open(reduced, np.arange(4), np.ones((4, 2)))
        curved.append(((convex + concave) * reduced.largest).sum())
    # The square of the radius where all is smooth; kinks of ReLU units may be anywhere.
    assert curved[1] <= (2e-4 if name != "mixed" else 2e-2) * curved[0]


@each
def test_second_derivatives(name):
    network = NETWORKS[name]
    if any(activation == RELU or activation.name == "hardswish" for activation in network.activations):
        pytest.skip("kinks may be anywhere")
    rng = np.random.default_rng(12)
    points, nu, step = 0.7 * rng.standard_normal((5, 3)), rng.standard_normal((5, 2)), 1e-5

    def gradient(x):
        before = preactivations(network, x)
        direct, slope, _ = measure(network, nu)
        slopes = [activation.slope(a) for activation, a in zip(network.activations, before, strict=True)]
        return backpropagate(network, slopes, direct) + slope

    numerical = np.stack([(gradient(points + step * e) - gradient(points - step * e)) / (2 * step) for e in np.eye(3)], axis=2)
    exact = hessians(network, points, nu)
    np.testing.assert_allclose(exact, numerical, atol=1e-6 * (1.0 + np.abs(exact).max()))
    np.testing.assert_allclose(exact, exact.transpose(0, 2, 1), atol=1e-10 * (1.0 + np.abs(exact).max()))


@each
def test_files_keep_activations(name, tmp_path):
    network = NETWORKS[name]
    dcembed.save_network(network, tmp_path / "network.npz")
    again = dcembed.load_network(tmp_path / "network.npz")
    assert again.activations == network.activations
    points = np.random.default_rng(13).standard_normal((20, 3))
    np.testing.assert_array_equal(again(points), network(points))


def test_an_activation_of_the_users_own_is_not_written_to_files(tmp_path):
    bent = activation_from("bent", lambda a: np.sqrt(a * a + 1) + a, lambda a: a / np.sqrt(a * a + 1) + 1)
    with pytest.raises(InputError, match="keeps activations by their names, and 'bent"):
        dcembed.save_network(layered(bent), tmp_path / "network.npz")


def test_activations_are_shown_and_counted():
    network = NETWORKS["tanh"]
    assert repr(network) == "Network(3 inputs -> 6 tanh -> 5 tanh -> 4 tanh -> 2 outputs)"
    assert not network.is_piecewise_linear
    with pytest.raises(NetworkError, match="has 3 stages, but 2 activations"):
        Network(3, network.stages, network.output, activations=network.activations[:2])
    with pytest.raises(InputError):
        NetworkBuilder((3,)).activate(NetworkBuilder((3,)).input, "tanh")


@pytest.mark.parametrize(("name", "version"), [("relu", 1), ("tanh", 2)])
def test_earlier_versions_read_what_has_relu_units_alone(name, version, tmp_path):
    dcembed.save_network(NETWORKS[name], tmp_path / "network.npz")
    with np.load(tmp_path / "network.npz") as archive:
        assert archive["dcembed_format"] == version
        assert any(key.endswith(".activation") for key in archive) == (version == 2)
    assert dcembed.load_network(tmp_path / "network.npz").activations == NETWORKS[name].activations


@pytest.mark.parametrize("given", ["tanh", find_activation("tanh")])
def test_layers_by_hand_have_the_activation_they_are_given(given):
    network = dcembed.build_mlp([[[1.0], [-2.0]], [[1.0, 3.0]]], [None, [0.5]], activation=given)
    np.testing.assert_allclose(network([[0.3]]), [[np.tanh(0.3) + 3 * np.tanh(-0.6) + 0.5]])


def test_a_name_that_no_activation_has_is_answered_with_those_that_there_are():
    with pytest.raises(dcembed.DcembedError, match=r"no activation 'tan'\. Known are relu, softplus"):
        dcembed.build_mlp([[[1.0]], [[1.0]]], [None, None], activation="tan")
