"""Networks reduced to small boxes, as problems of their own."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.problems.qp import load_qp_network, qp_instance
from benchmarks.studies.small_boxes import boxed


def test_a_block_on_a_small_box_is_a_network_of_its_own():
    network = load_qp_network(64, 3, 0)
    instance = qp_instance(network, 0)
    small, num_open = boxed(instance, network, 0.3 * np.ones(180), 0.1)
    assert 5 < num_open < 192
    x = np.random.default_rng(0).uniform(0.2, 0.4, size=(30, 5))
    for block, embedding in enumerate(small.embeddings):
        assert embedding.network(x[block]) == pytest.approx(network(x[block]), abs=1e-9)
