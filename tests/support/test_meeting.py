"""Hosts that the data do not meet."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import Status
from support.regions import KINDS, QUICK, host, make, two_clouds


@pytest.mark.parametrize("name", [name for name in KINDS if name != "network"])
def test_the_status_names_the_region_and_how_far_it_is(name):
    data = two_clouds()
    region = make(name, data)
    program, network = host(rows=[[1.0, 0.0, 0.0, 0.0]], row_lb=30.0, row_names=["demand"], column_names=["heat", "flow", "acid", "yield"])
    embedding = dcembed.Embedding(network, [0, 1, 2], [3], support=region)
    result = dcembed.solve(program, embedding, options=QUICK)
    assert result.status is Status.OUTSIDE_SUPPORT
    assert not result.is_feasible
    assert region.label in result.reason
    assert "'yield'" in result.reason
    assert "do not meet" in result.help
    # The point is one of the host, and as near as can be.
    measured = result.verify()
    assert max(measured.rows, measured.bounds) <= 1e-5
    assert f"{measured.support:.3g} scaled units" in result.reason
    points = np.column_stack(
        [np.full(200, 30.0), np.random.default_rng(0).uniform(data.min(axis=0), data.max(axis=0), size=(200, 3))[:, 1:]]
    )
    assert measured.support <= region.excess(points).min() + 1e-4


def test_a_host_without_a_point_is_not_blamed_on_the_data():
    program, network = host(rows=[[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]], row_lb=[10.0, -np.inf], row_ub=[np.inf, 5.0])
    result = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2], [3], support=make("hull", two_clouds())), options=QUICK)
    assert result.status is Status.HOST_INFEASIBLE


def test_predictions_that_rule_out_the_data_are_not_either():
    data = two_clouds()
    program, network = host(ub=[40.0, 900.0, 4.0, np.inf], lb=[-40.0, -900.0, -4.0, 1e6])
    result = dcembed.solve(program, dcembed.Embedding(network, [0, 1, 2], [3], support=make("box", data)), options=QUICK)
    assert result.status in (Status.LOCALLY_INFEASIBLE, Status.INFEASIBLE, Status.HOST_INFEASIBLE)
    assert not result.is_feasible


def test_a_price_in_place_of_the_region_gives_the_nearest_point():
    data = two_clouds()
    program, network = host(rows=[[1.0, 0.0, 0.0, 0.0]], row_lb=30.0)
    hard, soft = (dcembed.Embedding(network, [0, 1, 2], [3], support=make("hull", data, weight=weight)) for weight in (None, 1e4))
    near = dcembed.solve(program, hard, options=QUICK).verify().support
    result = dcembed.solve(program, soft, options=QUICK)
    assert result.is_feasible
    assert soft.support.excess(result.x[None, :3])[0] == pytest.approx(near, rel=1e-2)
