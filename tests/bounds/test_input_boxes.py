"""A pile of boxes has the boxes that were put there, each with its value, whatever was overwritten and moved."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed.bounds.input_boxes import Boxes, Pile


def _boxes(rng, number):
    low = rng.normal(size=(number, 2))
    return Boxes(low, low + 1.0, rng.normal(size=(number, 1, 2)), low[:, :1].copy(), np.zeros((number, 0, 2)), np.zeros((number, 0)))


@pytest.mark.parametrize("seed", range(3))
def test_a_pile_keeps_what_was_put_there(seed):
    rng = np.random.default_rng(seed)
    first = _boxes(rng, 5)
    pile, value = Pile(first), first.constant[:, 0].copy()
    expected = {tuple(corner) for corner in first.low}
    for _ in range(200):
        number = pile.boxes.number
        chosen = rng.permutation(number)[: rng.integers(1, min(number, 6) + 1)]
        others = _boxes(rng, int(rng.integers(0 if number > chosen.size + 1 else chosen.size, 2 * chosen.size + 1)))
        expected -= {tuple(corner) for corner in pile.boxes.low[chosen]}
        expected |= {tuple(corner) for corner in others.low}
        value = pile.put(chosen, others, value, others.constant[:, 0].copy())
        boxes = pile.boxes
        assert {tuple(corner) for corner in boxes.low} == expected
        assert boxes.number == value.size == len(expected)
        np.testing.assert_array_equal(value, boxes.low[:, 0])
        np.testing.assert_array_equal(boxes.high, boxes.low + 1.0)
