"""Planes lie below predictions, in floating point and everywhere in their boxes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dcembed import Network, build_mlp
from dcembed.errors import InputError
from dcembed.network.affine import Affine
from dcembed.network.bounds import _bound_by_intervals
from dcembed.network.network import preactivations
from dcembed.network.planes import lower_planes, lowest, planes_within
from dcembed.network.safe_bounds import bound_safely
from dcembed.network.zonotopes import REMEMBERED
from network.smooth_networks import NETWORKS
from network.test_bounds import random_mlp
from strategies import networks, seeds

each = pytest.mark.parametrize("name", NETWORKS)


def draw_boxes(num_inputs, rng, k=5):
    """Of all sizes: wide ones, small ones, one that is a point, and one far out that is flat in one direction."""
    middle = rng.normal(size=(k, num_inputs))
    radius = np.array([2.0, 0.3, 0.02, 0.0, 1.0])[:k, None] * rng.random((k, num_inputs))
    middle[-1] *= 10.0
    radius[-1, 0] = 0.0
    return middle - radius, middle + radius


def points_in(lb, ub, rng, num=300):
    """Points (num, k, d) in each box: its vertices, as far as they are few, and others."""
    d = lb.shape[1]
    shares = np.array(list(itertools.product((0.0, 1.0), repeat=d))) if d <= 4 else rng.integers(0, 2, size=(20, d)).astype(float)
    shares = np.concatenate([shares, rng.random((num, d))])
    return np.clip(lb + shares[:, None, :] * (ub - lb), lb, ub)


def values(network, points, weights):
    """F at points (p, k, d) for weights (k, q, n_out): shape (p, k, q)."""
    p, k, d = points.shape
    return np.einsum("kqo,pko->pkq", weights, network(points.reshape(-1, d)).reshape(p, k, -1))


def heights(planes, points):
    return np.einsum("kqd,pkd->pkq", planes.slope, points) + planes.constant


def check_below(network, lb, ub, weights, rng, **settings):
    planes = lower_planes(network, weights, lb, ub, **settings)
    points = points_in(lb, ub, rng)
    found = values(network, points, weights)
    assert (heights(planes, points) <= found).all()
    assert (lowest(planes, lb, ub) <= found.min(axis=0)).all()
    return planes, found


@each
def test_planes_lie_below_predictions_of_every_activation(name):
    rng = np.random.default_rng(1)
    lb, ub = draw_boxes(3, rng)
    planes, found = check_below(NETWORKS[name], lb, ub, rng.normal(size=(5, 3, 2)), rng)
    # In a point there is nothing to lose.
    room = 1e-9 * (1.0 + np.abs(found[:, 3]))
    assert (lowest(planes, lb, ub)[3] >= found[:, 3].max(axis=0) - room).all()


@given(network=networks(), seed=seeds(), scale=st.sampled_from((1e-200, 1e-8, 1.0, 1e8, 1e200)))
def test_planes_lie_below_predictions_of_extreme_networks(network, seed, scale):
    rng = np.random.default_rng(seed)
    lb, ub = draw_boxes(network.num_inputs, rng)
    check_below(network, lb, ub, scale * rng.normal(size=(5, 2, network.num_outputs)), rng)


@each
@pytest.mark.parametrize("width", [3.0, 0.3])
def test_chosen_lines_are_below_and_never_worse_than_those_to_begin_with(name, width):
    network, rng = NETWORKS[name], np.random.default_rng(9)
    lb = rng.normal(size=(20, 3)) - width / 2
    weights = rng.normal(size=(20, 2, 2))
    before, after = (lowest(check_below(network, lb, lb + width, weights, rng, steps=steps)[0], lb, lb + width) for steps in (0, 5))
    room = 1e-12 * (1.0 + np.abs(before))
    assert (after >= before - room).all()
    # Where a line can be chosen it is worth it; of units with a period, and across the break of a logarithm, none can.
    assert name in ("sin", "log") or (after > before + room).any()


@pytest.mark.parametrize("width", [2.0, 0.5])
def test_a_few_steps_gain_much_of_what_can_be_gained(width):
    network = random_mlp((3, 20, 20, 20, 1))
    lb = np.random.default_rng(10).normal(size=(40, 3))
    few, many, none = (
        lowest(lower_planes(network, np.ones((40, 1)), lb, lb + width, steps=steps), lb, lb + width).mean() for steps in (3, 50, 0)
    )
    assert none < few <= many + 1e-9
    assert few - none > 0.6 * (many - none)


@each
def test_a_plane_is_lifted_where_a_tilt_has_it_lowest(name):
    network, rng, width = NETWORKS[name], np.random.default_rng(11), 1.0
    lb = rng.normal(size=(30, 3)) - width / 2
    weights, tilt = rng.normal(size=(30, 2, 2)), 5.0 * rng.normal(size=(30, 2, 3))
    found = (
        check_below(network, lb, lb + width, weights, rng, **settings)[0] for settings in ({}, {"steps": 3}, {"steps": 3, "tilt": tilt})
    )
    plain, straight, tilted = (lowest(replace(planes, slope=planes.slope + tilt), lb, lb + width) for planes in found)
    assert (tilted >= plain - 1e-12 * (1.0 + np.abs(plain))).all()
    # Lifted for itself a plane is not higher there in the mean.
    assert tilted.mean() >= straight.mean()


@given(network=networks(), seed=seeds())
def test_chosen_lines_of_extreme_networks(network, seed):
    rng = np.random.default_rng(seed)
    lb, ub = draw_boxes(network.num_inputs, rng)
    check_below(network, lb, ub, rng.normal(size=(5, 2, network.num_outputs)), rng, steps=2, tight=True)


def test_the_best_line_of_one_unit_is_found():
    """Above max(x + 1, 0) - x / 2 on [-2, 2] the best line is level, of slope 1 / 2 in the unit; to begin with it has slope 1."""
    network = Network(1, (Affine({0: np.ones((1, 1))}, np.ones(1)),), Affine({0: np.array([[-0.5]]), 1: np.ones((1, 1))}, np.zeros(1)))
    lb, ub = np.array([[-2.0]]), np.array([[2.0]])
    start, found = (lowest(lower_planes(network, [[1.0]], lb, ub, steps=steps), lb, ub).item() for steps in (0, 30))
    assert start == pytest.approx(0.0, abs=1e-9)
    assert found == pytest.approx(0.5, abs=0.02)


@given(network=networks(), seed=seeds())
def test_bounds_hold_without_any_room(network, seed):
    rng = np.random.default_rng(seed)
    lb, ub = draw_boxes(network.num_inputs, rng)
    points = points_in(lb, ub, rng, num=30)
    bounds = bound_safely(network, lb, ub)
    for reached, (low, high) in zip(preactivations(network, points.reshape(-1, network.num_inputs)), bounds, strict=True):
        reached = reached.reshape(*points.shape[:2], -1)
        assert (low <= reached).all()
        assert (reached <= high).all()


@each
def test_bounds_of_every_activation_hold(name):
    rng = np.random.default_rng(2)
    lb, ub = draw_boxes(3, rng)
    points = points_in(lb, ub, rng)
    bounds = bound_safely(NETWORKS[name], lb, ub)
    for reached, (low, high) in zip(preactivations(NETWORKS[name], points.reshape(-1, 3)), bounds, strict=True):
        reached = reached.reshape(*points.shape[:2], -1)
        assert (low <= reached).all()
        assert (reached <= high).all()


@pytest.mark.parametrize("width", [2.0, 0.5, 0.1])
@pytest.mark.parametrize("sizes", [(3, 20, 20, 20, 1), (50, 20, 20, 1)])
def test_bounds_are_tighter_than_intervals(sizes, width):
    """Lines remember where values come from; in all but odd networks that is worth more than what they lose."""
    network = random_mlp(sizes)
    lb = np.random.default_rng(8).normal(size=(5, sizes[0]))
    intervals = _bound_by_intervals(network, lb, lb + width)
    for (low, high), (low_, high_) in list(zip(bound_safely(network, lb, lb + width), intervals, strict=True))[1:]:
        assert (high - low).mean() < 0.9 * (high_ - low_).mean()


def test_planes_are_exact_where_all_units_are_settled():
    network = random_mlp((4, 20, 20, 20, 2))
    rng = np.random.default_rng(3)
    middle = rng.normal(size=(50, 4))
    lb, ub = middle - 1e-7, middle + 1e-7
    settled = np.array([((low > 0) | (high < 0)).all(axis=1) for low, high in bound_safely(network, lb, ub)]).all(axis=0)
    assert settled.sum() > 40
    weights = rng.normal(size=(50, 1, 2))
    planes = lower_planes(network, weights, lb, ub)
    points = points_in(lb, ub, rng, num=20)
    gap = values(network, points, weights) - heights(planes, points)
    assert np.abs(gap[:, settled]).max() < 1e-12


def test_sparse_blocks_and_skips_have_the_planes_of_dense_ones():
    rng = np.random.default_rng(7)
    sizes = (6, 30, 30, 30, 2)
    dense = [rng.normal(size=(b, a)) * (rng.random((b, a)) < 0.1) for a, b in itertools.pairwise(sizes)]
    skip = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.1)
    made = [
        Network(
            6,
            tuple(
                Affine({index: kind(weight)} | ({0: kind(skip)} if index == 2 else {}), np.full(30, 0.1))
                for index, weight in enumerate(dense[:-1])
            ),
            Affine({3: kind(dense[-1]), 0: kind(rng.normal(size=(2, 6)) * 0.0)}, np.full(2, 0.1)),
        )
        for kind in (sp.csr_array, lambda block: block)
    ]
    assert sp.issparse(made[0].stages[1].weights[1])
    lb, ub = draw_boxes(6, rng)
    weights = rng.normal(size=(5, 2, 2))
    one, other = (check_below(network, lb, ub, weights, rng)[0] for network in made)
    np.testing.assert_allclose(one.slope, other.slope, atol=1e-9)
    np.testing.assert_allclose(one.constant, other.constant, atol=1e-9)


def test_branches_beside_one_another_are_told_apart():
    """What is not known of max(x, 0), up to 0.5 besides x / 2, is not what is not known of max(y, 0), though both stages see the input alone."""
    branches = [Affine({0: np.eye(2)[[index]]}, np.zeros(1)) for index in range(2)]
    joined = Affine({0: np.array([[-0.5, 0.5]]), 1: np.array([[1.0]]), 2: np.array([[-1.0]])}, np.zeros(1))
    network = Network(2, (*branches, joined), Affine({3: np.ones((1, 1))}, np.zeros(1)))
    low, high = bound_safely(network, [[-1.0, -1.0]], [[1.0, 1.0]])[2]
    assert -0.5 - 1e-9 < low.item() < -0.5 < 0.5 < high.item() < 0.5 + 1e-9


def test_units_beyond_those_that_are_remembered_count():
    """Of 40 units max(x, 0) on [-1, 1] the sum less 20 x is 20 |x|; more of them are open than a stage remembers."""
    assert REMEMBERED < 40
    many = Affine({0: np.ones((40, 1))}, np.zeros(40))
    network = Network(
        1, (many, Affine({0: np.array([[-20.0]]), 1: np.ones((1, 40))}, np.zeros(1))), Affine({2: np.ones((1, 1))}, np.zeros(1))
    )
    low, high = bound_safely(network, [[-1.0]], [[1.0]])[1]
    assert low.item() < 0.0
    assert 20.0 < high.item() < 20.0 + 1e-9


@pytest.mark.parametrize("tight", [False, True])
def test_what_is_rounded_where_large_units_cancel_is_made_good(tight):
    """Units of about 1e8, all on, of which the second stage takes differences of about 1: what is rounded there is 1e-8, and not of the output."""
    rng = np.random.default_rng(11)
    first = rng.normal(size=(6, 4))
    pairs = rng.normal(size=(5, 3))
    stages = (Affine({0: first}, np.full(6, 1e8)), Affine({1: np.concatenate([pairs, -pairs], axis=1)}, np.full(5, 3.0)))
    network = Network(4, stages, Affine({2: rng.normal(size=(1, 5))}, np.zeros(1)))
    points = rng.normal(size=(300, 4))
    low, high = bound_safely(network, points, points, tight=tight)[1]
    reached = preactivations(network, points)[1]
    assert (low <= reached).all()
    assert (reached <= high).all()
    ones = np.ones((300, 1, 1))
    planes = lower_planes(network, ones, points, points, tight=tight)
    assert (heights(planes, points[None]) <= values(network, points[None], ones)).all()


def test_many_inputs_are_not_carried_along():
    network = random_mlp((200, 20, 20, 20, 1))
    rng = np.random.default_rng(4)
    middle = rng.normal(size=(3, 200))
    check_below(network, middle - 0.02, middle + 0.02, np.ones((3, 1, 1)), rng)


def test_bounds_of_a_larger_box_are_kept_and_help():
    network = random_mlp((3, 20, 20, 20, 20, 1))
    lb, ub = np.full((1, 3), -1.0), np.full((1, 3), 1.0)
    outer = bound_safely(network, lb, ub)
    claimed = [(np.maximum(low, -0.1), np.minimum(high, 0.1)) for low, high in outer]
    for (low, high), (low_, high_) in zip(bound_safely(network, lb, ub, claimed), claimed, strict=True):
        assert (low >= low_).all()
        assert (high <= high_).all()
    free, helped = (lowest(lower_planes(network, [[1.0]], lb, ub, bounds), lb, ub).item() for bounds in (None, claimed))
    assert helped > free


@pytest.mark.parametrize("steps", [0, 3])
def test_one_function_is_a_row_of_several(steps):
    network = random_mlp((3, 20, 20, 4))
    rng = np.random.default_rng(5)
    lb, ub = draw_boxes(3, rng)
    weights = rng.normal(size=(5, 3, 4))
    bounds = bound_safely(network, lb, ub)
    several = planes_within(network, weights, lb, ub, bounds, steps)
    for index in range(3):
        one = planes_within(network, weights[:, index], lb, ub, bounds, steps)
        np.testing.assert_allclose(one.slope[:, 0], several.slope[:, index], atol=1e-12)
        np.testing.assert_allclose(one.constant[:, 0], several.constant[:, index], atol=1e-12)


def test_batches_give_what_boxes_give_alone():
    """Boxes are worked on in chunks, and their open units are gathered from all of them."""
    network = random_mlp((3, 30, 30, 30, 1))
    rng = np.random.default_rng(6)
    middle, radius = rng.normal(size=(700, 3)), rng.exponential(size=(700, 3)) * 0.2
    lb, ub = middle - radius, middle + radius
    planes = lower_planes(network, np.ones((700, 1)), lb, ub)
    for box in (0, 350, 699):
        alone = lower_planes(network, [[1.0]], lb[[box]], ub[[box]])
        np.testing.assert_allclose(planes.slope[box], alone.slope[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(planes.constant[box], alone.constant[0], rtol=1e-9, atol=1e-9)


def test_what_overflows_is_said_to_be_unknown():
    network = build_mlp([np.full((3, 2), 1e200), np.full((3, 3), 1e200), np.ones((1, 3))], [None, None, None])
    planes = lower_planes(network, [[-1.0]], [[-1.0, -1.0]], [[1.0, 1.0]])
    assert planes.constant.item() == -np.inf
    assert not planes.slope.any()
    assert lowest(planes, np.array([[-1.0, -1.0]]), np.array([[1.0, 1.0]])).item() == -np.inf


def test_no_boxes_and_no_units_are_no_trouble():
    network = random_mlp((3, 5, 2))
    planes = lower_planes(network, np.ones((0, 2)), np.zeros((0, 3)), np.ones((0, 3)), steps=2, tight=True)
    assert planes.slope.shape == (0, 1, 3)
    linear = build_mlp([[[1.0, -2.0]]], [[3.0]])
    planes = lower_planes(linear, [[-1.0]], [[0.0, 0.0]], [[1.0, 1.0]], steps=2, tight=True)
    np.testing.assert_allclose(planes.slope, [[[-1.0, 2.0]]])
    np.testing.assert_allclose(planes.constant, [[-3.0]])


@pytest.mark.parametrize("end", [np.inf, 1e200])
def test_endless_boxes_bound_nothing_and_spare_the_others(end):
    network = random_mlp((2, 10, 10, 1))
    lb, ub = np.array([[-1.0, -end], [-1.0, -1.0]]), np.array([[1.0, end], [1.0, 1.0]])
    planes = lower_planes(network, -np.ones((2, 1)), lb, ub, steps=2)
    alone = lower_planes(network, [[-1.0]], lb[1:], ub[1:], steps=2)
    assert not np.isnan(planes.constant).any()
    assert lowest(planes, lb, ub)[0, 0] < -1e100 or lowest(planes, lb, ub)[0, 0] == -np.inf
    np.testing.assert_allclose(planes.constant[1], alone.constant[0])


def test_weights_of_another_shape_are_refused():
    network = random_mlp((3, 5, 2))
    with pytest.raises(InputError, match=r"weights has shape \(4, 3\), but there are 4 boxes and the network has 2 outputs"):
        lower_planes(network, np.ones((4, 3)), np.zeros((4, 3)), np.ones((4, 3)))
