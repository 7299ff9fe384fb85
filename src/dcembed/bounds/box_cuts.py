"""Hull cuts in a box of a tree: the same prices, over the part of every set that is in the box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dcembed.bounds.boxes import Bounder, Solved
from dcembed.bounds.cover import price_of
from dcembed.bounds.hull import PENALTY, Hull, cut_row
from dcembed.bounds.mixtures import Mixed, find_mixed_prices, mix
from dcembed.bounds.pieces import Piece
from dcembed.bounds.prices import Prices, find_prices
from dcembed.bounds.relaxation import Rows, no_rows, stack
from dcembed.program.tightening import Box

# Pieces up to which boxes are cut, rounds of cuts in one, and boxes of inputs for one price.
MAX_PIECES, NUM_ROUNDS, MAX_BOXES = 40, 3, 1000
# The tolerance of all prices together, as a share of the gap; and by what share of it a round has to raise the bound for another.
GAP_SHARE, WORTH = 0.1, 0.1


def solve_box(hull: Hull, bounder: Bounder, box: Box, parent: Solved, cutoff: Callable[[], float]) -> Solved:
    """The relaxation of a box inside its parent's, with cuts that hold in it: those of the parent, and new ones as long as they pay."""
    solved = bounder.solve(box, parent.bound, local=parent.cuts)
    if not 0 < len(hull.pieces) <= MAX_PIECES:
        return solved
    known: Mixed | None = None
    for _ in range(NUM_ROUNDS):
        room = cutoff() - solved.bound
        if not 0 < room < np.inf or solved.x is None:
            break
        mixed = _mixed(hull, bounder, box, PENALTY * room)
        known = mixed or known
        prices = find_prices(hull.owners, bounder.last) if mixed is None else mixed.prices
        fresh = _cuts(hull, prices, box, GAP_SHARE * room)
        if fresh.number == 0:
            break
        before = solved.bound
        solved = bounder.solve(box, solved.bound, solved.below, stack([solved.cuts, fresh]))
        if solved.bound - before < WORTH * room:
            break
    if solved.x is None:
        return solved
    solved = replace(solved, cuts=bounder.paid(solved.cuts))
    return solved if known is None else replace(solved, guess=known.guess, split=known.split)


def _cuts(hull: Hull, prices: Sequence[Prices], box: Box, tolerance: float) -> Rows:
    """Cuts of all pieces that are paid for."""
    found = [_cut(hull, piece, paid, box, tolerance / len(prices)) for piece, paid in zip(hull.pieces, prices, strict=True)]
    return stack([no_rows(hull.relaxation.num_columns), *(cut for cut in found if cut is not None)])


def _mixed(hull: Hull, bounder: Bounder, box: Box, penalty: float) -> Mixed | None:
    """Prices of mixtures of the pieces that are not switched, or settled; none for a curved host, where they take too long."""
    if hull.relaxation.quadratic is not None:
        return None
    best = hull.best()
    mixtures = [
        mix(number, piece.within(box), hull.cover(piece, _is_on(piece, box)), best)
        for number, piece in enumerate(hull.pieces)
        if _is_settled(piece, box)
    ]
    return find_mixed_prices(hull.owners, bounder, mixtures, penalty)


def _is_on(piece: Piece, box: Box) -> bool:
    own = piece.own
    return bool(own.switch < 0 or box.lb[own.switch] == own.on == box.ub[own.switch])


def _is_settled(piece: Piece, box: Box) -> bool:
    return bool(piece.own.switch < 0 or box.lb[piece.own.switch] == box.ub[piece.own.switch])


def _cut(hull: Hull, piece: Piece, prices: Prices, box: Box, tolerance: float) -> Rows | None:
    """The cut of one piece; one that is switched has none unless its switch is settled."""
    if not _is_settled(piece, box):
        return None
    here = piece.within(box)
    price = price_of(here, prices.columns, prices.functions)
    least = hull.cover(piece, _is_on(piece, box)).least(price, np.inf, tolerance, MAX_BOXES, here.box)
    return cut_row(hull.relaxation, piece, prices, least, 0.0)
