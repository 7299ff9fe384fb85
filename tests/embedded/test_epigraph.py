"""The epigraph formulations hold the components exactly (theorem 4.2) and have the sizes the paper states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from dcembed import AffineInputs, Embedding, Program, build_mlp
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.epigraph import Epigraph
from dcembed.embedded.shared_epigraph import build_shared, shared_values
from dcembed.embedded.two_path_epigraph import build_two_path, two_path_values
from dcembed.network.network import preactivations, units
from strategies import networks, seeds

BUILDERS = {"shared": build_shared, "two-path": build_two_path}
VALUES = {"shared": shared_values, "two-path": two_path_values}


def embed(network, seed: int, k: int = 2) -> EmbeddedProgram:
    """k evaluations with affine inputs, measured in the objective, in ranges and in an equality."""
    rng = np.random.default_rng(seed)
    num_host, num_outputs = 3, k * network.num_outputs
    n = num_host + num_outputs
    matrix = np.zeros((k * network.num_inputs, n))
    matrix[:, :num_host] = rng.normal(size=(k * network.num_inputs, num_host))
    inputs = AffineInputs(matrix, rng.normal(size=(k, network.num_inputs)))
    rows = np.hstack([rng.normal(size=(2, num_host)), rng.normal(size=(2, num_outputs))])
    program = Program(
        cost=rng.normal(size=n), rows=rows, row_lb=[-1.0, 0.5], row_ub=[1.0, 0.5], lb=np.full(n, -np.inf), ub=np.full(n, np.inf)
    )
    return eliminate(program, [Embedding(network, inputs, num_host + np.arange(num_outputs).reshape(k, -1))])


def kept_components(embedded: EmbeddedProgram, w) -> np.ndarray:
    """The unit part of G of every measurement at w, straight from the split."""
    total = np.zeros(embedded.restrictions.num_restrictions + 1)
    for measured in embedded.networks:
        z = units(measured.network, preactivations(measured.network, measured.points(w)))
        for t in range(measured.terms.block.size):
            terms = measured.terms
            value = sum(float(weight[terms.direction[t]] @ zl[terms.block[t]]) for weight, zl in zip(measured.split.convex, z, strict=True))
            total[terms.measurement[t]] += terms.scale[t] * value
    return total


def minimize_over(epigraph: Epigraph, weights: np.ndarray, w: np.ndarray):
    return linprog(
        weights,
        A_ub=-epigraph.on_auxiliary,
        b_ub=-(epigraph.row_lb - epigraph.on_host @ w),
        bounds=np.column_stack([epigraph.lb, np.full(epigraph.num_columns, np.inf)]),
        method="highs",
    )


@pytest.mark.parametrize("formulation", BUILDERS)
@given(network=networks(max_stages=3, max_width=4, scales=(0.1, 1.0, 3.0)), seed=seeds())
def test_the_least_epigraph_value_is_the_component(formulation, network, seed):
    embedded = embed(network, seed)
    epigraph = BUILDERS[formulation](embedded)
    w = np.random.default_rng(seed + 1).normal(size=embedded.host.num_columns)
    expected = kept_components(embedded, w)
    if epigraph.num_columns == 0:
        assert np.allclose(expected, 0)
        return
    for r, value in enumerate(expected):
        answer = minimize_over(epigraph, epigraph.kept[[r]].toarray()[0], w)
        assert answer.success
        assert np.isclose(answer.fun, value, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("formulation", BUILDERS)
@given(network=networks(), seed=seeds())
def test_one_assignment_is_feasible_and_least_for_all_measurements_at_once(formulation, network, seed):
    embedded = embed(network, seed)
    epigraph = BUILDERS[formulation](embedded)
    w = np.random.default_rng(seed + 1).normal(size=embedded.host.num_columns)
    v = VALUES[formulation](embedded, w)
    assert v.shape == (epigraph.num_columns,)
    size = 1e-10 * (1 + np.abs(epigraph.on_auxiliary) @ np.abs(v) + np.abs(epigraph.on_host) @ np.abs(w) + np.abs(epigraph.row_lb))
    assert np.all(v >= epigraph.lb)
    assert np.all(epigraph.on_host @ w + epigraph.on_auxiliary @ v >= epigraph.row_lb - size)
    expected = kept_components(embedded, w)
    assert np.allclose(epigraph.kept @ v, expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(expected).max()))


@given(network=networks(max_stages=3, max_width=4, scales=(1.0,)), seed=seeds(), push=st.floats(0, 5))
def test_both_formulations_have_the_same_minimum(network, seed, push):
    embedded = embed(network, seed)
    w = push * np.random.default_rng(seed + 2).normal(size=embedded.host.num_columns)
    weights = np.random.default_rng(seed).random(embedded.restrictions.num_restrictions + 1)
    values = []
    for build in BUILDERS.values():
        epigraph = build(embedded)
        if epigraph.num_columns:
            values.append(minimize_over(epigraph, weights @ epigraph.kept, w).fun)
    assert not values or np.isclose(*values, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("widths", [(5,), (5, 3), (4, 6, 2)])
def test_sizes_are_the_papers(k, widths):
    rng = np.random.default_rng(0)
    sizes = [2, *widths, 1]
    network = build_mlp([rng.normal(size=(b, a)) for a, b in itertools.pairwise(sizes)], [None] * (len(sizes) - 1))
    n = 2 * k
    program = Program(cost=np.zeros(n + k), ub=np.concatenate([np.full(n, np.inf), np.zeros(k)]))
    embedded = eliminate(program, [Embedding(network, np.arange(n).reshape(k, 2), n + np.arange(k))])
    hidden, first = k * sum(widths), k * widths[0]
    shared, two_path = build_shared(embedded), build_two_path(embedded)
    assert (shared.num_columns, shared.num_rows, np.isfinite(shared.lb).sum()) == (hidden, hidden, hidden)
    # Of the paper's 3 N - n_1 inequalities the n_1 signs of the first layer are bounds.
    assert (two_path.num_columns, two_path.num_rows) == (2 * hidden - first, 3 * hidden - first - first)


def test_evaluations_that_nothing_uses_cost_nothing():
    network = build_mlp([[[1.0]], [[1.0]]], [None, None])
    program = Program(cost=[0.0, 0.0, 0.0, 0.0], ub=[np.inf, np.inf, np.inf, 1.0])
    embedded = eliminate(program, [Embedding(network, [[0], [1]], [[2], [3]])])
    assert build_shared(embedded).num_columns == 1


def test_a_small_epigraph_reads_like_the_theorem():
    # f = 3 relu(2 x - 1) - relu(-x) with x = w_0; the row f <= 0 keeps G = 3 u_1 and linearizes H = relu(-x).
    network = build_mlp([[[2.0], [-1.0]], [[3.0, -1.0]]], [[-1.0, 0.0], None])
    embedded = eliminate(Program(cost=[1.0, 0.0], ub=[np.inf, 0.0]), [Embedding(network, [0], [1])])
    shared = build_shared(embedded)
    assert np.array_equal(shared.on_host.toarray(), [[-2.0], [1.0]])
    assert np.array_equal(shared.on_auxiliary.toarray(), np.eye(2))
    assert np.array_equal(shared.row_lb, [-1.0, 0.0])
    # The measurement is split along its direction, f / 1, and scaled back.
    assert np.allclose(shared.kept.toarray(), [[0.0, 0.0], [3.0, 0.0]])
    assert sp.issparse(shared.kept)
