"""Stages that do not need one another are joined, and nothing else changes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dcembed.importers.parallel_stages import join_stages
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder

NAMES = ["relu", "tanh", "square"]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_random_graphs(seed, size):
    rng = np.random.default_rng(seed)
    builder = NetworkBuilder((3,))
    values = [builder.input]
    for _ in range(size):
        chosen = [values[i] for i in rng.integers(len(values), size=rng.integers(1, 3))]
        width = int(rng.integers(1, 5))
        parts = [builder.linear(value, rng.normal(size=(width, value.shape[0])), rng.normal(size=width)) for value in chosen]
        total = parts[0] if len(parts) == 1 else builder.add(*parts)
        values.append(builder.activate(builder.scale(total, 0.3), find_activation(NAMES[rng.integers(3)])))
    network = builder.finish(builder.concat(values))
    joined = join_stages(network)
    points = rng.normal(size=(8, 3))
    np.testing.assert_allclose(joined(points), network(points), rtol=1e-9, atol=1e-12)
    assert joined.num_hidden == network.num_hidden
    assert len(joined.stages) <= len(network.stages)
    assert join_stages(joined) is joined


def test_blocks_of_separate_parts_stay_sparse():
    builder = NetworkBuilder((2,))
    rng = np.random.default_rng(0)
    ends = []
    for _ in range(10):
        first = builder.relu(builder.linear(builder.input, rng.normal(size=(20, 2))))
        ends.append(builder.relu(builder.linear(first, rng.normal(size=(20, 20)))))
    joined = join_stages(builder.finish(builder.concat(ends)))
    assert joined.widths == (200, 200)
    assert sp.issparse(joined.stages[1].weights[1])
    assert joined.stages[1].weights[1].nnz == 10 * 400
