"""Every row of a relaxation holds at feasible points with the true functions: planes, indicators, tangents and hull cuts."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from dcembed import Options
from dcembed.bounds.cover import Cover, price_of
from dcembed.bounds.pieces import find_pieces
from dcembed.bounds.relaxation import Rows
from dcembed.network.network import evaluate

from .random_problems import Drawn, completed, draw
from .steps import opened, short_cuts
from .truth import measure

QUIET = Options(verbose=False, time_limit=20.0, prove=True)
SEEDS = range(2000, 2040)


def _feasible(drawn: Drawn, seed: int, number: int = 400) -> np.ndarray:
    rng, k = np.random.default_rng(seed), drawn.num_drawn
    program = drawn.program
    number = 40 if program.num_columns > 100 else number
    chosen = rng.uniform(program.lb[:k], program.ub[:k], (number, k))
    near = drawn.witness[:k] + rng.normal(size=(number, k)) * 10.0 ** rng.uniform(-6, 0, (number, 1)) * (program.ub - program.lb)[:k]
    chosen = np.vstack([drawn.witness[:k], chosen, near]).clip(program.lb[:k], program.ub[:k])
    chosen[:, program.integer[:k]] = np.round(chosen[:, program.integer[:k]])
    points = completed(drawn, chosen)
    return points[measure(drawn, points)[1]]


def _worst(rows: Rows, points: np.ndarray) -> float:
    """By how much a row is violated, relative to the sizes in it."""
    if rows.number == 0:
        return 0.0
    value, size = points @ rows.matrix.T, np.abs(points) @ abs(rows.matrix).T + 1e-9
    return float((np.maximum(rows.lb - value, value - rows.ub) / size).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_all_rows_hold_at_feasible_points(seed):
    drawn = draw(seed)
    points = _feasible(drawn, seed)
    with opened(drawn, QUIET, None) as (journal, here, box):
        shared, bounder = here.bounder.relaxation, here.bounder
        kept = np.array([journal.embedded.lower(point) for point in points])
        kept = np.clip(kept, *box) if np.isfinite(kept).all() else kept
        full = np.hstack([kept, np.array([shared.values(w) for w in kept])])
        assert (full >= shared.root.lb - 1e-9 * (1 + np.abs(full))).all()
        assert (full <= shared.root.ub + 1e-9 * (1 + np.abs(full))).all()
        bounder.solve(box)
        assert _worst(shared.fixed, full) <= 1e-9
        assert _worst(shared.switched(shared.root), full) <= 1e-9
        assert _worst(shared.planes(shared.below(box)), full) <= 1e-9
        list(islice(short_cuts(journal, here, bounder.solve(box), seed), 3))
        assert _worst(bounder.cuts, full) <= 1e-7


@pytest.mark.parametrize("seed", SEEDS)
def test_the_least_over_a_cover_is_below_every_point(seed):
    drawn, rng = draw(seed), np.random.default_rng(seed)
    with opened(drawn, QUIET, None) as (_, here, _):
        for piece in find_pieces(here.bounder.relaxation):
            columns, functions = rng.normal(size=piece.columns.size), np.abs(rng.normal(size=piece.functions.size))
            w = rng.uniform(piece.lb, piece.ub, (300, piece.columns.size))
            w = np.where(rng.random(w.shape) < 0.2, piece.lb, w)
            u = np.tile(piece.offset, (300, 1))
            np.add.at(u.T, piece.place, (w * piece.factor).T)
            predictions = evaluate(piece.network, u)
            value = w @ columns + predictions @ (piece.weights.T @ functions)
            holds = (u @ piece.own.slope.T + predictions @ piece.own.weights.T <= piece.own.rhs).all(axis=1)
            for is_restricted in (False, True):
                least = Cover(piece, is_restricted, lambda: None).least(price_of(piece, columns, functions), np.inf, 1e-3, 200)
                lowest = value[holds].min(initial=np.inf) if is_restricted else value.min()
                assert least <= lowest + 1e-9 * (1 + abs(least if np.isfinite(least) else 0.0))
