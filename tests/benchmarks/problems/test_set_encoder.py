"""Networks of sets: capital budgeting and knapsack interdiction."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import dcembed
from benchmarks.problems import budgeting, interdiction
from benchmarks.problems.set_encoder import CODE_SIZE, ENCODER_WIDTH, HEAD_WIDTH, encode, load_part
from dcembed.embedded.verify import predict
from problems import quiet

SETS = {budgeting.PROBLEM: budgeting.NUM_FEATURES, interdiction.PROBLEM: interdiction.NUM_FEATURES}
BUILDERS = {
    "budgeting": lambda seed: budgeting.build_budgeting(4, seed),
    "upper": lambda seed: interdiction.build_interdiction("upper", seed),
    "lower": lambda seed: interdiction.build_interdiction("lower", seed),
}


@pytest.mark.parametrize("problem", SETS)
def test_the_stored_parts_have_their_shapes(problem):
    encoder, head = load_part(problem, "encoder"), load_part(problem, "head")
    assert (encoder.num_inputs, encoder.widths, encoder.num_outputs) == (SETS[problem], (ENCODER_WIDTH,), 2 * CODE_SIZE)
    assert (head.num_inputs, head.widths, head.num_outputs) == (2 * CODE_SIZE, (HEAD_WIDTH,), 1)


def test_sums_of_codes_are_affine_in_what_is_chosen():
    rng = np.random.default_rng(0)
    encoder, features = load_part("budgeting", "encoder"), rng.uniform(0.1, 5.0, (3, 6, 4))
    columns = np.array([2, 4, 5, 7, 8, 1])
    inputs = encode(encoder, features, columns, 9)
    w = np.zeros(9)
    w[columns] = rng.integers(0, 2, 6)
    found = (inputs.matrix @ w).reshape(3, -1) + inputs.offset
    for own, given in zip(features, found, strict=True):
        codes = encoder(own)
        chosen, others = codes[:, :CODE_SIZE], codes[:, CODE_SIZE:]
        sums = np.concatenate([w[columns] @ chosen, (1 - w[columns]) @ others]) / 6
        assert given == pytest.approx(sums, abs=1e-12)


def test_what_is_invested_later_is_the_optimum_of_its_linear_program():
    rng = np.random.default_rng(3)
    for share in (0.0, 0.2, 0.45, 0.9):
        projects, risks = budgeting.draw_projects(rng, 12), budgeting.draw_risks(1, rng)
        chosen = (rng.random(12) < share).astype(np.float64)
        (profit,), (cost,) = budgeting.at_risk(projects, risks)
        left = projects.budget - cost @ chosen
        later = linprog(-profit, A_ub=cost[None], b_ub=[max(left, 0.0)], bounds=[(0.0, 1.0 - x) for x in chosen])
        expected = profit @ chosen - budgeting.LATER * later.fun - budgeting.BORROWED * max(-left, 0.0)
        assert budgeting.value(projects, chosen, risks[0]) == pytest.approx(expected, abs=1e-7)


def test_the_follower_packs_best():
    knapsack = interdiction.Knapsack(np.array([6.0, 10.0, 12.0, 7.0]), np.array([1, 2, 3, 9]), 5)
    for taken in itertools.product([0.0, 1.0], repeat=4):
        packs = [p for p in itertools.product([0, 1], repeat=4) if np.dot(p, knapsack.weight) <= 5 and np.dot(p, taken) == 0]
        assert interdiction.best_packing(knapsack, np.array(taken)) == max(np.dot(p, knapsack.value) for p in packs)


def test_the_networks_predict_values_of_instances_they_have_not_seen():
    rng, predicted, true = np.random.default_rng(100), [], []
    for seed in range(30):
        instance = budgeting.build_budgeting(1, 1000 + seed)
        projects, risks = (lambda r: (budgeting.draw_projects(r), budgeting.draw_risks(1, r)))(np.random.default_rng((1000 + seed, 1)))
        chosen = (rng.random(budgeting.NUM_PROJECTS) < rng.uniform(0.0, 0.6)).astype(np.float64)
        predicted.append(predict(instance.embeddings, np.concatenate([chosen, [0.0, 0.0]]))[-1])
        true.append(budgeting.value(projects, chosen, risks[0]) / budgeting.NUM_PROJECTS)
    assert np.mean((np.array(predicted) - true) ** 2) < 0.3 * np.var(true)


@pytest.mark.parametrize("name", BUILDERS)
def test_instances_have_a_feasible_start_and_are_those_of_their_seed(name):
    one, again, other = (BUILDERS[name](seed) for seed in (0, 0, 1))
    (start,) = one.starts
    assert dcembed.verify(one.program, one.embeddings, start).violation <= 1e-9
    assert np.array_equal(one.program.rows.data, again.program.rows.data)
    assert np.array_equal(one.embeddings[0].inputs.offset, again.embeddings[0].inputs.offset)
    assert not np.array_equal(one.embeddings[0].inputs.offset, other.embeddings[0].inputs.offset)
    assert one.program.num_integers == {"budgeting": 50, "upper": 100, "lower": 200}[name]


@pytest.mark.parametrize("name", BUILDERS)
def test_a_few_steps_improve_on_nothing_chosen(name):
    instance = BUILDERS[name](0)
    (start,) = instance.starts
    result = dcembed.solve(instance.program, instance.embeddings, start, quiet(max_iterations=3, time_limit=5.0))
    assert result.is_feasible
    assert result.objective < instance.program.objective(start)


def test_an_unknown_writing_is_named():
    with pytest.raises(ValueError, match="upper, lower"):
        interdiction.build_interdiction("prose", 0)


@pytest.mark.parametrize("problem", SETS)
def test_training_gets_closer(problem):
    pytest.importorskip("torch")
    from benchmarks.problems import train_budgeting, train_interdiction
    from benchmarks.problems.train_set_encoder import train_parts

    module = {"budgeting": train_budgeting, "interdiction": train_interdiction}[problem]
    error, parts = train_parts(module.draw_samples(200), num_steps=100)
    assert error < 1.0
    for part, network in parts.items():
        stored = load_part(problem, part)
        assert (network.num_inputs, network.widths, network.num_outputs) == (stored.num_inputs, stored.widths, stored.num_outputs)
