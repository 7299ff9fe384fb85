"""The exact encoding as a program: true points are points of it, and of its relaxation."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import AffineInputs, Embedding, Program
from dcembed.embedded.big_m import build_big_m, default_bounds
from dcembed.embedded.verify import predict
from problems import random_mlp


@pytest.mark.parametrize("seed", range(4))
def test_true_points_are_points_of_the_encoding(seed):
    rng = np.random.default_rng(seed)
    network, k = random_mlp(seed, (3, 7, 5, 2)), 4
    n = 2 + 2 * k
    matrix = np.hstack([rng.normal(size=(3 * k, 2)), np.zeros((3 * k, 2 * k))])
    embedding = Embedding(network, AffineInputs(matrix, rng.normal(size=(k, 3))), 2 + np.arange(2 * k).reshape(k, 2))
    free = np.full(2 * k, np.inf)
    program = Program(np.zeros(n), lb=np.concatenate([[-1.0, -1.0], -free]), ub=np.concatenate([[1.0, 1.0], free]))
    encoded = build_big_m(program, [embedding], default_bounds(program, [embedding]))
    for w in rng.uniform(-1, 1, (20, n)):
        columns = encoded.values(predict([embedding], w))
        assert dcembed.verify(encoded.program, (), columns).violation < 1e-9
        relaxation = encoded.encoding.relaxation()
        assert dcembed.verify(relaxation, (), columns[: relaxation.num_columns]).violation < 1e-9
