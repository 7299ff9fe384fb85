"""What an operation is made of is counted before there is room taken for it."""

from __future__ import annotations

import tracemalloc

import pytest

from dcembed.errors import NetworkError
from dcembed.importers import operations as ops
from dcembed.network.builder import NetworkBuilder
from dcembed.network.growth import Growth

MOST = 100_000
LARGE = {
    "averages": (
        (1, 1, 40, 40),
        lambda b: ops.average_pool(b, b.input, [40, 40], stride=[1, 1], padding=[(19, 20)] * 2),
        "A map of the last 2 axes of a value of shape \\(1, 1, 40, 40\\)",
    ),
    "averages of channels": (
        (1, 500, 40),
        lambda b: ops.average_pool(b, b.input, [20], stride=[1], padding=[(9, 10)]),
        "A map of the last 1 axes of a value of shape \\(1, 500, 40\\)",
    ),
    "largest": (
        (1, 200, 150),
        lambda b: ops.max_pool(b, b.input, [100], stride=[1], padding=[(49, 50)]),
        "The largest entries of 150 windows of 100 places",
    ),
    "running sums": ((1, 2000), lambda b: ops.cumulative_sum(b, b.input, 1), "Sums along an axis would take 4,000,000"),
}


@pytest.mark.parametrize("name", LARGE)
def test_too_much_is_refused_before_it_is_there(name):
    shape, operation, message = LARGE[name]
    builder = NetworkBuilder(shape, Growth(MOST))
    tracemalloc.start()
    try:
        with pytest.raises(NetworkError, match=message):
            operation(builder)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
