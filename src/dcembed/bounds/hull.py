"""Hull cuts: what is least over the set of a piece, at the prices of the relaxation, is a cut for the whole problem.

At the optimum of a relaxation the rows that are not a piece's own put prices on its columns and functions. The least price over the true
set of the piece is a cut that the optimum violates unless it is right already; all cuts together make the Lagrangian bound of the pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.box_parts import Builder
from dcembed.bounds.boxes import Bounder, Multiplied, Solved
from dcembed.bounds.cover import Cover
from dcembed.bounds.covers import Covers
from dcembed.bounds.exact_piece import is_encodable, least_exactly
from dcembed.bounds.hint import Hint
from dcembed.bounds.lagrangian import price_of
from dcembed.bounds.mixtures import Mixed, find_mixed_prices, mix
from dcembed.bounds.pieces import Piece, count_pieces, find_pieces
from dcembed.bounds.prices import Owners, Prices, find_prices
from dcembed.bounds.relaxation import Relaxation, Rows, no_rows
from dcembed.crew.crew import Crew
from dcembed.crew.parts import share_out
from dcembed.crew.task import Shared
from dcembed.crew.watch import Watch
from dcembed.options import Options
from dcembed.program.tightening import Box
from dcembed.run.clock import Clock
from dcembed.run.journal import Journal

# Inputs up to which a piece is covered by boxes, and evaluations up to which they are: each cover takes its time and its memory.
MAX_INPUTS, MAX_COVERED = 12, 5000
# Rounds without a better bound, by this share of the gap, after which cutting ends; and rounds at most.
PATIENCE, WORTH, MAX_ROUNDS = 3, 0.02, 200
# The tolerance of a price is this share of the gap, spread over the pieces that have one, and no less than this share of the tolerated gap.
GAP_SHARE, LEAST_SHARE = 0.25, 0.3
# Boxes for one price at most; after a round that brings too little so many times more, with so much of the tolerance.
MAX_BOXES, MORE_BOXES, STRICTER = 20_000, 2.0, 0.3
# Pieces with at least so many inputs are looked at in so many boxes, and then encoded if they have few units.
MANY_INPUTS, SCREENING = 7, 2000
# Pieces whose prices are smaller than this, in relation to the largest, are not paid for.
LEAST_PRICE = 1e-6
# The tolerance is spread over pieces by this power of their prices: nearly all boxes are made for those that cost most.
SPREAD = 0.7
# The relaxation is solved again after the cuts of so many pieces, or of this share of all.
CHUNK, CHUNK_SHARE = 8, 0.125
# Prices are the mean of those of the best round and of the last, with this weight on the former.
SMOOTH = 0.3
# Each function of a restriction with others in it is limited first, in pieces up to so many kinds: by so many boxes, to this share of its width.
MAX_KINDS, LIMIT_BOXES, LIMIT_SHARE = 40, 1000, 0.01
# Pieces up to which they are mixed, and cut in boxes; what a piece pays for leaving the mixtures of its points, in relation to the gap.
MAX_PIECES, PENALTY = 40, 10.0
# Half the width, as a share of it, of the box in which the planes of a relaxation are its tangents at a point.
TANGENT_SHARE = 1e-7


class Hull:
    """All pieces of a relaxation with their covers, which pieces of one kind share, and whose its rows are; `best()` is the best point known.

    `covers` has those that were made before, where there are any.
    """

    def __init__(
        self,
        relaxation: Relaxation,
        clock: Clock,
        crew: Crew,
        best: Callable[[], Array | None] = lambda: None,
        covers: Covers | None = None,
    ) -> None:
        self.relaxation, self.clock, self.crew, self.best = relaxation, clock, crew, best
        self._builder = Builder(crew, clock, clock.check)
        self._covers = Covers() if covers is None else covers

    @cached_property
    def is_too_large(self) -> bool:
        """Whether there are more evaluations than covers are made for."""
        return count_pieces(self.relaxation) > MAX_COVERED

    @cached_property
    def pieces(self) -> list[Piece]:
        """The evaluations with few inputs, none where they are too many; nobody who asks for the relaxation alone waits for them."""
        if self.is_too_large:
            return []
        return [piece for piece in find_pieces(self.relaxation, self.clock.check) if np.unique(piece.place).size <= MAX_INPUTS]

    @property
    def num_boxes(self) -> int:
        """Boxes of all covers so far."""
        return self._covers.num_boxes

    @cached_property
    def owners(self) -> Owners:
        """Whose the rows of the relaxation are."""
        return Owners(self.relaxation, self.pieces)

    def cover(self, piece: Piece, is_restricted: bool) -> Cover:
        """The cover of the set of a piece, or of its inputs alone."""
        return self._covers.find(piece, is_restricted, self._builder)


def cut_hull(
    here: Hull,
    bounder: Bounder,
    journal: Journal,
    root: Solved,
    cutoff: Callable[[], float],
    hint: Hint | None = None,
    max_boxes: float | None = None,
) -> Iterator[Solved]:
    """Round after round of hull cuts at the root, as long as they raise the bound; gives the relaxation after every few cuts.

    `hint` has prices to begin with, and points, where somebody knows good ones; a price gets `max_boxes` at first where that is said.
    """
    if not here.pieces:
        return
    owners = here.owners
    best, num_idle, share, max_boxes = root, 0, GAP_SHARE, MAX_BOXES if max_boxes is None else max_boxes
    prices = _first_prices(here, bounder, journal, root, hint)
    for number, cut in _limits(here):
        bounder.add(cut, number)
    for _ in range(MAX_ROUNDS):
        before, num_cuts = best.bound, bounder.num_added
        for cuts in _cut_round(here, prices, _tolerance(journal, before, share), int(max_boxes), journal):
            for number, cut in cuts:
                bounder.add(cut, number)
            solved = bounder.solve(root.box, best.bound, root.below)
            best = replace(solved, guess=best.guess) if solved.bound > best.bound else best
            yield best
            if best.bound >= cutoff():
                return
        gains = best.bound - before > WORTH * (cutoff() - before) or not np.isfinite(before)
        num_idle = 0 if gains else num_idle + 1
        if not gains:
            share, max_boxes = STRICTER * share, MORE_BOXES * max_boxes
        if bounder.num_added == num_cuts or num_idle >= PATIENCE:
            return
        room = cutoff() - best.bound
        mixed = mixed_within(here, bounder, root.box, room) if _can_mix(here, room, num_idle > 0) else None
        fresh = find_prices(owners, bounder.last) if mixed is None else mixed.prices
        best = best if mixed is None else replace(best, guess=mixed.guess)
        smooth = 0.0 if num_idle or mixed is not None else SMOOTH
        prices = [new.mixed(old, smooth) for new, old in zip(fresh, prices, strict=True)]


def mixed_within(here: Hull, bounder: Bounder, box: Box, room: float) -> Mixed | None:
    """Prices of mixtures in a box, of the pieces that have no switch or whose switch is settled there; `room` is left to the cutoff."""
    best = here.best()
    mixtures = [
        mix(number, piece.within(box), here.cover(piece, is_on(piece, box)), best)
        for number, piece in enumerate(here.pieces)
        if is_settled(piece, box)
    ]
    return find_mixed_prices(here.owners, bounder, mixtures, PENALTY * room)


def is_on(piece: Piece, box: Box) -> bool:
    """Whether the own restrictions of a piece hold everywhere in a box."""
    own = piece.own
    return bool(own.switch < 0 or box.lb[own.switch] == own.on == box.ub[own.switch])


def is_settled(piece: Piece, box: Box) -> bool:
    """Whether they hold everywhere in a box, or nowhere."""
    return bool(piece.own.switch < 0 or box.lb[piece.own.switch] == box.ub[piece.own.switch])


def _can_mix(here: Hull, room: float, is_idle: bool) -> bool:
    """Whether mixtures are worth their time: pieces are few, none has a switch, and other prices fail.

    The multipliers of a curved host are right for most rows that matter, and cheaper.
    """
    if not 0 < room < np.inf or len(here.pieces) > MAX_PIECES or any(piece.own.switch >= 0 for piece in here.pieces):
        return False
    return is_idle or here.relaxation.quadratic is None


def _cut_round(
    here: Hull, prices: Sequence[Prices], tolerance: float, max_boxes: int, journal: Journal
) -> Iterator[list[tuple[int, Rows]]]:
    """The cuts of all pieces that are paid for, some at a time, each with the number of its piece."""
    sizes = np.array([max(np.abs(p.columns).max(initial=0.0), np.abs(p.functions).max(initial=0.0)) for p in prices])
    paid = np.flatnonzero(sizes > LEAST_PRICE * sizes.max(initial=0.0)).tolist()
    step = max(CHUNK, int(CHUNK_SHARE * len(paid)))
    share = sizes**SPREAD / max((sizes[paid] ** SPREAD).sum(), 1e-300)
    for first in range(0, len(paid), step):
        some = [Paid(number, here.pieces[number], prices[number], share[number] * tolerance) for number in paid[first : first + step]]
        cuts = [(each.number, cut) for each, cut in zip(some, _cuts(here, some, max_boxes, journal), strict=True) if cut is not None]
        if cuts:
            yield cuts


def _limits(here: Hull) -> Iterator[tuple[int, Rows]]:
    """What each function of a restriction is at least, where the piece does not see to that restriction: nobody may pay for it at first."""
    if len({piece.key for piece in here.pieces}) > MAX_KINDS:
        return
    relaxation, known = here.relaxation, dict[tuple[object, ...], tuple[float, float]]()
    for number, piece in enumerate(here.pieces):
        for place, function in enumerate(piece.functions):
            row = int(relaxation.measurement[function]) - 1
            if row < 0 or row in piece.own.rows:
                continue
            alone = np.zeros(piece.functions.size)
            alone[place] = 1.0
            prices = Prices(np.zeros(piece.columns.size), alone, 0.0)
            key = (place, piece.own.switch >= 0, *piece.key)
            if key not in known:
                price, tolerance = price_of(piece, prices.columns, alone), LIMIT_SHARE * float(relaxation.width[function])
                free, least = (here.cover(piece, on).least(price, np.inf, tolerance, LIMIT_BOXES) for on in (piece.own.switch < 0, True))
                known[key] = free, least
            free, least = known[key]
            cut = cut_row(relaxation, piece, prices, free, least - free)
            if cut is not None:
                yield number, cut


def _first_prices(here: Hull, bounder: Bounder, journal: Journal, root: Solved, hint: Hint | None) -> list[Prices]:
    """Those of the tangents at the best point, where the true ones are near; those of the root where there is no point."""
    best = journal.incumbent.point
    if best is None or not journal.incumbent.is_feasible:
        return find_prices(here.owners, bounder.last)
    w = np.clip(best.w, *root.box)
    width = np.minimum(root.box.ub - root.box.lb, 1.0)
    near = Box(np.maximum(w - TANGENT_SHARE * width, root.box.lb), np.minimum(w + TANGENT_SHARE * width, root.box.ub))
    known = w[None] if hint is None else np.vstack([w, hint.points])
    for piece in here.pieces:
        here.cover(piece, True).hear(np.array([piece.inputs(point) for point in known]))
    if hint is None:
        bounder.solve_tangents(root.box, here.relaxation.below(near))
        return find_prices(here.owners, bounder.last)
    relaxation = here.relaxation
    relaxed = relaxation.relaxed(relaxation.root, no_rows(relaxation.num_columns))
    x, multipliers = np.concatenate([w, relaxation.values(w)]), _of_fixed(relaxation, hint.prices)
    return find_prices(here.owners, Multiplied(relaxed, x, multipliers, np.zeros(0, dtype=np.int64)))


def _of_fixed(relaxation: Relaxation, prices: Array) -> Array:
    """Prices of the rows that are the same on every box."""
    rows, restrictions = np.split(prices, [relaxation.embedded.host.num_rows])
    return np.concatenate([rows, restrictions[relaxation.embedded.restrictions.indicator < 0]])


def _tolerance(journal: Journal, bound: float, share: float) -> float:
    """How well all prices together are to be met."""
    best = journal.incumbent.point
    size = abs(best.objective) if best is not None and np.isfinite(best.objective) else 1.0
    least = LEAST_SHARE * journal.arguments.options.gap_tol * size
    gap = (best.objective if best is not None else np.inf) - bound
    return max(least, share * (gap if np.isfinite(gap) else size))


@dataclass(frozen=True, eq=False)
class Paid:
    """A piece, by its number, at prices whose least value is wanted to a tolerance."""

    number: int
    piece: Piece
    prices: Prices
    tolerance: float


@dataclass(frozen=True, eq=False)
class Looked:
    """What boxes say of a piece.

    Parameters
    ----------
    free
        The least price without its own restrictions, where it has a switch; else 0.
    least
        The least price with them, as far as boxes know.
    most
        No more than this matters, or is possible.
    """

    free: float
    least: float
    most: float


def _cuts(here: Hull, some: Sequence[Paid], max_boxes: int, journal: Journal) -> list[Rows | None]:
    """columns'w + functions'eta >= least of some pieces, or between two least values by their switches; None for nothing.

    Boxes go first; where they are too many, the exact encodings of all of these pieces are solved at a time.
    """
    looked = [_look(here, each, max_boxes) for each in some]
    unclear = [number for number, (each, found) in enumerate(zip(some, looked, strict=True)) if _is_unclear(each, found)]
    questions = [(some[number].piece, some[number].prices, looked[number].most) for number in unclear]  # type: ignore[union-attr]
    answers = share_out(here.crew, least_of_encoding, Shared(journal.arguments.options.plain), questions, here.clock)
    exact = dict(zip(unclear, answers, strict=True))
    return [_cut(here, each, found, exact.get(number, -np.inf)) for number, (each, found) in enumerate(zip(some, looked, strict=True))]


def _look(here: Hull, paid: Paid, max_boxes: int) -> Looked | None:
    """What boxes say; None where a cut would say nothing."""
    piece, prices, tolerance = paid.piece, paid.prices, paid.tolerance
    price, has_switch = price_of(piece, prices.columns, prices.functions), piece.own.switch >= 0
    if has_switch and prices.switch >= 0:
        return None
    free = here.cover(piece, False).least(price, np.inf, tolerance, max_boxes) if has_switch else 0.0
    # Beyond its price nobody switches on.
    target = free - prices.switch if has_switch else np.inf
    cover = here.cover(piece, True)
    least = cover.least(price, target, tolerance, SCREENING if _can_encode(piece) else max_boxes)
    return Looked(free, least, min(target, cover.best(price)))


def _can_encode(piece: Piece) -> bool:
    return is_encodable(piece) and np.unique(piece.place).size >= MANY_INPUTS


def _is_unclear(paid: Paid, looked: Looked | None) -> bool:
    """Whether boxes were too many, and the piece has an exact encoding."""
    if looked is None or not _can_encode(paid.piece):
        return False
    return bool(looked.least < looked.most - paid.tolerance and np.isfinite(looked.most))


def least_of_encoding(options: Options, watch: Watch, piece: Piece, prices: Prices, most: float) -> float:
    """The least price over the set of a piece by its exact encoding."""
    clock = Clock(watch.left, watch)
    return least_exactly(piece, prices.columns, np.maximum(prices.functions, 0.0), most, options, clock)


def _cut(here: Hull, paid: Paid, looked: Looked | None, exact: float) -> Rows | None:
    """The cut of a piece whose least price is known."""
    if looked is None:
        return None
    piece, prices, least = paid.piece, paid.prices, max(looked.least, exact)
    if piece.own.switch < 0:
        return cut_row(here.relaxation, piece, prices, least, 0.0)
    return cut_row(here.relaxation, piece, prices, looked.free, min(least, looked.free + 1e3 * abs(prices.switch)) - looked.free)


def cut_row(relaxation: Relaxation, piece: Piece, prices: Prices, least: float, rise: float) -> Rows | None:
    """prices'(columns, functions) >= least, and by `rise` more while the switch of the piece is on; None where nothing is known."""
    if not np.isfinite(least) or not np.isfinite(rise):
        return None
    n, own = relaxation.num_host, piece.own
    entries = [prices.columns, np.maximum(prices.functions, 0.0)]
    places = [piece.columns, n + piece.functions]
    if own.switch >= 0:
        # rise * z where it is on at 1, rise * (1 - z) where it is on at 0.
        entries.append(np.array([-rise if own.on == 1 else rise]))
        places.append(np.array([own.switch]))
        least = least if own.on == 1 else least + rise
    value, column = np.concatenate(entries), np.concatenate(places)
    matrix = sp.csr_array((value, (np.zeros(value.size, dtype=np.int64), column)), shape=(1, relaxation.num_columns))
    return Rows(matrix, np.array([least]), np.array([np.inf]))
