"""Networks in the manner of ACAS Xu, their extremes and margins."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.problems import train_avoidance
from benchmarks.problems.avoidance import (
    DEPTH,
    NUM_INPUTS,
    NUM_PROBLEMS,
    NUM_SCORES,
    WIDTH,
    build_avoidance,
    load_avoidance_network,
    scores,
)
from benchmarks.problems.data import MissingDataError
from problems import quiet


def test_the_stored_networks_have_learned_the_scores():
    torch = pytest.importorskip("torch")
    network = load_avoidance_network(0)
    assert network.widths == (WIDTH,) * DEPTH
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (4000, NUM_INPUTS))
    true = scores(torch.tensor(x)).numpy()
    assert np.mean((network(x) - true) ** 2) < 0.25 * np.var(true, axis=0).mean()


@pytest.mark.parametrize("number", [0, 1, 7, 23])
def test_starts_lie_in_the_boxes_and_names_say_what_is_asked(number):
    instance = build_avoidance(number)
    program, start = instance.program, instance.starts[0]
    assert np.all((program.lb <= start) & (start <= program.ub))
    assert ("margin" in instance.name) == (number % 2 == 1)
    assert ("largest" in instance.name) == program.maximize
    assert program.num_columns == NUM_INPUTS + NUM_SCORES + number % 2


def test_there_are_24_different_problems():
    assert NUM_PROBLEMS == 24
    assert len({build_avoidance(number).name for number in range(NUM_PROBLEMS)}) == NUM_PROBLEMS
    with pytest.raises(ValueError, match="23"):
        build_avoidance(NUM_PROBLEMS)


@pytest.mark.parametrize("number", [3, 9])
def test_a_reported_margin_is_no_better_than_the_margin_of_its_inputs(number):
    instance = build_avoidance(number)
    score = int(instance.name.split()[-1])
    result = dcembed.solve(instance.program, instance.embeddings, instance.starts[0], quiet(max_iterations=10, feasibility_tol=1e-4))
    values = instance.embeddings[0].network(result.x[:NUM_INPUTS])
    margins = values[score] - np.delete(values, score)
    assert result.is_feasible
    if instance.program.maximize:
        assert result.objective <= margins.min() + 1e-9
    else:
        assert result.objective >= margins.max() - 1e-9


def test_a_network_that_is_missing_says_how_to_train_it():
    with pytest.raises(MissingDataError, match="train_avoidance 9"):
        load_avoidance_network(9)


def test_training_gives_weights_in_their_shapes():
    pytest.importorskip("torch")
    error, weights = train_avoidance.train(0, num_steps=2)
    assert np.isfinite(error)
    assert weights["W1"].shape == (WIDTH, NUM_INPUTS)
    assert weights[f"W{DEPTH + 1}"].shape == (NUM_SCORES, WIDTH)
