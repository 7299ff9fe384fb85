"""Comparisons that select one place of the sorted order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dcembed.ensembles.selection import select


@pytest.mark.parametrize("size", range(1, 11))
def test_every_place_is_right_for_all_zeros_and_ones(size):
    # What holds for zeros and ones holds for all numbers (Knuth, 5.3.4, Z).
    every = np.array(list(itertools.product([0, 1], repeat=size)))
    for place in range(size):
        pairs, wanted = select(size, place)
        values = every.copy()
        for low, high in pairs:
            values[:, low], values[:, high] = values[:, [low, high]].min(axis=1), values[:, [low, high]].max(axis=1)
        assert np.array_equal(values[:, wanted], np.sort(every, axis=1)[:, place])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10, 20])
def test_the_ends_take_a_tree(size):
    assert len(select(size, 0)[0]) == len(select(size, size - 1)[0]) == size - 1


def test_few_comparisons_near_the_ends():
    assert len(select(10, 8)[0]) == 17
    assert len(select(20, 17)[0]) < 50
