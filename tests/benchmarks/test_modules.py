"""Every module of the benchmarks can be imported, those too that no other test runs."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import benchmarks

NAMES = sorted(module.name for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.") if not module.name.endswith("__main__"))


@pytest.mark.parametrize("name", NAMES)
def test_a_module_can_be_imported(name):
    importlib.import_module(name)


def test_a_block_on_a_small_box_is_a_network_of_its_own():
    import numpy as np

    from benchmarks.qp import load_qp_network, qp_instance
    from benchmarks.small_boxes import boxed

    network = load_qp_network(64, 3, 0)
    instance = qp_instance(network, 0)
    small, num_open = boxed(instance, network, 0.3 * np.ones(180), 0.1)
    assert 5 < num_open < 192
    x = np.random.default_rng(0).uniform(0.2, 0.4, size=(30, 5))
    for block, embedding in enumerate(small.embeddings):
        assert embedding.network(x[block]) == pytest.approx(network(x[block]), abs=1e-9)
