"""Every activation of the table against what holds for all of them: derivatives, ranges, lines, convex parts, other processes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dcembed.baselines.torch_activations import torch_activation
from dcembed.errors import NetworkError
from dcembed.network.activations import ACTIVATIONS, RELU, activation_from, find_activation
from dcembed.network.activations.lines import enclose
from dcembed.network.activations.parts import convex_parts
from dcembed.network.activations.ranges import slope_range, value_range

PARAMETERS = {
    "elu": [(), (0.5,), (1.6733,)],
    "log": [(1.0,), (0.01,)],
    "power": [(-0.5, 1e-2), (-1.0, 1.0), (0.5, 0.1), (-2.0, 0.5)],
}
CASES = [find_activation(name, parameters) for name in ACTIVATIONS for parameters in PARAMETERS.get(name, [()])]
NUM_INTERVALS = 10_000


def each(function):
    return pytest.mark.parametrize("activation", CASES, ids=str)(function)


def intervals(activation, number=NUM_INTERVALS, seed=0):
    """Of all sizes from a millionth to hundreds, near the breaks and far from them; exp and square over what they are used on."""
    rng = np.random.default_rng(seed)
    far = 5.0 if activation.name in ("exp", "square") else 50.0
    middle = rng.standard_normal(number) * rng.choice([0.1, 1.0, 5.0, far], number)
    radius = 10 ** rng.uniform(-6.0, np.log10(far), number)
    return middle - radius, middle + radius


def inside(low, high, number=100, seed=1):
    """Points of each interval, its ends among them, shape (k, number)."""
    share = np.sort(np.random.default_rng(seed).uniform(size=(low.size, number)), axis=1)
    share[:, 0], share[:, -1] = 0.0, 1.0
    return np.clip(low[:, None] + (high - low)[:, None] * share, low[:, None], high[:, None])


def away_from_breaks(activation, points, distance=1e-3):
    places = [place + turn * (activation.period or 0.0) for place in activation.breaks for turn in range(-20, 21)]
    return points[np.all([np.abs(points - place) > distance for place in places], axis=0)] if places else points


@each
def test_values_are_those_of_torch(activation):
    torch = pytest.importorskip("torch")
    points = np.linspace(-30.0, 30.0, 4001)
    expected = torch_activation(activation)(torch.tensor(points)).numpy()
    np.testing.assert_allclose(activation.value(points), expected, rtol=1e-12, atol=1e-14)


@each
def test_slope_and_curvature_are_derivatives(activation):
    points, step = away_from_breaks(activation, np.linspace(-6.0, 6.0, 1237)), 1e-5
    for function, derivative in ((activation.value, activation.slope), (activation.slope, activation.curvature)):
        numerical = (function(points + step) - function(points - step)) / (2 * step)
        scale = 1.0 + np.abs(derivative(points)).max()
        np.testing.assert_allclose(derivative(points), numerical, atol=1e-6 * scale)


@each
def test_pieces_are_convex_or_concave_as_they_say(activation):
    breaks = [-40.0, *activation.breaks, 40.0] if activation.period is None else [*activation.breaks, activation.period]
    signs = activation.signs if activation.period is None else activation.signs[1:]
    for left, right, sign in zip(breaks[:-1], breaks[1:], signs, strict=True):
        points = np.linspace(left, right, 5001)[:-1]
        curvature = activation.curvature(points)
        if sign:
            assert (sign * curvature >= -1e-15).all()
        else:
            assert (curvature == 0.0).all()


@each
def test_slopes_stay_in_their_range(activation):
    low, high = intervals(activation)
    least, most = slope_range(activation, low, high)
    slope = activation.slope(inside(low, high)[:, :-1])
    room = 1e-12 * (1.0 + np.abs(slope))
    assert (slope >= least[:, None] - room).all()
    assert (slope <= most[:, None] + room).all()


@each
def test_values_stay_in_their_range_and_reach_it(activation):
    low, high = intervals(activation)
    least, most = value_range(activation, low, high)
    value = activation.value(inside(low, high))
    room = 1e-12 * (1.0 + np.abs(value))
    assert (value >= least[:, None] - room).all()
    assert (value <= most[:, None] + room).all()
    narrow = high - low < 1e-2
    gap = np.maximum(value.min(axis=1) - least, most - value.max(axis=1))[narrow]
    assert (gap <= 1e-3 * (1.0 + np.abs(value).max(axis=1))[narrow]).all()


@each
def test_ranges_of_endless_intervals(activation):
    points = np.linspace(-30.0, 30.0, 3001)
    endless = np.array([-np.inf]), np.array([np.inf])
    for (least, most), reached in (
        (value_range(activation, *endless), activation.value(points)),
        (slope_range(activation, *endless), activation.slope(points)),
    ):
        assert least[0] <= reached.min() + 1e-12
        assert most[0] >= reached.max() - 1e-12
        assert not np.isnan(least).any()
        assert not np.isnan(most).any()


@each
def test_lines_enclose_on_random_intervals(activation):
    low, high = intervals(activation)
    band = enclose(activation, low, high)
    points = inside(low, high)
    value = activation.value(points)
    drop = np.zeros(low.size) if band.drop is None else band.drop
    below, above = band.lower[:, None] * points + drop[:, None], band.upper[:, None] * points + band.lift[:, None]
    # What is added up has this size, and so its rounding; tails of 1e-200 are known to fewer digits.
    size = 1e-2 + np.abs(value) + np.abs(band.lower[:, None] * points) + np.abs(band.upper[:, None] * points)
    assert (below <= value + 1e-13 * size).all()
    assert (above >= value - 1e-13 * size).all()


@each
def test_lines_are_as_tight_in_the_middle_as_lines_can_be(activation):
    low, high = intervals(activation, 300)
    usual = high - low < (activation.period or 20.0)
    low, high = low[usual], high[usual]
    band = enclose(activation, low, high)
    middle = 0.5 * (low + high)
    share = np.linspace(0.0, 1.0, 401)
    value = activation.value(low[:, None] + (high - low)[:, None] * share)
    for sign, line in ((1.0, band.lower * middle + (0.0 if band.drop is None else band.drop)), (-1.0, -(band.upper * middle + band.lift))):
        # No line below is higher in the middle than the lowest chord across it, or the function itself there.
        left, right = sign * value[:, :200], sign * value[:, 201:]
        weight = (share[201:] - 0.5)[None, :] / (share[201:][None, :] - share[:200][:, None])
        chords = (weight[None] * left[:, :, None] + (1.0 - weight)[None] * right[:, None, :]).min(axis=(1, 2))
        best = np.minimum(chords, sign * value[:, 200])
        spread = value.max(axis=1) - value.min(axis=1) + 1e-12
        assert (line >= best - 0.02 * spread).all() or activation is RELU


@each
def test_convex_parts_add_up(activation):
    far = 5.0 if activation.name in ("exp", "square") else 30.0
    points = np.sort(np.concatenate([np.linspace(-far, far, 4001), np.linspace(-1e-6, 1e-6, 101)]))
    found = convex_parts(activation)
    total = found.constant + found.tilt * points + sum(part.weight * part.unit.value(part.direction * points) for part in found.parts)
    size = 1.0 + np.abs(found.tilt * points) + np.abs(activation.value(points))
    assert (np.abs(total - activation.value(points)) <= 1e-12 * size * (1.0 + abs(found.tilt))).all()


@each
def test_convex_parts_are_convex_rising_and_nonnegative(activation):
    far = 5.0 if activation.name in ("exp", "square") else 30.0
    points = np.linspace(-far, far, 4001)
    for part in convex_parts(activation).parts:
        value, slope = part.unit.value(points), part.unit.slope(points)
        room = 1e-12 * (1.0 + np.abs(slope).max())
        assert (value >= 0.0).all()
        assert (slope >= 0.0).all()
        assert (np.diff(slope) >= -room).all()
        # Tangents lie below, wherever they touch.
        touched = value[::40, None] + slope[::40, None] * (points - points[::40, None])
        assert (touched <= value + 1e-10 * (1.0 + np.abs(touched) + value)).all()


@each
def test_the_same_in_other_processes(activation):
    again = pickle.loads(pickle.dumps(activation))
    assert again == activation
    assert again.value(np.array([0.3]))[0] == activation.value(np.array([0.3]))[0]
    for part in convex_parts(activation).parts:
        assert pickle.loads(pickle.dumps(part.unit)) == part.unit


def test_names_that_are_not_known():
    with pytest.raises(NetworkError, match=r"There is no activation 'swoosh'\. Known are relu, softplus"):
        find_activation("swoosh")
    with pytest.raises(NetworkError, match="does not take the parameters"):
        find_activation("tanh", (1.0,))


# Given by value and slope alone.

NUMERICAL = [name for name in ("relu", "tanh", "softplus", "gelu", "mish", "softsign", "hardswish", "elu", "arctan") if name in ACTIVATIONS]


@pytest.mark.parametrize("name", NUMERICAL)
def test_an_activation_by_value_and_slope_has_valid_lines(name):
    exact = find_activation(name)
    given = activation_from(name, exact.value, exact.slope)
    assert len(given.breaks) <= max(1, len(exact.breaks))
    low, high = intervals(given, 2000)
    band = enclose(given, low, high)
    points = inside(low, high)
    value = exact.value(points)
    size = 1.0 + np.abs(value) + np.abs(band.lower[:, None] * points) + np.abs(band.upper[:, None] * points)
    assert (band.lower[:, None] * points + band.drop[:, None] <= value + 1e-13 * size).all()
    assert (band.upper[:, None] * points + band.lift[:, None] >= value - 1e-13 * size).all()
    narrow = high - low < 1.0
    wide = (band.upper - band.lower)[narrow] * low[narrow] + (band.lift - band.drop)[narrow]
    assert (wide <= 2.0 * (value.max(axis=1) - value.min(axis=1))[narrow] + 2e-3).all()


def test_an_activation_whose_slope_is_wrong_is_refused():
    with pytest.raises(NetworkError, match="slope of the activation 'half' is not that of its value"):
        activation_from("half", np.tanh, lambda a: 0.5 * (1 - np.tanh(a) ** 2))


def test_an_activation_that_waves_is_refused():
    with pytest.raises(NetworkError, match="changes between convex and concave"):
        activation_from("waves", lambda a: np.sin(5 * a), lambda a: 5 * np.cos(5 * a))


def test_an_activation_that_is_not_a_number_somewhere_is_refused():
    with pytest.raises(NetworkError, match="does not give a finite number"), np.errstate(all="ignore"):
        activation_from("root", np.sqrt, lambda a: 0.5 / np.sqrt(a))


def test_ends_that_are_not_numbers_bound_nothing():
    ends = np.array([np.nan, -np.inf]), np.array([1.0, np.nan])
    for name in ("relu", "tanh", "square"):
        low, high = value_range(find_activation(name), *ends)
        assert np.isinf(high[1])
        assert low[0] <= find_activation(name).value(np.array([-9.0]))[0]


@pytest.mark.parametrize(("low", "high", "point"), [(-np.inf, np.inf, 7.0), (-np.inf, 5.0, 5.0), (-3.0, np.inf, 1e9)])
def test_lines_around_relu_on_intervals_without_an_end(low, high, point):
    band = enclose(RELU, np.array([low]), np.array([high]))
    assert (band.lower * point <= point).all()
    assert (band.upper * point + band.lift >= point).all()


def test_a_turn_far_out_is_an_extreme():
    parabola = activation_from("parabola", lambda a: (a - 100.0) ** 2, lambda a: 2.0 * (a - 100.0))
    low, high = value_range(parabola, np.array([50.0]), np.array([150.0]))
    assert low[0] <= 0.0
    assert high[0] >= 2500.0


def test_a_kink_is_an_extreme_although_its_piece_turns():
    hill = activation_from("hill", lambda a: np.where(a < 0, -a, a * (2.0 - a)), lambda a: np.where(a < 0, -1.0, 2.0 - 2.0 * a))
    assert value_range(hill, np.array([-1.0]), np.array([1.0]))[0][0] <= 0.0


def test_two_functions_of_one_name_are_two_activations():
    first, second = (activation_from("elu", lambda a, k=k: a + k * a * a, lambda a, k=k: 1.0 + 2.0 * k * a) for k in (0.1, 0.2))
    assert first != second
    assert first != find_activation("elu")
    for own in (first, second):
        parts = convex_parts(own)
        at = np.array([3.0])
        total = parts.constant + parts.tilt * at + sum(part.weight * part.unit.value(part.direction * at) for part in parts.parts)
        np.testing.assert_allclose(total, own.value(at), rtol=1e-9)


def test_a_step_in_disguise_is_refused():
    with pytest.raises(NetworkError, match="changes too fast"):
        activation_from("step", lambda a: np.tanh(1e5 * a), lambda a: 1e5 / np.cosh(np.clip(1e5 * a, -300, 300)) ** 2)


@pytest.mark.parametrize(
    "activation", [find_activation("power", (-1.0,)), find_activation("power", (-0.5,)), find_activation("log")], ids=str
)
def test_parts_of_what_is_steep_at_zero_keep_their_digits(activation):
    parts, at = convex_parts(activation), np.array([1e-3, 0.5, 1.0, 2.0, 100.0])
    total = parts.constant + parts.tilt * at + sum(part.weight * part.unit.value(part.direction * at) for part in parts.parts)
    np.testing.assert_allclose(total, activation.value(at), rtol=1e-12, atol=1e-12)


def test_far_out_nothing_is_no_number():
    far = np.array([-1e200, 1e200])
    for name in ("gelu_tanh", "exp", "gelu", "silu", "mish"):
        with np.errstate(over="ignore"):
            assert np.isfinite(find_activation(name).slope(far)).all(), name
    assert find_activation("exp").curvature(np.array([600.0]))[0] == 0.0
