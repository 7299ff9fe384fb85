"""Scholarships: the network is what it was trained to be, and the Lagrangian bound is one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.harness.outcome import check
from benchmarks.problems.admission import (
    BUDGET,
    MOST,
    admission_instance,
    breakpoints,
    build_admission,
    draw_applicants,
    enrolment,
    lagrangian_bound,
    load_admission_network,
)
from benchmarks.problems.data import MissingDataError
from benchmarks.problems.trained import NETWORKS_VARIABLE


def predictions(instance, x):
    """Of all applicants at x (n,)."""
    (embedding,) = instance.embeddings
    return embedding.network(embedding.points(np.concatenate([x, np.zeros(x.size)])))[:, 0]


def test_the_network_predicts_the_probability():
    rng = np.random.default_rng(5)
    points = np.hstack([draw_applicants(500, rng), rng.uniform(0.0, MOST, (500, 1))])
    assert np.abs(load_admission_network()(points)[:, 0] - enrolment(points)).max() < 0.05


def test_a_prediction_is_linear_between_breakpoints():
    instance = build_admission(20)
    (embedding,) = instance.embeddings
    points = breakpoints(embedding.network, embedding.inputs.offset)
    at = np.stack([predictions(instance, column) for column in points.T], axis=1)
    for x in np.random.default_rng(0).uniform(0.0, MOST, (50, 20)):
        between = [np.interp(own, row, values) for own, row, values in zip(x, points, at, strict=True)]
        np.testing.assert_allclose(predictions(instance, x), between, atol=1e-12)


def test_no_allocation_is_below_the_bound_and_a_good_one_is_near_it():
    instance = build_admission(2)
    bound, budget = lagrangian_bound(instance), BUDGET * 2
    # Of two applicants one gets what the other leaves.
    first = np.linspace(0.0, budget, 4001)
    best = min(-predictions(instance, np.array([x, budget - x])).sum() for x in first)
    assert bound <= best
    many = build_admission(40)
    assert lagrangian_bound(many) <= -predictions(many, np.full(40, BUDGET)).sum()


def test_the_bound_of_a_concave_curve_is_the_optimum():
    # Copies of one applicant on the concave hull of their curve: equal shares of every corner of the hull are optimal.
    network = load_admission_network()
    applicant = np.array([[2.6, 1000.0]])
    grid = np.linspace(0.0, MOST, 501)
    curve = network(np.hstack([np.tile(applicant, (501, 1)), grid[:, None]]))[:, 0]
    hull = max(
        (curve[i] * (grid[j] - BUDGET) + curve[j] * (BUDGET - grid[i])) / (grid[j] - grid[i])
        for i, j in itertools.product(range(41), range(41, 501))
    )
    bound = lagrangian_bound(admission_instance(network, np.tile(applicant, (10, 1)), "copies"))
    assert bound <= -10 * hull + 1e-9
    assert bound == pytest.approx(-10 * hull, abs=1e-3)


def test_nothing_spent_is_feasible():
    instance = build_admission(30)
    ((_, objective),) = check(instance, [(0.0, instance.starts[0])]).trace
    assert objective == pytest.approx(-predictions(instance, np.zeros(30)).sum())


def test_a_network_of_ones_own_is_used_and_a_missing_one_is_named(tmp_path, monkeypatch):
    import benchmarks.problems.admission as admission

    monkeypatch.setenv(NETWORKS_VARIABLE, str(tmp_path))
    assert admission.admission_path().parent != tmp_path
    (tmp_path / admission.FILE).write_bytes(admission.admission_path().read_bytes())
    assert admission.admission_path().parent == tmp_path
    monkeypatch.setattr(admission, "admission_path", lambda: tmp_path / "nothing.npz")
    with pytest.raises(MissingDataError, match="train_admission"):
        admission.load_admission_network()
