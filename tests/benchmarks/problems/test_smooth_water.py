"""Water treatment with a smooth classifier."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.harness.outcome import check
from benchmarks.methods import greedy
from benchmarks.problems.data import MissingDataError
from benchmarks.problems.perceptron import build_perceptron
from benchmarks.problems.smooth_water import build_smooth_water, load_smooth_classifier
from benchmarks.problems.train_water import train
from benchmarks.problems.water import MARGIN
from dcembed.network.activations import find_activation
from problems import quiet


@pytest.mark.usefixtures("data_folder")
def test_the_samples_are_rejected_untreated_and_cohorts_differ():
    instances = [build_smooth_water("tanh", 25, cohort) for cohort in range(2)]
    untreated = [instance.embeddings[0].inputs.offset for instance in instances]
    for instance, samples in zip(instances, untreated, strict=True):
        assert instance.embeddings[0].network(samples).max() < MARGIN
    assert not np.array_equal(*untreated)


@pytest.mark.usefixtures("data_folder")
def test_the_greedy_follows_tangent_planes_and_dcembed_is_not_behind_it():
    instance = build_smooth_water("tanh", 8, 0)
    outcome = greedy.solve(instance.program, instance.embeddings, instance.starts, quiet())
    checked = check(instance, outcome.points)
    assert checked.num_rejected == 0
    assert checked.trace[-1][1] <= -2
    result = dcembed.solve(instance.program, instance.embeddings, instance.starts[0], quiet(max_iterations=15))
    assert result.is_feasible
    assert result.objective <= checked.trace[-1][1]


def test_the_linear_piece_of_a_smooth_network_is_its_tangent_plane():
    network = load_smooth_classifier("tanh")
    point, step = np.full(network.num_inputs, 7.0), 1e-5
    value, gradient = greedy._linear_piece(network, point)
    assert value == pytest.approx(network(point)[0], abs=1e-12)
    ahead, behind = (network(point + sign * step * np.eye(point.size))[:, 0] for sign in (1.0, -1.0))
    assert gradient == pytest.approx((ahead - behind) / (2 * step), abs=1e-7)


def test_a_classifier_that_is_missing_says_how_to_train_it():
    with pytest.raises(MissingDataError, match="train_water --activation gelu"):
        load_smooth_classifier("gelu")


def test_a_smooth_classifier_is_trained_like_the_other_one():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    features = rng.normal(5.0, 2.0, (300, 9))
    table = np.hstack([features, (features[:, :1] > 5.0).astype(float)])
    arrays = train(table, num_epochs=15, activation="tanh")
    network = build_perceptron(arrays, find_activation("tanh"))
    assert network.widths == (32,) * 4
    assert network(features)[:, 0] == pytest.approx(arrays["score_untreated"], abs=1e-4)
    assert np.mean((network(features)[:, 0] > 0) == (table[:, -1] == 1)) > 0.9
