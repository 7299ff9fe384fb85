"""Pictures of digits, and balls around them."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.problems.data import MissingDataError
from benchmarks.problems.digits import KINDS, NUM_DIGITS, NUM_TRAINING, RADIUS, build_digits, load_digits_network, read_pictures
from problems import quiet

pytest.importorskip("sklearn")


@pytest.mark.parametrize("side", [8, 28])
def test_pictures_keep_their_digits_and_lie_in_the_unit_cube(side):
    pictures, digits = read_pictures(side)
    assert pictures.shape == (digits.size, side * side)
    assert (pictures.min(), pictures.max()) == (0.0, 1.0)
    # Drawing out keeps the brightness of a picture, about.
    small, _ = read_pictures(8)
    assert pictures.mean(axis=1) == pytest.approx(small.mean(axis=1), abs=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_stored_networks_know_most_digits_that_they_have_not_seen(kind):
    layers, side, activation = kind.split("-")
    network = load_digits_network(kind)
    assert {unit.name for unit in network.activations} == {activation}
    assert network.num_inputs == int(side) ** 2
    pictures, digits = (part[NUM_TRAINING:] for part in read_pictures(int(side)))
    assert np.mean(network(pictures).argmax(axis=1) == digits) > 0.85
    if layers == "cnn":
        assert not isinstance(network.stages[0].weights[0], np.ndarray)


@pytest.mark.parametrize("kind", ["cnn-8-relu", "cnn-8-gelu"])
def test_a_run_stays_in_the_ball_and_says_the_largest_lead(kind):
    instance = build_digits(kind, 1)
    (start,) = instance.starts
    assert dcembed.verify(instance.program, instance.embeddings, start).violation <= 1e-9
    result = dcembed.solve(instance.program, instance.embeddings, start, quiet(max_iterations=6, max_starts=1))
    n = 64
    assert result.is_feasible
    assert np.abs(result.x[:n] - start[:n]).max() <= RADIUS[8] + 1e-9
    target = int(instance.name.split()[-1])
    scores = instance.embeddings[0].network(result.x[:n])
    assert result.objective == pytest.approx(np.max(np.delete(scores, target)) - scores[target], abs=1e-5)
    assert result.objective < instance.program.objective(start) - 0.1


def test_pictures_differ():
    names = {build_digits("cnn-8-relu", number).name for number in range(3)}
    assert len(names) == 3
    assert all(name.startswith("digits cnn-8-relu: ") for name in names)


def test_a_network_that_is_missing_says_how_to_train_it():
    with pytest.raises(MissingDataError, match="train_digits cnn-9-relu"):
        build_digits("cnn-9-relu", 0)


@pytest.mark.parametrize("kind", ["cnn-8-gelu", "16x2-8-relu"])
def test_training_learns_something(kind):
    pytest.importorskip("torch")
    from benchmarks.problems import train_digits

    right, network = train_digits.train(kind, num_epochs=2)
    assert right > 2 / NUM_DIGITS
    assert network.num_outputs == NUM_DIGITS
