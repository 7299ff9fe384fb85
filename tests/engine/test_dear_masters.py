"""Hosts with many integers: masters of the whole problem are dear, so tangents go first and neighbourhoods follow soon."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dcembed
from dcembed import AffineInputs, Embedding, Program
from dcembed.engine.bundle import remedies
from dcembed.engine.moves import exchange, table
from dcembed.engine.search import turns
from dcembed.program.tightening import Box, is_same_box
from dcembed.solvers import BACKENDS, is_installed
from dcembed.solvers.base import Limits, SessionOptions
from move_problems import jobs_problem, open_terrain
from problems import random_mlp

NUM_SITES, LABELS = 5, np.linspace(-1.0, 1.0, 9)


def labelled_sites(seed: int) -> tuple[Program, Embedding]:
    """Sites on a ring, each with one label of nine, 45 binaries in all; what a site costs depends on its own label and on its neighbours'."""
    rng = np.random.default_rng(seed)
    num_picks, n = NUM_SITES * LABELS.size, NUM_SITES * (LABELS.size + 2)
    site, cost = num_picks + np.arange(NUM_SITES), num_picks + NUM_SITES + np.arange(NUM_SITES)
    rows = np.zeros((2 * NUM_SITES + 1, n))
    inputs = np.zeros((2 * NUM_SITES, n))
    for i in range(NUM_SITES):
        picks = slice(LABELS.size * i, LABELS.size * (i + 1))
        rows[i, picks] = 1.0
        rows[NUM_SITES + i, picks], rows[NUM_SITES + i, site[i]] = LABELS, -1.0
        inputs[2 * i, site[i]] = 1.0
        inputs[2 * i + 1, [site[i - 1], site[(i + 1) % NUM_SITES]]] = 0.5
    rows[-1, site] = 1.0
    sides = np.concatenate([np.ones(NUM_SITES), np.zeros(NUM_SITES)])
    program = Program(
        cost=np.concatenate([np.zeros(num_picks), 0.3 * rng.normal(size=NUM_SITES), np.ones(NUM_SITES)]),
        rows=rows,
        row_lb=np.append(sides, -np.inf),
        row_ub=np.append(sides, 1.0),
        lb=np.concatenate([np.zeros(num_picks), np.full(NUM_SITES, -1.0), np.full(NUM_SITES, -np.inf)]),
        ub=np.concatenate([np.ones(num_picks + NUM_SITES), np.full(NUM_SITES, np.inf)]),
        integer=np.arange(num_picks),
    )
    return program, Embedding(random_mlp(seed, (2, 10, 8, 1)), AffineInputs(inputs, np.zeros((NUM_SITES, 2))), cost)


def best_labels(program: Program, embedding: Embedding) -> float:
    """The optimum, by all 59,049 choices."""
    labels = np.array(list(itertools.product(LABELS, repeat=NUM_SITES)))
    labels = labels[labels.sum(axis=1) <= 1.0 + 1e-9]
    beside = 0.5 * (np.roll(labels, 1, axis=1) + np.roll(labels, -1, axis=1))
    cost = embedding.network(np.stack([labels, beside], axis=-1).reshape(-1, 2)).reshape(labels.shape)
    return float((cost.sum(axis=1) + labels @ program.cost[-2 * NUM_SITES : -NUM_SITES]).min())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_many_labels_end_at_the_optimum(seed):
    program, embedding = labelled_sites(seed)
    found = dcembed.solve(program, embedding, options={"verbose": False, "max_starts": 12})
    assert found.objective == pytest.approx(best_labels(program, embedding), abs=1e-6)


def test_first_starts_are_walked_by_tangents_the_best_of_them_goes_on_and_moves_follow():
    problem = labelled_sites(0)
    labels = np.eye(LABELS.size)[[0, 0, 1, 2, 0]].reshape(-1)
    start = np.concatenate([labels, labels.reshape(NUM_SITES, -1) @ LABELS, np.zeros(NUM_SITES)])
    result = dcembed.solve(*problem, start=start, options={"verbose": False, "max_starts": 4})
    steps = [(record.start, record.kind) for record in result.history]
    walked = steps[: next(k for k, (_, kind) in enumerate(steps) if kind == "bundle")]
    assert {number for number, _ in walked} == {0, 1}
    # Then masters of the whole problem, in one of the two.
    assert steps[len(walked)][0] in (0, 1)
    assert {record.origin for record in result.history if record.start > 1} <= set(table.MOVES)


def test_a_start_with_dear_masters_is_left_and_moves_follow(monkeypatch):
    monkeypatch.setattr(turns, "DEAR_PIVOTS", 0)
    monkeypatch.setattr("dcembed.engine.search.ground.MANY_INTEGERS", 1000)
    found = dcembed.solve(*labelled_sites(1), options={"verbose": False, "max_starts": 8})
    masters = [record for record in found.history if record.start == 0 and record.kind == "bundle"]
    # The last ones are of the end of the search, where the best start is finished.
    others = next(k for k, record in enumerate(found.history) if record.start > 0)
    assert sum(record in masters for record in found.history[:others]) == 1
    assert {record.origin for record in found.history if record.start > 1} & set(table.MOVES)


def test_one_pass_has_all_masters(monkeypatch):
    monkeypatch.setattr(turns, "DEAR_PIVOTS", 0)
    options = {"verbose": False, "search": "converge", "max_starts": 1}
    found = dcembed.solve(*labelled_sites(1), options=options)
    monkeypatch.undo()
    assert found.objective == dcembed.solve(*labelled_sites(1), options=options).objective
    assert len([record for record in found.history if record.kind == "bundle"]) > 1


@pytest.mark.parametrize("name", ["highs", "scip", "gurobi"])
def test_solvers_tell_the_work_of_integers(name):
    rng = np.random.default_rng(0)
    weights = rng.integers(5, 50, (3, 14)).astype(float)
    program = Program(cost=-weights.sum(axis=0) - 1.0, rows=weights, row_ub=weights.sum(axis=1) / 3, lb=0.0, ub=1.0, integer=np.arange(14))
    backend = BACKENDS[name]
    if not is_installed(backend):
        pytest.skip(f"{name} is not installed")
    told = [backend.open(program, SessionOptions()).solve(Limits()).num_pivots for _ in range(2)]
    assert told[0] == told[1] > 0
    assert backend.open(program, SessionOptions()).solve(Limits(), relax=True).num_pivots < told[0]


def test_exchanges_are_dearer_in_larger_hosts():
    small, large = (exchange.effort(open_terrain(*problem)) for problem in (jobs_problem(), labelled_sites(0)))
    assert 1.0 < small < large


def test_a_box_that_was_seen_is_not_drawn_again(monkeypatch):
    drawn: list[Box] = []
    real = remedies.redrawn

    def watched(problem, state, radius, clock):
        box = state.first.around(state.point.w, radius).box
        assert not is_same_box(box, state.model.region.box)
        drawn.append(box)
        return real(problem, state, radius, clock)

    monkeypatch.setattr(remedies, "redrawn", watched)
    dcembed.solve(*labelled_sites(2), options={"verbose": False, "search": "converge", "max_starts": 2})
    assert drawn
