"""Pooling designs in many scenarios: the study."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.problems.pooling import all_designs, expected_profits, load_pooling_network, surrogate_profit
from benchmarks.studies.scenarios import main, measure


@pytest.mark.parametrize("pool", [0, 4])
def test_the_best_design_of_4913_scenarios_is_found_from_any_pool(data_folder, pool):
    row = measure((17, pool))
    assert row.profit == pytest.approx(169.408848, abs=1e-6)
    assert row.num_starts == 5
    assert row.num_solves <= 25


def test_profits_are_the_same_scenario_by_scenario(data_folder, monkeypatch):
    network, designs = load_pooling_network(), all_designs()[:3]
    plain = surrogate_profit(network, 7, designs)
    assert np.allclose(plain, expected_profits(network, 7, designs), rtol=1e-9)
    monkeypatch.setattr("benchmarks.problems.pooling.CHUNK_SCENARIOS", 10)
    assert np.allclose(surrogate_profit(network, 7, designs), plain, rtol=1e-12)


def test_the_table_has_a_row_for_every_case(data_folder, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.studies.scenarios.measure_apart", measure)
    monkeypatch.setattr("benchmarks.studies.scenarios.POOLS", {9: range(2)})
    main(["9"])
    shown = capsys.readouterr().out
    assert "pooling m=9 trial 0" in shown
    assert "pooling m=9 trial 1" in shown
    assert "729" in shown
