"""The least of a price over boxes: the best multiplier of a restriction, and where planes are worth lifting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dcembed.bounds.input_boxes import Boxes
from dcembed.bounds.lagrangian import Price, aim, best_multiplier, lagrangian, least_of_price


@pytest.mark.parametrize("seed", range(20))
def test_no_multiplier_is_better_than_the_best(seed):
    rng = np.random.default_rng(seed)
    size, inputs, places = 30, int(rng.integers(1, 6)), int(rng.integers(2, 5))
    steps = rng.random((size, inputs, places - 1)) * (rng.random((size, inputs, places - 1)) < 0.8)
    at = np.cumsum(np.concatenate([rng.normal(size=(size, inputs, 1)), steps], axis=2), axis=2)
    rise = np.sort(rng.normal(size=steps.shape), axis=2) * steps
    worth = np.cumsum(np.concatenate([rng.normal(size=(size, inputs, 1)), rise], axis=2), axis=2)
    slope, own_slope = rng.normal(size=(2, size, inputs))
    own_slope[rng.random(own_slope.shape) < 0.2] = 0.0
    constant, own_constant = rng.normal(size=(2, size))
    can_hold = np.minimum(own_slope * at[:, :, 0], own_slope * at[:, :, -1]).sum(axis=1) + own_constant <= 0
    _, best = best_multiplier(at, worth, slope, constant, own_slope, own_constant)
    for tried in np.concatenate([[0.0], rng.lognormal(sigma=2.0, size=200)]):
        value = lagrangian(at, worth, slope + tried * own_slope, constant + tried * own_constant)
        assert (value <= best + 1e-9 * (1.0 + np.abs(best)))[can_hold].all()


@pytest.mark.parametrize("num_restrictions", [0, 1, 2])
def test_a_step_up_where_the_tilted_plane_is_lowest_raises_the_bound_of_the_price(num_restrictions):
    rng = np.random.default_rng(num_restrictions)
    size, inputs, functions = 200, 3, 2
    low = rng.normal(size=(size, inputs))
    boxes = Boxes(
        low,
        low + rng.uniform(0.1, 1.0, size=low.shape),
        *(rng.normal(size=(size, count, *rest)) for count in (functions, num_restrictions) for rest in ((inputs,), ())),
    )
    price = Price(np.tile([-9.0, 0.0, 9.0], (inputs, 1)), np.array([[3.0, -1.0, 4.0]] * inputs), np.array([1.5, 0.0]))
    aimed = aim(boxes, price, num_restrictions > 0)
    tilt = aimed.tilt
    assert aimed.counts.tolist() == [True, False, *[True] * num_restrictions]
    assert tilt.shape == (size, functions + num_restrictions, inputs)
    # What has no price is lifted for nobody.
    assert not tilt[:, 1].any()
    before = least_of_price(boxes, price, np.inf, num_restrictions > 0)
    for number in (0, *range(functions, functions + num_restrictions)):
        slope = np.concatenate([boxes.slope, boxes.own_slope], axis=1)[:, number] + tilt[:, number]
        counts = tilt[:, number].any(axis=1)
        # A plane through the same values, but for 0.001 more in the corner where the sum is lowest and as much less in the opposite one.
        upward = np.where(slope > 0, -1.0, 1.0) * 0.002 / inputs / (boxes.high - boxes.low)
        start = -(upward * 0.5 * (boxes.low + boxes.high)).sum(axis=1)
        changed = _changed(boxes, number, upward, start)
        after = least_of_price(changed, price, np.inf, num_restrictions > 0)
        gain = after[counts] - before[counts]
        assert np.mean(gain >= -1e-9) > (0.97 if num_restrictions == 0 else 0.7)
        assert np.median(gain) > 0


def _changed(boxes, number, slope, constant):
    """Something added to one of the planes of each box."""
    name, place = ("", number) if number < boxes.slope.shape[1] else ("own_", number - boxes.slope.shape[1])
    slopes, constants = getattr(boxes, f"{name}slope").copy(), getattr(boxes, f"{name}constant").copy()
    slopes[:, place] += slope
    constants[:, place] += constant
    return replace(boxes, **{f"{name}slope": slopes, f"{name}constant": constants})
