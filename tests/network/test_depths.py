"""Stages beside one another are bounded as those of networks by themselves."""

from __future__ import annotations

import numpy as np

import dcembed
from dcembed.network.bounds import bound
from random_networks import random_network


def test_depths_count_stages_in_a_row():
    rng = np.random.default_rng(0)
    members = [random_network(rng, 2, widths, 1) for widths in ([3, 4], [5], [2, 2, 2])]
    assert members[2].depths == (1, 2, 3)
    assert dcembed.ensemble(members, output="max").depths == (1, 2, 1, 1, 2, 3, 3, 4)


def test_bounds_of_members_are_those_of_the_members_alone():
    rng = np.random.default_rng(1)
    for num_inputs, widths in ((2, [6, 6, 6, 6, 6]), (3, [5, 5])):
        members = [random_network(rng, num_inputs, widths, 1) for _ in range(4)]
        box = -np.ones((3, num_inputs)), np.ones((3, num_inputs))
        together = bound(dcembed.ensemble(members), *box)
        alone = [ends for member in members for ends in bound(member, *box)]
        for (low, high), (own_low, own_high) in zip(together, alone, strict=True):
            assert np.allclose(low, own_low)
            assert np.allclose(high, own_high)
