"""Units over a day, written with indicators and with rows that have a large coefficient."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.problems import train_commitment
from benchmarks.problems.commitment import (
    CAPACITY,
    NETWORK_NAMES,
    NUM_HOURS,
    NUM_INPUTS,
    NUM_UNITS,
    WIDTHS,
    WRITINGS,
    build_commitment,
    fuel_cost,
    load_commitment_network,
    nitrogen_oxides,
    profiles,
)
from benchmarks.problems.data import MissingDataError
from dcembed import Program
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.verify import measure_host, predict
from dcembed.program.derive import derive, keep_rows
from problems import quiet
from repetitions import repetitions

SIZE = NUM_UNITS * NUM_HOURS


def violation_beside(program: Program, plain: Program, w: np.ndarray) -> float:
    """The largest violation of what `program` has beside the rows of `plain`."""
    rest = keep_rows(program, np.arange(plain.num_rows, program.num_rows))
    return measure_host(derive(rest, lb=np.full(w.size, -np.inf), ub=np.full(w.size, np.inf)), w)[1]


@pytest.mark.parametrize(("name", "target"), [("cost", fuel_cost), ("oxides", nitrogen_oxides)])
def test_the_stored_networks_have_learned_their_machines(name, target):
    network = load_commitment_network(name)
    assert network.widths == WIDTHS
    x = np.random.default_rng(0).uniform(size=(4000, NUM_INPUTS))
    assert np.mean((network(x)[:, 0] - target(x)) ** 2) < 0.01 * np.var(target(x))


def test_both_writings_have_the_same_feasible_points():
    indicators, rows = (build_commitment(writing, 0) for writing in WRITINGS)
    assert len(indicators.program.indicators) == rows.program.num_rows - indicators.program.num_rows == 2 * SIZE
    plain = derive(indicators.program, indicators=())
    rng, ways = np.random.default_rng(1), set()
    for share in [*np.linspace(0.0, 1.0, 20), *[0.02] * 20]:
        point = np.zeros(indicators.program.num_columns)
        on = rng.random(SIZE) < share
        point[:SIZE], point[SIZE : 2 * SIZE] = on * rng.uniform(0.6, 0.9, SIZE) * np.repeat(CAPACITY, NUM_HOURS), on
        point[3 * SIZE : 4 * SIZE] = rng.uniform(3.0, 8.0, SIZE)
        w = predict(indicators.embeddings, point)
        # Demand and minimum times are in both, and fail at such points; what is behind a unit is compared alone.
        first, second = (violation_beside(program, plain, w) for program in (indicators.program, rows.program))
        assert first == pytest.approx(second, abs=1e-9)
        ways.add(first > 1e-6)
    assert ways == {False, True}


def test_every_row_with_a_large_coefficient_is_read():
    indicators, rows = (build_commitment(writing, 1) for writing in WRITINGS)
    read, written = (eliminate(instance.program, instance.embeddings, with_switches=True) for instance in (rows, indicators))
    assert read.num_switches - written.num_switches == 2 * SIZE
    assert np.array_equal(read.restrictions.indicator, written.restrictions.indicator)
    assert np.allclose(read.restrictions.rhs, written.restrictions.rhs)
    assert np.array_equal(read.host.rows.toarray(), written.host.rows.toarray())


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize("seed", range(repetitions(1)))
def test_a_few_steps_find_a_verified_point(writing, seed):
    instance = build_commitment(writing, seed)
    result = dcembed.solve(instance.program, instance.embeddings, options=quiet(max_starts=1, max_iterations=4))
    assert result.is_feasible
    power, on = result.x[:SIZE].reshape(NUM_UNITS, NUM_HOURS), result.x[SIZE : 2 * SIZE].reshape(NUM_UNITS, NUM_HOURS)
    assert power.sum(axis=0) == pytest.approx(profiles(seed)[0], abs=1e-4)
    assert np.all(power[on == 0] <= 1e-5)


def test_an_unknown_writing_and_a_network_that_is_missing_are_named(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="indicators, big-m"):
        build_commitment("prose", 0)
    monkeypatch.setattr("benchmarks.problems.trained.NETWORKS", tmp_path)
    with pytest.raises(MissingDataError, match="train_commitment oxides"):
        load_commitment_network("oxides")


def test_training_gets_closer():
    pytest.importorskip("torch")
    error, weights = train_commitment.train(NETWORK_NAMES[0], num_steps=20)
    assert error < 0.2
    assert weights["W1"].shape == (WIDTHS[0], NUM_INPUTS)
