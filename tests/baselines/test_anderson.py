"""Cuts of the ideal formulation: those that a search over all subsets finds, valid, and worth something at the root."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import AffineInputs, Embedding, Program, Status
from dcembed.baselines import anderson, big_m
from dcembed.baselines.anderson import OpenUnits, cut_root, find_open_units, separate
from dcembed.embedded.big_m import build_big_m, default_bounds
from dcembed.embedded.unit_bounds import column_box
from dcembed.embedded.verify import predict
from dcembed.run.clock import Clock
from dcembed.solvers.base import SessionOptions
from problems import binary_problem, box_problem, indicator_problem, level_problem, quiet, random_mlp

COST = np.array([0.3, -0.2, 0.4])


def random_units(rng: np.random.Generator, num_units: int = 4, num_inputs: int = 5) -> tuple[OpenUnits, np.ndarray, np.ndarray]:
    """Units over inputs in a random box, columns [inputs | z | d], and the ends of the box; some weights are zero."""
    weight = rng.normal(size=(num_units, num_inputs)) * (rng.random((num_units, num_inputs)) < 0.8)
    low = rng.uniform(-2.0, 0.5, num_inputs)
    high = low + rng.uniform(0.1, 2.0, num_inputs)
    coefficients = sp.csr_array(np.hstack([weight, np.zeros((num_units, 2 * num_units))]))
    rises, at = coefficients.data > 0, coefficients.indices
    lowest, highest = np.where(rises, low[at], high[at]), np.where(rises, high[at], low[at])
    unit = num_inputs + np.arange(num_units)
    largest, margin = np.ones(num_units), np.zeros(num_units)
    return OpenUnits(coefficients, rng.normal(size=num_units), lowest, highest, unit, unit + num_units, largest, margin), low, high


def right_sides(units: OpenUnits, number: int, x: np.ndarray) -> list[float]:
    """What every subset of the inputs says that a unit is at most, term by term as it stands in the formulation."""
    entries = range(*units.coefficients.indptr[[number, number + 1]])
    d, values = x[units.binary[number]], []
    for size in range(len(entries) + 1):
        for subset in itertools.combinations(entries, size):
            total = units.constant[number] * d
            for k in entries:
                c, v = units.coefficients.data[k], x[units.coefficients.indices[k]]
                total += c * (v - units.lowest[k] * (1 - d)) if k in subset else c * units.highest[k] * d
            values.append(total)
    return values


@pytest.mark.parametrize("seed", range(20))
def test_what_is_separated_is_the_most_violated_of_all_subsets(seed):
    rng = np.random.default_rng(seed)
    units, low, high = random_units(rng)
    x = np.concatenate([rng.uniform(low, high), rng.uniform(0, 3, 4), rng.random(4)])
    cuts = separate(units, x, violation=1e-9)
    excess = np.array([x[units.unit[k]] - min(right_sides(units, k, x)) for k in range(4)])
    violated = np.flatnonzero(excess > 1e-9)
    assert cuts.rhs.size == violated.size
    np.testing.assert_allclose(cuts.rows @ x - cuts.rhs, excess[violated], atol=1e-12)


def encoded_problem(seed: int):
    """A network of two stages on inputs that are affine in the columns, with a second network behind its prediction."""
    rng = np.random.default_rng(seed)
    first, second = random_mlp(seed, (3, 6, 5, 1)), random_mlp(seed + 1, (2, 4, 1))
    program = Program(cost=[0.0, 0.0, 0.0, 0.0, 1.0], lb=[-1.0, -1.0, -1.0, -np.inf, -np.inf], ub=[1.0, 1.0, 1.0, np.inf, np.inf])
    matrix = np.hstack([rng.normal(size=(3, 3)), np.zeros((3, 2))])
    embeddings = [Embedding(first, AffineInputs(matrix, rng.normal(size=3)), [3]), Embedding(second, [0, 3], [4])]
    return program, embeddings, build_big_m(program, embeddings, default_bounds(program, embeddings))


@pytest.mark.parametrize("seed", range(3))
def test_no_point_of_the_networks_is_cut_off(seed):
    program, embeddings, encoded = encoded_problem(seed)
    units = find_open_units(encoded, *column_box(program, embeddings))
    assert units.unit.size == encoded.num_binaries > 0
    rng = np.random.default_rng(seed)
    for _ in range(200):
        w = predict(embeddings, np.concatenate([rng.uniform(-1, 1, 3), np.zeros(2)]))
        x = encoded.values(w)
        # The sums are the pre-activations.
        a = units.coefficients @ x + units.constant
        np.testing.assert_allclose(np.maximum(a, 0.0), x[units.unit], atol=1e-9)
        assert separate(units, x, violation=1e-9).rhs.size == 0


def test_tiny_coefficients_are_left_out_for_what_they_can_be_worth():
    network = random_mlp(0, (3, 1, 1))
    network.stages[0].weights[0][:] = [[1.0, -2.0, 1e-10]]
    network.stages[0].bias[:] = 0.1
    program, embedding = box_problem(network, COST, 1.0, size=100.0)
    encoded = build_big_m(program, [embedding], default_bounds(program, [embedding]))
    units = find_open_units(encoded, *column_box(program, [embedding]))
    assert units.coefficients.nnz == 2
    assert units.margin[0] >= 2e-8


def roots(program, embeddings, num_rounds=20):
    """Objectives of the relaxations, the plain one first."""
    encoded = build_big_m(program, embeddings, default_bounds(program, embeddings))
    units = find_open_units(encoded, *column_box(program, embeddings))
    return cut_root(encoded.program, units, num_rounds, Clock(np.inf), SessionOptions()).objectives


@pytest.mark.parametrize("seed", range(4))
def test_with_the_cuts_of_one_unit_the_relaxation_is_exact(seed):
    network = random_mlp(seed, (3, 1, 1))
    # The unit is to be large, where its inputs cost what they bring, or more, or less: along its own direction big-M is exact.
    network.output.weights[1][:] = -1.0
    program, embedding = box_problem(network, np.array([0.1, 0.5, 0.9]) * np.asarray(network.stages[0].weights[0])[0], 1.0)
    exact = big_m.solve(program, embedding, options=quiet())
    objectives = roots(program, [embedding])
    assert exact.status is Status.OPTIMAL
    assert objectives[0] < exact.objective - 1e-2
    assert objectives[-1] == pytest.approx(exact.objective, abs=1e-4)


@pytest.mark.parametrize("make", [binary_problem, indicator_problem, level_problem])
@pytest.mark.parametrize("seed", range(2))
def test_the_root_is_no_looser_and_the_optimum_the_same(make, seed):
    program, embedding = make(seed)
    objectives = roots(program, [embedding])
    assert all(after >= before - 1e-6 for before, after in itertools.pairwise(objectives))
    plain, cut = big_m.solve(program, embedding, options=quiet()), anderson.solve(program, embedding, options=quiet())
    assert plain.status is cut.status is Status.OPTIMAL
    assert cut.objective == pytest.approx(plain.objective, abs=1e-4)
    assert objectives[-1] <= plain.objective + 1e-5


def test_cuts_tighten_a_network_of_two_stages():
    program, embedding = box_problem(random_mlp(2, (3, 8, 6, 1)), COST, 1.0)
    objectives = roots(program, [embedding])
    optimum = big_m.solve(program, embedding, options=quiet()).objective
    assert objectives[0] < objectives[-1] <= optimum + 1e-5
    assert objectives[-1] - objectives[0] > 0.1 * (optimum - objectives[0])


def test_without_rounds_it_is_the_plain_encoding():
    program, embedding = box_problem(random_mlp(2, (3, 8, 6, 1)), COST, 1.0)
    assert len(roots(program, [embedding], num_rounds=0)) == 1
    plain, bare = big_m.solve(program, embedding, options=quiet()), anderson.solve(program, embedding, options=quiet(), num_rounds=0)
    assert bare.sizes.added_rows == plain.sizes.added_rows
    assert anderson.solve(program, embedding, options=quiet()).sizes.added_rows > plain.sizes.added_rows


def test_a_quadratic_host_is_cut_as_well():
    program, embedding = box_problem(random_mlp(2, (2, 6, 1)), COST[:2], 1.0)
    program = Program(program.cost, np.diag([1.0, 1.0, 0.0]), lb=program.lb, ub=program.ub)
    plain, cut = big_m.solve(program, embedding, options=quiet()), anderson.solve(program, embedding, options=quiet())
    assert cut.solver == "scip"
    assert cut.status is Status.OPTIMAL
    assert cut.objective == pytest.approx(plain.objective, abs=1e-4)
