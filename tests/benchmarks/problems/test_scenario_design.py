"""Designs whose second stages networks predict: facilities and servers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import dcembed
from benchmarks.harness.outcome import check
from benchmarks.problems import facilities, servers
from benchmarks.problems.scenario_design import WRITINGS, enumerated_optimum
from dcembed.embedded.verify import predict
from problems import quiet

BUILDERS = {
    "facilities": lambda seed: facilities.build_facilities(10, "scenarios", 8, seed),
    "servers": lambda seed: servers.build_servers("10x50", 8, seed),
}


@pytest.mark.parametrize("size", facilities.WIDTHS)
@pytest.mark.parametrize("writing", WRITINGS)
def test_the_stored_networks_of_the_facilities_have_their_shapes(size, writing):
    network = facilities.load_facilities(size, writing)
    inputs = 2 * size if writing == "scenarios" else size
    assert (network.num_inputs, network.widths, network.num_outputs) == (inputs, (facilities.WIDTHS[size],), 1)


@pytest.mark.parametrize("size", servers.WIDTHS)
def test_the_stored_networks_of_the_servers_have_their_shapes(size):
    network = servers.load_servers(size)
    assert (network.num_inputs, network.widths) == (sum(map(int, size.split("x"))), (servers.WIDTHS[size],))


def test_the_second_stage_of_the_facilities_is_that_of_another_solver():
    site, rng = facilities.draw_site(10), np.random.default_rng(1)
    recourse, network = facilities.build_recourse(site), facilities.load_facilities(10, "scenarios")
    predicted, true = [], []
    for demand in facilities.draw_demands(site, 20, rng):
        opened = (rng.random(10) < 0.4).astype(np.float64)
        cost = np.concatenate([site.cost.reshape(-1), np.full(10, facilities.PENALTY)])
        met = np.hstack([np.tile(np.eye(10), 10), np.eye(10)])
        sent = np.hstack([np.kron(np.eye(10), np.ones(10)), np.zeros((10, 10))])
        expected = linprog(cost, A_ub=sent, b_ub=site.capacity * opened, A_eq=met, b_eq=demand).fun
        true.append(recourse.solve(*facilities.sides(site, opened, demand)))
        assert true[-1] == pytest.approx(expected, rel=1e-6)
        predicted.append(network(np.concatenate([opened, demand]))[0])
    assert np.mean((np.array(predicted) - true) ** 2) < 0.1 * np.var(true)


def test_the_second_stage_of_the_servers_gives_every_client_once():
    made = servers.draw_servers("10x50")
    recourse = servers.build_recourse(made)
    (clients,) = servers.draw_clients(made, 1, np.random.default_rng(2))
    nothing, all_placed = (recourse.solve(*servers.sides(made, placed, clients)) for placed in (np.zeros(10), np.ones(10)))
    present = clients > 0
    # Without servers every unit is beyond; with all of them none needs to be, and nobody earns more than the best server for each.
    assert nothing == pytest.approx((servers.BEYOND - 1.0) * made.revenue[:, present].min(axis=0).sum(), rel=1e-3)
    assert -made.revenue[:, present].max(axis=0).sum() - 1e-6 <= all_placed < 0


@pytest.mark.parametrize("name", BUILDERS)
def test_instances_have_a_feasible_start_and_are_those_of_their_seed(name):
    one, again, other = (BUILDERS[name](seed) for seed in (0, 0, 1))
    (start,) = one.starts
    assert dcembed.verify(one.program, one.embeddings, start).violation <= 1e-9
    assert np.array_equal(one.embeddings[0].inputs.offset, again.embeddings[0].inputs.offset)
    assert not np.array_equal(one.embeddings[0].inputs.offset, other.embeddings[0].inputs.offset)
    assert one.embeddings[0].num_evaluations == 8


@pytest.mark.parametrize("name", BUILDERS)
def test_the_enumerated_optimum_is_met_by_a_design_and_beaten_by_none(name):
    instance = BUILDERS[name](0)
    optimum, n = enumerated_optimum(instance), instance.program.num_integers
    designs = (np.random.default_rng(0).random((300, n)) < 0.3).astype(np.float64)
    points = [(0.0, predict(instance.embeddings, np.concatenate([x, np.zeros(8)]))) for x in designs]
    trace = check(instance, points).trace
    assert trace
    assert trace[-1][1] >= optimum - 1e-9
    result = dcembed.solve(instance.program, instance.embeddings, instance.starts, quiet(max_starts=3))
    assert result.objective == pytest.approx(optimum, rel=1e-6)


def test_many_binaries_are_not_enumerated_and_an_unknown_writing_is_named():
    assert enumerated_optimum(facilities.build_facilities(25, "expected", 1, 0)) is None
    with pytest.raises(ValueError, match="scenarios, expected"):
        facilities.build_facilities(10, "prose", 1, 0)


def test_training_gets_closer():
    pytest.importorskip("torch")
    from benchmarks.problems import train_facilities, train_servers

    fitted = train_facilities.train(10, num_steps=100, number=300)
    assert set(fitted) == set(WRITINGS)
    assert fitted["scenarios"].error < 0.8
    assert fitted["scenarios"].network.widths == facilities.load_facilities(10, "scenarios").widths
    points, costs = train_servers.draw_samples("10x50", 3)
    assert points.shape == (3, 60)
    assert np.isfinite(costs).all()
