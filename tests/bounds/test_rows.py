"""Every row of a relaxation holds at feasible points with the true functions, and covers are below every point of their pieces."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed import Options
from dcembed.bounds.box_parts import Builder
from dcembed.bounds.cover import Cover
from dcembed.bounds.lagrangian import price_of
from dcembed.bounds.pieces import find_pieces
from dcembed.crew.crew import Crew
from dcembed.network.network import evaluate
from dcembed.run.clock import Clock

from .random_problems import draw
from .steps import opened, violated_rows
from .truth import ALLOWED

SEEDS = range(2000, 2040)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_rows_hold_at_feasible_points(seed):
    assert max(violated_rows(draw(seed)).values()) <= ALLOWED


@pytest.mark.parametrize("seed", SEEDS)
def test_the_least_over_a_cover_is_below_every_point(seed):
    drawn, rng = draw(seed), np.random.default_rng(seed)
    with opened(drawn, Options(verbose=False, time_limit=20.0, prove=True), None) as (_, here, _):
        for piece in find_pieces(here.bounder.relaxation):
            columns, functions = rng.normal(size=piece.columns.size), np.abs(rng.normal(size=piece.functions.size))
            w = rng.uniform(piece.lb, piece.ub, (300, piece.columns.size))
            w = np.where(rng.random(w.shape) < 0.2, piece.lb, w)
            w = np.where(here.journal.embedded.integer[piece.columns], np.round(w), w)
            u = np.tile(piece.offset, (300, 1))
            np.add.at(u.T, piece.place, (w * piece.factor).T)
            predictions = evaluate(piece.network, u)
            value = w @ columns + predictions @ (piece.weights.T @ functions)
            holds = (u @ piece.own.slope.T + predictions @ piece.own.weights.T <= piece.own.rhs).all(axis=1)
            for is_restricted in (False, True):
                least = Cover(piece, is_restricted, Builder(Crew(), Clock(np.inf), lambda: None)).least(
                    price_of(piece, columns, functions), np.inf, 1e-3, 200
                )
                lowest = value[holds].min(initial=np.inf) if is_restricted else value.min()
                assert least <= lowest + 1e-9 * (1.0 + abs(lowest) if np.isfinite(lowest) else 1.0)
