"""A heat pump over three days."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.problems.heat_pump import (
    BIG_POWER,
    HIGH,
    LOW,
    NUM_HOURS,
    NUM_INPUTS,
    WIDTHS,
    build_heat_pump,
    electric_power,
    load_heat_pump,
    needed_temperature,
    weather,
)
from problems import quiet


def test_the_machine_needs_more_the_hotter_it_supplies_and_the_colder_it_is():
    usual, hot, cold, idle = electric_power(np.array([[7.0, 35.0, 8.0], [7.0, 55.0, 8.0], [-7.0, 35.0, 8.0], [7.0, 35.0, 0.0]]))
    assert idle == pytest.approx(0.1)
    assert hot > 1.3 * usual
    assert cold > 1.2 * usual
    # The COP of machines on the market.
    assert 3.0 < 8.0 / usual < 5.0


def test_the_stored_network_has_learned_the_machine_and_stays_below_the_large_coefficient():
    network = load_heat_pump()
    assert (network.num_inputs, network.widths, network.num_outputs) == (NUM_INPUTS, WIDTHS, 1)
    x = np.random.default_rng(1).uniform(LOW, HIGH, (4000, NUM_INPUTS))
    assert np.mean((network(x)[:, 0] - electric_power(x)) ** 2) < 1e-3 * np.var(electric_power(x))
    assert network(x).max() < BIG_POWER


@pytest.mark.parametrize("seed", [0, 1])
def test_running_all_the_time_is_feasible(seed):
    instance, days = build_heat_pump(seed), weather(seed)
    (start,) = instance.starts
    assert dcembed.verify(instance.program, instance.embeddings, start).violation <= 1e-9
    assert instance.program.num_integers == instance.embeddings[0].num_evaluations == NUM_HOURS
    assert needed_temperature(days.outdoor).max() <= 45.0


def test_a_few_steps_save_money_and_keep_the_minimum_times():
    instance = build_heat_pump(0)
    (start,) = instance.starts
    result = dcembed.solve(instance.program, instance.embeddings, start, quiet(max_iterations=13))
    assert result.is_feasible
    assert result.objective < instance.program.objective(start) - 1.0
    on = np.round(result.x[3 * NUM_HOURS + 1 : 4 * NUM_HOURS + 1]).astype(int)
    runs = np.split(on, np.flatnonzero(np.diff(on)) + 1)
    # The last one may go on after the end, and the first one has begun before.
    assert all(len(run) >= (3 if run[0] else 2) for run in runs[1:-1])


def test_a_seed_is_the_same_days_and_another_one_is_not():
    one, again, other = (build_heat_pump(seed) for seed in (1, 1, 2))
    assert np.array_equal(one.program.row_lb, again.program.row_lb)
    assert np.array_equal(one.program.cost, again.program.cost)
    assert not np.array_equal(one.program.cost, other.program.cost)


def test_training_gets_closer():
    pytest.importorskip("torch")
    from benchmarks.problems import train_heat_pump

    fitted = train_heat_pump.train(num_steps=100)
    assert fitted.error < 0.7
    assert fitted.network.widths == load_heat_pump().widths
