"""A plant with surrogates of its units."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.problems import train_process
from benchmarks.problems.data import MissingDataError
from benchmarks.problems.process import build_process, run_plant
from benchmarks.problems.process_units import PRESSURE_A, PRESSURE_B, RANGES, UNITS, WIDTHS, flash, load_unit, tank
from problems import quiet


def points(name: str, size: int = 4000) -> np.ndarray:
    return np.random.default_rng(1).uniform(*RANGES[name], (size, 5))


def test_a_tank_is_at_rest():
    x = points("tank")
    made, lost, _ = tank(x).T
    out = x[:, :3] + np.stack([-made, made - lost, lost], axis=1)
    assert out.min() >= 0
    # What a reaction makes is its rate times what is in the tank, a share of the volume like that of what flows out.
    first, second = (rate * np.exp(energy * (1 / 360.0 - 1 / x[:, 3])) for rate, energy in ((1.2, 6000.0), (0.12, 9500.0)))
    share = x[:, 4] / x[:, :3].sum(axis=1)
    assert made == pytest.approx(first * share * out[:, 0], rel=1e-9)
    assert lost == pytest.approx(second * share * out[:, 1], rel=1e-9)


def test_vapour_and_liquid_of_a_flash_are_in_equilibrium():
    x = points("flash")
    vapour = flash(x)
    liquid = x[:, :3] - vapour
    assert min(vapour.min(), liquid.min()) >= -1e-9
    both = (vapour.sum(axis=1) > 1e-3) & (liquid.sum(axis=1) > 1e-3)
    assert both.mean() > 0.3
    fractions = [part[both] / part[both].sum(axis=1, keepdims=True) for part in (vapour, liquid)]
    ratio = np.exp(PRESSURE_A - PRESSURE_B / x[both, 3:4]) / x[both, 4:5]
    assert fractions[0] == pytest.approx(ratio * fractions[1], rel=1e-6)


@pytest.mark.parametrize("name", UNITS)
def test_the_stored_networks_have_learned_their_units(name):
    network = load_unit(name)
    assert network.widths == WIDTHS
    assert {unit.name for unit in network.activations} == {"tanh"}
    x = points(name)
    true = UNITS[name](x)
    assert np.all(np.mean((network(x) - true) ** 2, axis=0) < 0.01 * np.var(true, axis=0))


def test_the_plant_of_the_networks_runs_like_that_of_the_formulas():
    by_formulas, by_networks = (run_plant(units) for units in (UNITS, {name: load_unit(name) for name in UNITS}))
    assert by_networks["vapour"] == pytest.approx(by_formulas["vapour"], abs=0.1)


@pytest.mark.parametrize("num_scenarios", [1, 3])
def test_the_start_is_feasible_and_a_run_improves_on_it(num_scenarios):
    instance = build_process(num_scenarios, 0)
    (start,) = instance.starts
    assert dcembed.verify(instance.program, instance.embeddings, start).violation <= 1e-9
    result = dcembed.solve(instance.program, instance.embeddings, start, quiet(max_iterations=8, max_starts=1))
    assert result.is_feasible
    assert result.objective < instance.program.objective(start)


def test_scenarios_differ_by_their_seeds_and_share_the_volumes():
    one, other = build_process(2, 0), build_process(2, 1)
    assert not np.array_equal(one.program.cost, other.program.cost)
    tanks = one.embeddings[0].inputs
    assert tanks.shape == (4, 5)
    assert tanks[:, 4].tolist() == [0, 1, 0, 1]


def test_a_network_that_is_missing_says_how_to_train_it(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.problems.trained.NETWORKS", tmp_path)
    with pytest.raises(MissingDataError, match="train_process flash"):
        load_unit("flash")


@pytest.mark.parametrize("name", UNITS)
def test_training_gets_closer(name):
    pytest.importorskip("torch")
    error, network = train_process.train(name, num_steps=150)
    assert error.max() < 0.7
    x = points(name)
    true = UNITS[name](x)
    assert np.mean((network(x) - true) ** 2, axis=0) == pytest.approx(error * np.var(true, axis=0), rel=0.3)
