"""The optimum of a pooling design by enumeration."""

from __future__ import annotations

import pytest

from benchmarks.problems.pooling import all_designs, expected_profits, load_pooling_network, optimum, surrogate_profit


@pytest.mark.usefixtures("data_folder")
def test_enumeration_by_sorting_is_enumeration():
    network, designs = load_pooling_network(), all_designs()
    assert expected_profits(network, 4, designs) == pytest.approx(surrogate_profit(network, 4, designs), abs=1e-9)
    assert -optimum(12) == pytest.approx(171.511824, abs=1e-6)
    assert -optimum(17) == pytest.approx(169.408848, abs=1e-6)
