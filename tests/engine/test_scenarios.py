"""Designs that are evaluated in many scenarios: what is searched together is reported one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dcembed import AffineInputs, Embedding, Options, Program, solve, verify
from dcembed.embedded import collapsed
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import slopes
from dcembed.embedded.points import evaluation_cost
from problems import random_mlp

NUM_DECISIONS, NUM_SCENARIOS = 6, 700


def design_problem(seed: int, depth: int = 1, num_scenarios: int = NUM_SCENARIOS) -> tuple[Program, Embedding]:
    """Binaries with costs, and the expected prediction over scenarios of three uncertain inputs."""
    rng = np.random.default_rng(seed)
    network = random_mlp(seed, (NUM_DECISIONS + 3, *[12] * depth, 1))
    n = NUM_DECISIONS + num_scenarios
    offset = np.hstack([np.zeros((num_scenarios, NUM_DECISIONS)), rng.normal(size=(num_scenarios, 3))])
    matrix = np.eye(NUM_DECISIONS + 3, n) * (np.arange(n) < NUM_DECISIONS)
    probability = rng.dirichlet(np.ones(num_scenarios))
    free = np.full(num_scenarios, np.inf)
    program = Program(
        cost=np.concatenate([0.1 * rng.normal(size=NUM_DECISIONS), probability]),
        lb=np.concatenate([np.zeros(NUM_DECISIONS), -free]),
        ub=np.concatenate([np.ones(NUM_DECISIONS), free]),
        integer=np.arange(NUM_DECISIONS),
    )
    return program, Embedding(network, AffineInputs(matrix, offset), NUM_DECISIONS + np.arange(num_scenarios))


def best_design(program: Program, embedding: Embedding) -> float:
    """By trying all."""
    designs = np.array(list(itertools.product((0.0, 1.0), repeat=NUM_DECISIONS)))
    points = (np.concatenate([design, np.zeros(program.num_columns - NUM_DECISIONS)]) for design in designs)
    return min(
        float(program.cost[:NUM_DECISIONS] @ w[:NUM_DECISIONS] + program.cost[NUM_DECISIONS:] @ embedding.predict(w)[:, 0]) for w in points
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_best_design_is_found_and_reported_plainly(seed):
    program, embedding = design_problem(seed)
    result = solve(program, embedding, options=Options(search="converge", verbose=False))
    assert result.objective == pytest.approx(best_design(program, embedding), abs=1e-9)
    assert result.incumbents[-1][1] == result.objective == verify(program, embedding, result.x).objective
    for (_, objective), x in zip(result.incumbents, result.incumbent_points, strict=True):
        assert verify(program, embedding, x).objective == objective


def test_only_points_that_are_kept_take_a_pass_over_all_scenarios(monkeypatch):
    program, embedding = design_problem(0)
    passes, predict = [], MeasuredNetwork.predict

    def counted(measured, w):
        passes.append(measured.num_blocks)
        return predict(measured, w)

    monkeypatch.setattr(MeasuredNetwork, "predict", counted)
    result = solve(program, embedding, options=Options(search="converge", verbose=False))
    assert np.count_nonzero(np.array(passes) == NUM_SCENARIOS) == len(result.incumbents)
    assert len(result.history) > len(result.incumbents)


def test_the_search_is_the_same_one_by_one(monkeypatch):
    program, embedding = design_problem(1)
    options = Options(search="converge", max_starts=2, verbose=False)
    together = solve(program, embedding, options=options)
    monkeypatch.setattr(collapsed, "MIN_TERMS", 10**9)
    plain = solve(program, embedding, options=options)
    assert [step.objective for step in together.history] == pytest.approx([step.objective for step in plain.history], rel=1e-9)


def test_a_point_costs_the_same_in_ten_times_as_many_scenarios():
    few, many = (eliminate(program, [embedding]) for program, embedding in (design_problem(0), design_problem(0, num_scenarios=7000)))
    assert evaluation_cost(few) == evaluation_cost(many)


def test_deeper_networks_are_evaluated_one_by_one():
    program, embedding = design_problem(0, depth=2)
    assert not eliminate(program, [embedding]).shares_decisions


def test_deeper_networks_compute_the_constant_part_of_their_first_stage_once():
    program, embedding = design_problem(0, depth=2)
    embedded = eliminate(program, [embedding])
    (measured,) = embedded.networks
    assert measured.first_constants is measured.first_constants
    w = np.linspace(0.0, 1.0, NUM_DECISIONS)
    x = np.concatenate([w, np.zeros(NUM_SCENARIOS)])
    assert np.allclose(measured.predict(w), embedding.predict(x), rtol=1e-12, atol=1e-12)
    step = 1e-7 * np.eye(1, x.size)[0]
    change = (embedding.predict(x + step) - embedding.predict(x))[:, 0] @ program.cost[NUM_DECISIONS:]
    assert slopes(embedded, w)[0, 0] == pytest.approx(change / 1e-7, abs=1e-5)


def test_few_evaluations_compute_all_of_it():
    program, embedding = design_problem(0, depth=2, num_scenarios=20)
    (measured,) = eliminate(program, [embedding]).networks
    assert measured.first_constants is None
