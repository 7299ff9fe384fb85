"""Small networks fitted to a known function."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.problems.fit import fit_network
from dcembed.network.activations import find_activation


@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus", "gelu"])
def test_a_fit_is_close_on_its_box_and_the_same_again(activation):
    def target(x):
        return 3.0 + x[:, 0] ** 2 - 2.0 * x[:, 1]

    low, high = np.array([-1.0, 0.0]), np.array([2.0, 5.0])
    first, second = (fit_network(target, low, high, (12, 8), 3, find_activation(activation)) for _ in range(2))
    assert [unit.name for unit in first.activations] == [activation] * 2
    x = np.random.default_rng(1).uniform(low, high, (500, 2))
    assert np.array_equal(first(x), second(x))
    assert np.mean((first(x)[:, 0] - target(x)) ** 2) < 0.01 * np.var(target(x))
