"""The moves there are: each a function of the terrain, the verified points, a size and a generator of random numbers to a start."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcembed.engine.moves import blocks, crossover, exchange, opposite, perturbation, relaxation
from dcembed.engine.moves.chooser import Chooser, Kind
from dcembed.engine.moves.suggestion import Suggestion
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.moves.verified import Verified

Move = Callable[[Terrain, Verified, float, np.random.Generator], Suggestion | None]

MOVES: dict[str, Move] = {
    exchange.NAME: exchange.exchange,
    perturbation.NAME: perturbation.perturb,
    crossover.NAME: crossover.cross,
    blocks.NAME: blocks.open_blocks,
    relaxation.NAME: relaxation.open_by_relaxation,
    opposite.NAME: opposite.mirror,
}
# With which each begins: kicks in ranges, neighbourhoods in shares of the integers, mirrored inputs in shares of all.
SIZES = {exchange.NAME: 0.5, perturbation.NAME: 0.1, crossover.NAME: 0.2, blocks.NAME: 0.15, relaxation.NAME: 0.15, opposite.NAME: 0.5}
# What it takes to make a start, in steps, where that is more than one.
EFFORTS = {relaxation.NAME: 2.0, "scout": 2.0, "columns": 3.0}
# Moves that open integers, and those of continuous inputs.
OF_INTEGERS, OF_INPUTS = (exchange.NAME, blocks.NAME, relaxation.NAME), (opposite.NAME,)


def open_chooser(terrain: Terrain, others: tuple[str, ...]) -> Chooser:
    """The kinds of starts of a problem: the moves that it has a use for, and other ways to start."""
    fitting = [
        name
        for name in MOVES
        if not (name in OF_INTEGERS and terrain.integers.size == 0) and not (name in OF_INPUTS and terrain.inputs.size == 0)
    ]
    efforts = {**EFFORTS, exchange.NAME: exchange.effort(terrain)}
    return Chooser(tuple(Kind(name, SIZES.get(name, 1.0), efforts.get(name, 1.0)) for name in (*fitting, *others)))
