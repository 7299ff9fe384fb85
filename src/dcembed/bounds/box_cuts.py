"""Hull cuts in a box of a tree: the same prices, over the part of every set that is in the box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dcembed.bounds.boxes import Bounder, Solved
from dcembed.bounds.hull import MAX_PIECES, Hull, cut_row, is_on, is_settled, mixed_within
from dcembed.bounds.lagrangian import price_of
from dcembed.bounds.mixtures import Mixed
from dcembed.bounds.pieces import Piece
from dcembed.bounds.prices import Prices, find_prices
from dcembed.bounds.relaxation import Rows, no_rows, stack
from dcembed.program.tightening import Box

# Rounds of cuts in a box, and boxes of inputs for one price.
NUM_ROUNDS, MAX_BOXES = 3, 1000
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
        # For a curved host mixtures take too long in every box.
        mixed = mixed_within(hull, bounder, box, room) if hull.relaxation.quadratic is None else None
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


def _cut(hull: Hull, piece: Piece, prices: Prices, box: Box, tolerance: float) -> Rows | None:
    """The cut of one piece; one that is switched has none unless its switch is settled."""
    if not is_settled(piece, box):
        return None
    here = piece.within(box)
    price = price_of(here, prices.columns, prices.functions)
    least = hull.cover(piece, is_on(piece, box)).least(price, np.inf, tolerance, MAX_BOXES, here.box)
    return cut_row(hull.relaxation, piece, prices, least, 0.0)
