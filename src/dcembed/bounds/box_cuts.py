"""Hull cuts in a box of a tree: the same prices, over the part of every set that is in the box."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dcembed.bounds.boxes import Bounder, Solved
from dcembed.bounds.cover import price_of
from dcembed.bounds.hull import Hull, cut_row
from dcembed.bounds.pieces import Piece
from dcembed.bounds.prices import Prices, find_prices
from dcembed.bounds.relaxation import Rows, no_rows, stack
from dcembed.program.tightening import Box

# Pieces up to which boxes are cut, rounds of cuts in one, and boxes of inputs for one price.
MAX_PIECES, NUM_ROUNDS, MAX_BOXES = 40, 3, 1000
# The tolerance of all prices together, as a share of the gap; and by what share of it a round has to raise the bound for another.
GAP_SHARE, WORTH = 0.1, 0.1


def solve_box(hull: Hull, bounder: Bounder, box: Box, known: float, cutoff: Callable[[], float]) -> Solved:
    """The relaxation of a box with cuts that hold in it, as long as they pay."""
    solved = bounder.solve(box, known)
    if not 0 < len(hull.pieces) <= MAX_PIECES:
        return solved
    cuts = no_rows(hull.relaxation.num_columns)
    for _ in range(NUM_ROUNDS):
        room = cutoff() - solved.bound
        if not 0 < room < np.inf or solved.x is None:
            return solved
        fresh = _cuts(hull, find_prices(hull.owners, bounder.last), box, GAP_SHARE * room)
        if fresh.number == 0:
            return solved
        cuts, before = stack([cuts, fresh]), solved.bound
        solved = bounder.solve(box, solved.bound, solved.below, cuts)
        if solved.bound - before < WORTH * room:
            return solved
    return solved


def _cuts(hull: Hull, prices: Sequence[Prices], box: Box, tolerance: float) -> Rows:
    """Cuts of all pieces that are paid for."""
    found = [_cut(hull, piece, paid, box, tolerance / len(prices)) for piece, paid in zip(hull.pieces, prices, strict=True)]
    return stack([no_rows(hull.relaxation.num_columns), *(cut for cut in found if cut is not None)])


def _cut(hull: Hull, piece: Piece, prices: Prices, box: Box, tolerance: float) -> Rows | None:
    """The cut of one piece; one that is switched has none unless its switch is settled."""
    own = piece.own
    is_on = own.switch < 0 or box.lb[own.switch] == own.on == box.ub[own.switch]
    if own.switch >= 0 and not is_on and box.lb[own.switch] < box.ub[own.switch]:
        return None
    here = piece.within(box)
    price = price_of(here, prices.columns, prices.functions)
    least = hull.cover(piece, is_on).least(price, np.inf, tolerance, MAX_BOXES, here.box)
    return cut_row(hull.relaxation, piece, prices, least, 0.0)
