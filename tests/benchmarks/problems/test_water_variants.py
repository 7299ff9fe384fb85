"""Water treatment in other writings: they are the same problem where they say so, and all fall into samples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from benchmarks.harness.outcome import check
from benchmarks.methods import greedy
from benchmarks.problems.water import MARGIN, budgets, load_water_network, untreated_samples, water_instance
from benchmarks.problems.water_variants import NUM_CANDIDATES, VARIANTS, another_network, build_variant, repeat_samples, repeated
from dcembed import Options

pytestmark = pytest.mark.usefixtures("data_folder")
NUM_SAMPLES = 12


@pytest.fixture(scope="module")
def treated():
    """A feasible point of the usual writing, and how many samples it counts."""
    instance = water_instance(load_water_network(), NUM_SAMPLES, 0)
    x = greedy.solve(instance.program, instance.embeddings, instance.starts, Options()).points[-1][1]
    count = int(-instance.program.cost @ x)
    assert count > 2
    return x, count


def verified_count(instance, x):
    """What the harness counts at a point, None if it is not feasible."""
    trace = check(instance, [(0.0, x)]).trace
    return -trace[-1][1] if trace else None


@pytest.mark.parametrize("name", VARIANTS)
def test_nothing_treated_is_feasible_and_counts_nothing(name):
    instance = build_variant(name, NUM_SAMPLES, 0)
    assert verified_count(instance, instance.starts[0]) == 0


@pytest.mark.parametrize(("name", "num_linking"), [(name, {"doses": 19, "groups": 90, "all": 91}.get(name, 18)) for name in VARIANTS])
def test_without_its_linking_rows_every_writing_falls_into_samples(name, num_linking):
    instance = build_variant(name, NUM_SAMPLES, 0)
    program, evaluations = instance.program, sample_columns(instance)
    # Rows inside a sample touch the columns of one evaluation; those that link touch many, or only columns that no evaluation has.
    touched = np.diff(sp.csr_array(abs(program.rows) @ evaluations.T).indptr)
    assert (touched != 1).sum() == num_linking
    switches = program.indicator_rows
    pairs = switches.matrix + choice(switches.column, program.num_columns)
    inside = sp.vstack([abs(program.rows[np.flatnonzero(touched == 1)]), evaluations, pairs])
    assert connected_components(inside.T @ inside)[0] == NUM_SAMPLES


def sample_columns(instance):
    """Inputs and output of each evaluation, shape (N, n)."""
    n = instance.program.num_columns
    parts = []
    for embedding in instance.embeddings:
        matrix, k = embedding.inputs.matrix, embedding.num_evaluations
        inputs = sp.csr_array((np.ones(matrix.nnz), matrix.indices, 18 * np.arange(k + 1)), shape=(k, n))
        parts.append(inputs + choice(embedding.outputs[:, 0], n))
    return sp.vstack(parts, format="csr")


def choice(columns, num_columns):
    """A one in each row, in these columns."""
    return sp.csr_array((np.ones(columns.size), (np.arange(columns.size), columns)), shape=(columns.size, num_columns))


def test_score_columns_and_big_m_rows_take_the_same_points(treated):
    x, count = treated
    scores = np.concatenate([x, load_water_network()(np.zeros((NUM_SAMPLES, 9)))[:, 0]])
    wide = build_variant("scores", NUM_SAMPLES, 0)
    inputs = wide.embeddings[0].points(scores)
    scores[-NUM_SAMPLES:] = wide.embeddings[0].network(inputs)[:, 0]
    assert verified_count(wide, scores) == count
    rows = build_variant("big-m", NUM_SAMPLES, 0)
    assert not rows.program.indicators
    assert verified_count(rows, x) == count
    # One more than are potable is refused by both.
    wrong, uncounted = x.copy(), np.flatnonzero(x[-NUM_SAMPLES:] == 0)[0]
    wrong[wrong.size - NUM_SAMPLES + uncounted] = 1.0
    assert verified_count(rows, wrong) is None


def test_big_m_rows_bind_nobody_who_is_not_counted():
    rows = build_variant("big-m", NUM_SAMPLES, 0)
    rng = np.random.default_rng(0)
    x = np.zeros(rows.program.num_columns)
    shares = rng.dirichlet(np.ones(NUM_SAMPLES), 18)
    x[: 18 * NUM_SAMPLES] = (shares * np.concatenate(budgets())[:, None]).reshape(2, 9, NUM_SAMPLES).transpose(0, 2, 1).reshape(-1)
    assert verified_count(rows, x) == 0


def test_the_permuted_writing_is_the_same_problem(treated):
    x, count = treated
    order = np.random.default_rng(0).permutation(x.size)
    assert verified_count(build_variant("permuted", NUM_SAMPLES, 0), x[order]) == count


def test_the_other_network_is_near_the_first_and_not_the_same():
    network, samples = load_water_network(), untreated_samples(200, 0)
    first, second = network(samples)[:, 0], another_network(network)(samples)[:, 0]
    assert np.corrcoef(first, second)[0, 1] > 0.95
    assert np.abs(first - second).max() > 0.01


def test_repeated_samples_are_candidates_too_and_budgets_grow_with_them():
    network, candidates = load_water_network(), untreated_samples(NUM_CANDIDATES, 0)
    instance = repeated(3 * NUM_CANDIDATES)
    samples = instance.embeddings[0].inputs.offset
    np.testing.assert_array_equal(samples[:NUM_CANDIDATES], candidates)
    assert (network(samples) < MARGIN).all()
    assert np.unique(samples, axis=0).shape == samples.shape
    np.testing.assert_allclose(instance.program.row_ub, 3 * np.concatenate(budgets()))
    assert verified_count(instance, instance.starts[0]) == 0
    again = repeat_samples(network, candidates, 3 * NUM_CANDIDATES, np.random.default_rng(0))
    np.testing.assert_array_equal(samples, again)
