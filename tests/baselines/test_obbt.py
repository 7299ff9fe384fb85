"""Tightened bounds: valid, inside the plain ones, shared between evaluations, and kept."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from benchmarks.problems.pooling import load_pooling_network, pooling_instance
from dcembed import AffineInputs, Embedding, Program
from dcembed.baselines import obbt
from dcembed.embedded.big_m import build_big_m, default_bounds
from dcembed.network.network import preactivations
from problems import quiet, random_mlp
from repetitions import IS_LONG

# The default gives up a bound after a tenth of a second, which a busy machine may take for any of them.
tighten_bounds = partial(obbt.tighten_bounds, seconds_each=100.0)
BINARIES = {12: 60_049, 13: 76_374, 14: 95_241, 15: 117_219, 16: 142_149, 17: 170_714}


@pytest.fixture(autouse=True)
def forget():
    """Each test begins without bounds in memory."""
    obbt._kept.clear()


def blocks_problem(seed: int, sizes=(2, 8, 8, 8, 1), k: int = 3, shift: float = 0.0):
    """k evaluations with columns of their own in [-1, 1], moved by constants, and a row over the columns of each."""
    rng = np.random.default_rng(seed)
    n = 3 * k
    matrix = np.eye(2 * k, n)
    offset = shift * rng.normal(size=(k, 2))
    rows = np.zeros((k, n))
    rows[np.arange(k), 2 * np.arange(k)] = rows[np.arange(k), 2 * np.arange(k) + 1] = 1.0
    free = np.full(k, np.inf)
    program = Program(
        np.concatenate([np.zeros(2 * k), np.ones(k)]),
        rows=rows,
        row_ub=0.5,
        lb=np.concatenate([-np.ones(2 * k), -free]),
        ub=np.concatenate([np.ones(2 * k), free]),
    )
    return program, Embedding(random_mlp(seed, sizes), AffineInputs(matrix, offset), 2 * k + np.arange(k))


def sample(program, rng, num=400):
    points = rng.uniform(-1, 1, (num, program.num_columns))
    return points[(program.rows @ points.T <= program.row_ub[:, None]).all(axis=0)]


@pytest.mark.parametrize("shift", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_and_are_inside_the_plain_ones(seed, shift):
    program, embedding = blocks_problem(seed, shift=shift)
    plain, tight = default_bounds(program, [embedding])[0], tighten_bounds(program, [embedding]).bounds[0]
    for (low, high), (tight_low, tight_high) in zip(plain, tight, strict=True):
        assert (tight_low >= low).all()
        assert (tight_high <= high).all()
    assert sum((b - a).sum() for a, b in tight) < 0.98 * sum((b - a).sum() for a, b in plain)
    for w in sample(program, np.random.default_rng(seed)):
        for (low, high), a in zip(tight, preactivations(embedding.network, embedding.points(w)), strict=True):
            assert (low - 1e-9 <= a).all()
            assert (a <= high + 1e-9).all()


def test_a_stage_of_one_network_is_bounded_exactly():
    program, embedding = blocks_problem(0, sizes=(2, 12, 1), shift=1.0)
    low, high = tighten_bounds(program, [embedding]).bounds[0][0]
    # The corners of the box [-1, 1]^2 cut by x + y <= 1/2.
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [-0.5, 1], [1, -0.5]])
    offset = embedding.affine_inputs(program.num_columns).offset
    for block in range(3):
        a = preactivations(embedding.network, corners + offset[block])[0]
        np.testing.assert_allclose(low[block], a.min(axis=0), atol=1e-5)
        np.testing.assert_allclose(high[block], a.max(axis=0), atol=1e-5)


def test_equal_evaluations_share_their_bounds():
    program, embedding = blocks_problem(0, k=6)
    one, other = blocks_problem(0, k=1)
    many = tighten_bounds(program, [embedding])
    obbt._kept.clear()
    single = tighten_bounds(one, [other])
    assert many.num_problems == single.num_problems > 0
    for (low, high), (single_low, single_high) in zip(many.bounds[0], single.bounds[0], strict=True):
        np.testing.assert_array_equal(low, np.tile(single_low, (6, 1)))
        np.testing.assert_array_equal(high, np.tile(single_high, (6, 1)))


def test_bounds_are_kept_in_memory_and_in_a_folder(tmp_path, monkeypatch):
    program, embedding = blocks_problem(1)
    first = tighten_bounds(program, [embedding], tmp_path)
    monkeypatch.setattr(obbt._Tightener, "_optimize", lambda *rest: pytest.fail("solved again"))
    for forget_memory in (False, True):
        if forget_memory:
            obbt._kept.clear()
        again = tighten_bounds(program, [embedding], tmp_path)
        assert again.seconds == first.seconds
        assert again.num_problems == first.num_problems
        for (low, high), (first_low, first_high) in zip(again.bounds[0], first.bounds[0], strict=True):
            np.testing.assert_array_equal(low, first_low)
            np.testing.assert_array_equal(high, first_high)


def test_kept_bounds_belong_to_their_network_and_box(tmp_path):
    for seed, width in ((1, 1.0), (2, 1.0), (1, 0.5)):
        program, embedding = blocks_problem(seed)
        narrow = Program(program.cost, rows=program.rows, row_ub=0.5, lb=np.maximum(program.lb, -width), ub=program.ub)
        kept = tighten_bounds(narrow, [embedding], tmp_path).bounds[0]
        obbt._kept.clear()
        fresh = tighten_bounds(narrow, [embedding]).bounds[0]
        obbt._kept.clear()
        for (low, high), (fresh_low, fresh_high) in zip(kept, fresh, strict=True):
            np.testing.assert_allclose(low, fresh_low, atol=1e-9)
            np.testing.assert_allclose(high, fresh_high, atol=1e-9)


def test_an_interrupted_tightening_keeps_plain_bounds_and_remembers_nothing():
    program, embedding = blocks_problem(1)
    stopped = tighten_bounds(program, [embedding], interrupted=lambda: True)
    for (low, high), (plain_low, plain_high) in zip(stopped.bounds[0], default_bounds(program, [embedding])[0], strict=True):
        np.testing.assert_allclose(low, plain_low, atol=1e-12)
        np.testing.assert_allclose(high, plain_high, atol=1e-12)
    assert not obbt._kept


def test_the_time_of_tightening_is_reported_apart():
    program, embedding = blocks_problem(1)
    tight = obbt.tighten_bounds(program, [embedding])
    result = obbt.solve(program, embedding, options=quiet())
    assert result.preparation_seconds == tight.seconds > 0


# The larger ones, `DCEMBED_REPETITIONS=1` for all, take twice as long and the same way.
@pytest.mark.parametrize("m", BINARIES if IS_LONG else [12, 13])
def test_pooling_keeps_exactly_the_binaries_of_the_paper(m, data_folder):
    instance = pooling_instance(load_pooling_network(), m, 0)
    tight = tighten_bounds(instance.program, instance.embeddings)
    # Two problems for each of 64 units serve all scenarios.
    assert tight.num_problems == 128
    assert build_big_m(instance.program, instance.embeddings, tight.bounds).num_binaries == BINARIES[m]
