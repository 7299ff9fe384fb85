"""Mixtures: rows that good points violate are paid for at once, and what is mixed leads to good points."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Options, Program, Status, build_mlp
from dcembed.bounds.hull import cut_hull
from dcembed.network.network import evaluate
from dcembed.run.starts import measure_start

from .steps import opened

NUM, LIMIT = 3, 1.5
# A hill of height 1 at 1, and a higher one of 1.3 at 2 that takes more of what is shared.
HILLS = build_mlp([[[1.0], [1.0], [1.0], [1.0]], [[1.0, -2.0, 2.6, -3.2]]], [[0.0, -1.0, -1.5, -2.0], None])


def _shared(num=NUM, limit=LIMIT):
    """max sum f(u_i) with sum u_i <= limit."""
    n = 2 * num
    program = Program(
        np.repeat([0.0, 1.0], num),
        rows=np.repeat([[1.0, 0.0]], num, axis=1),
        row_ub=[limit],
        lb=np.zeros(n) - np.repeat([0, 9], num),
        ub=np.full(n, 3.0),
        maximize=True,
    )
    return program, [Embedding(HILLS, [i], [num + i]) for i in range(num)]


def _lagrangian(num, limit):
    """The least over prices of what each piece is worth alone."""
    u = np.linspace(0.0, 3.0, 3001)
    value = evaluate(HILLS, u[:, None])[:, 0]
    return min(num * (value - price * u).max() + price * limit for price in np.linspace(0.0, 3.0, 3001))


def _bound_of_cuts(program, embeddings, start):
    with opened(SimpleNamespace(program=program, embeddings=embeddings), Options(verbose=False, prove=True), start) as (journal, here, box):
        journal.offer(measure_start(journal.embedded, journal.embedded.lower(start)))
        root = here.bounder.solve(box)
        for cut in cut_hull(here.hull, here.bounder, journal, root, here.cutoff):
            root = cut
        return -root.bound, root.guess


@pytest.mark.parametrize(("num", "limit"), [(2, 1.5), (3, 1.5), (3, 4.0), (5, 4.2)])
def test_cuts_reach_what_prices_can_prove(num, limit):
    program, embeddings = _shared(num, limit)
    bound, guess = _bound_of_cuts(program, embeddings, np.zeros(2 * num))
    lagrangian = _lagrangian(num, limit)
    assert lagrangian - 1e-6 <= bound <= lagrangian + 0.01 * abs(lagrangian)
    # Nothing is mixed but points of the pieces: hills are where they are.
    assert guess is not None


def test_a_proof_finds_better_points_by_itself():
    program, embeddings = _shared(3, 4.0)
    poor = np.zeros(6)
    result = dcembed.prove(program, embeddings, point=poor, options=Options(verbose=False, time_limit=20))
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(3.3, abs=1e-3)


def test_what_a_restriction_misses_is_told_by_its_functions():
    program, embeddings = _shared(2, 1.5)
    # Both outputs in one row: f(u_0) + f(u_1) <= 0.5.
    rows = np.vstack([program.rows.toarray(), [[0.0, 0.0, 1.0, 1.0]]])
    limited = Program(program.cost, rows=rows, row_ub=[1.5, 0.5], lb=program.lb, ub=program.ub, maximize=True)
    with opened(SimpleNamespace(program=limited, embeddings=embeddings), Options(verbose=False, prove=True), None) as (journal, here, _):
        relaxation, n = here.bounder.relaxation, journal.embedded.host.num_columns
        for u, missed in (([0.7, 0.7], 0.9), ([0.2, 0.1], 0.0)):
            w = journal.embedded.lower(np.concatenate([u, np.zeros(2)]))[:n]
            excess = relaxation.excess(w, relaxation.values(w))
            # Bounds of the outputs are restrictions, too, and hold.
            of_row = relaxation.measurement == relaxation.measurement[int(excess.argmax())]
            assert excess[of_row] == pytest.approx(missed)
            assert (excess[~of_row] == 0.0).all()
            assert np.count_nonzero(excess) == (2 if missed else 0)
