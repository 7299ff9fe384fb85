"""The tanks: a plant, networks that know it, and its control."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.problems.tank_system import HIGH, LOW, advance, rise, steady
from benchmarks.problems.tanks import ACTIVATIONS, HORIZON, build_control, load_dynamics
from dcembed import verify
from dcembed.program.derive import revalue


def test_where_nothing_changes_the_levels_stay():
    levels, pumps = steady(np.array([3.0, 3.1])), np.array([[3.0, 3.1]])
    np.testing.assert_allclose(advance(levels[None], pumps)[0], levels, atol=1e-9)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_networks_know_the_plant(activation):
    points = np.random.default_rng(5).uniform(LOW, HIGH, (2_000, LOW.size))
    assert np.sqrt(((load_dynamics(activation)(points) - rise(points)) ** 2).mean()) < 0.03


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_what_is_simulated_keeps_all_rows_but_bounds(activation):
    control = build_control(load_dynamics(activation))
    levels, pumps = steady(np.array([2.5, 2.5])), np.array([2.5, 2.5])
    x = control.simulated(levels, np.tile(pumps, (HORIZON + 1, 1)))
    numbers = control.bounds(levels, pumps) | control.objective(levels[:2])
    measured = verify(revalue(control.program, **numbers), control.embeddings, x)
    assert measured.violation < 1e-9
    # Where the plant is where it is wanted, and stays there but for what the network misses, there is nothing to pay.
    assert 0.0 <= measured.objective < 1.0


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_all_methods_of_the_study_agree(activation, tmp_path):
    pytest.importorskip("ipyopt")
    from benchmarks.studies.control import FEASIBILITY_TOL, ratios, run_loop, show, write_tables

    records = run_loop(activation, 3)
    for record in records.values():
        assert max(record.violations) <= FEASIBILITY_TOL
        np.testing.assert_allclose(record.objectives, records["dcembed"].objectives, rtol=1e-4, atol=1e-4)
    assert show(activation, records).row_count == 3
    assert "processor median" in ratios(records, "Ipopt")
    write_tables({activation: records}, tmp_path / "control.md")
    text = (tmp_path / "control.md").read_text(encoding="utf-8")
    assert f"## 3 solves in a row, {activation} network" in text
    assert text.count("3 of 3") == 3
    assert ratios(records, "Ipopt, near") in text
