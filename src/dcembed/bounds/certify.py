"""What is proved about the optimum, in which order: the relaxation first, then what makes it tighter, until the gap is closed or the time ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count, islice

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.box_parts import BOX_COST
from dcembed.bounds.boxes import Bounder, Solved
from dcembed.bounds.covers import Covers
from dcembed.bounds.exact import MAX_OPEN, prove_exactly
from dcembed.bounds.hint import Hint
from dcembed.bounds.hull import MAX_COVERED, Hull, cut_hull
from dcembed.bounds.relaxation import build_relaxation
from dcembed.bounds.tree import Branching, branch, measure
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.points import evaluation_cost
from dcembed.program.tightening import Box
from dcembed.result import show_count
from dcembed.run.clock import Clock, RunEnded
from dcembed.run.host import open_host
from dcembed.run.journal import Journal
from dcembed.solvers.failover import Solver

# Boxes whose bound is this share of the gap tolerance from the best point are of no interest: the gap is closed then, with some room.
CLOSED_SHARE = 0.9
# Shares of the time that is left, of no more than LONGEST seconds: for a mixed-integer solver that gets a network of which few units are
# open, for cuts, for splitting boxes where cuts have done what they can, and for a solver that gets a larger network.
FIRST_SHARE, HULL_SHARE, BRANCH_SHARE, EXACT_SHARE, LONGEST = 0.3, 0.4, 0.6, 0.8, 1200.0
# Few open units.
FEW_OPEN = 60
# Multiplications for the networks of all boxes of an attempt, and how many boxes these are at least and at most; they are shared by the
# networks that are covered, so many for each.
ATTEMPT_WORK, ATTEMPT_BOXES, LEAST_BOXES = 5e7, (5, 30), 2
# Cuts of a single evaluation come first if there can be so many boxes for the work of an attempt, or of the first part of a proof, which has more;
# a round of cuts has its share of them.
LEAST_CUT_BOXES, CUT_ROUNDS, FIRST_WORK = 300, 8, 5e8
# Open units up to which a mixed-integer solver attempts it, and its nodes.
ATTEMPT_OPEN, ATTEMPT_NODES = 48, 1000
# A whole number is reached by a bound that misses it by no more.
WHOLE = 1e-6


def certify(
    journal: Journal,
    box: Box,
    solver: Solver,
    clock: Clock,
    covers: Covers,
    hint: Hint | None = None,
    improve: Callable[[Array], None] | None = None,
) -> None:
    """Improve the bound, and the point where a better one is met, until the gap is closed or the clock says so.

    Parameters
    ----------
    box
        Bounds of the columns of the host.
    covers
        Of networks, from earlier proofs and attempts, and for later ones.
    hint
        What a search has learned.
    improve
        Goes downhill from a point of the host and offers what it finds to the journal.
    """
    with _heeding(journal, "proving a bound"), _opened(journal, box, solver, clock, covers, improve) as here:
        root = here.bounder.solve(box)
        _write(journal, root.bound, "relaxation")
        root, _ = _cut_in_few_boxes(here, root, clock, FIRST_WORK, hint)
        _prove_exactly(journal, clock, FIRST_SHARE, FEW_OPEN)
        if here.hull.is_too_large:
            journal.log.note(f"more than {MAX_COVERED:,} evaluations: the proof makes no cuts for single ones.")
        cuts = cut_hull(here.hull, here.bounder, journal, root, here.cutoff, hint)
        root, is_done = _cut(here, cuts, root, _part(clock, HULL_SHARE))
        here.look(root)
        if not is_done:
            _prove_exactly(journal, clock, EXACT_SHARE, MAX_OPEN)
            root, _ = _cut(here, cuts, root, clock)
        if journal.is_closed:
            return
        boxes = enumerate(branch(here, root))
        if is_done:
            _branch(here, boxes, _part(clock, BRANCH_SHARE))
            _prove_exactly(journal, clock, EXACT_SHARE, MAX_OPEN)
        _branch(here, boxes, clock)


def attempt(journal: Journal, box: Box, solver: Solver, clock: Clock, covers: Covers) -> None:
    """Try to close the gap in a few boxes, fewer where networks are large or many, and with a solver where few units are open.

    What it does depends on the time only if that ends.
    """
    num_boxes = int(np.clip(ATTEMPT_WORK / max(evaluation_cost(journal.embedded), 1.0), *ATTEMPT_BOXES))
    with _heeding(journal, "closing the gap"), _opened(journal, box, solver, clock, covers) as here:
        root, is_done = _cut_in_few_boxes(here, here.bounder.solve(box), clock, ATTEMPT_WORK)
        _prove_exactly(journal, clock, 1.0, ATTEMPT_OPEN, ATTEMPT_NODES)
        if is_done and not journal.is_closed:
            num_boxes = max(LEAST_BOXES, num_boxes // max(1, len(here.hull.pieces)))
            _branch(here, islice(enumerate(branch(here, root)), num_boxes), clock)


def _part(clock: Clock, share: float) -> Clock:
    """A share of what is left."""
    return clock.part(share * min(clock.limits().seconds, LONGEST))


@contextmanager
def _heeding(journal: Journal, words: str) -> Iterator[None]:
    """A proof ends with the time or the memory, and keeps what it has."""
    try:
        with journal.log.working(words):
            yield
    except RunEnded:
        pass
    except MemoryError:
        journal.log.note("out of memory in the proof of a bound.")


def _cut_in_few_boxes(here: Branching, root: Solved, clock: Clock, work: float, hint: Hint | None = None) -> tuple[Solved, bool]:
    """The relaxation after cuts of a single evaluation, which need few rounds and few boxes; and whether cuts have no more to say, or none came.

    With more evaluations an encoding may be sooner.
    """
    num_boxes = work / (evaluation_cost(here.journal.embedded) + BOX_COST)
    if here.journal.is_closed or len(here.hull.pieces) != 1 or num_boxes < LEAST_CUT_BOXES:
        return root, True
    cuts = cut_hull(here.hull, here.bounder, here.journal, root, here.cutoff, hint, num_boxes / CUT_ROUNDS)
    return _cut(here, cuts, root, clock, here.hull.num_boxes + num_boxes)


def _cut(here: Branching, cuts: Iterator[Solved], root: Solved, clock: Clock, num_boxes: float = np.inf) -> tuple[Solved, bool]:
    """The relaxation after further cuts, as long as the gap is open and neither clock nor boxes are enough; and whether there are no more."""
    for number in count(1):
        if here.journal.is_closed or clock.ended() is not None or here.hull.num_boxes >= num_boxes:
            break
        cut = next(cuts, None)
        if cut is None:
            return root, True
        if cut.guess is not None and cut.guess is not root.guess:
            measure(here, cut.guess, number)
        root = cut
        _write(here.journal, cut.bound, f"{here.bounder.cuts.number} cuts")
    return root, here.journal.is_closed


def _prove_exactly(journal: Journal, clock: Clock, share: float, max_open: int, nodes: float = np.inf) -> None:
    """Hand a network of which no more units than that are open to a mixed-integer solver, for a share of the time."""
    if not journal.is_closed:
        seconds = share * min(clock.limits().seconds, LONGEST)
        with journal.limited_to(seconds):
            prove_exactly(journal, seconds, max_open, nodes)


def _branch(here: Branching, boxes: Iterator[tuple[int, float]], clock: Clock) -> None:
    """Split boxes until the gap is closed or the clock says that it is enough."""
    while not here.journal.is_closed and clock.ended() is None and (found := next(boxes, None)) is not None:
        number, bound = found
        _write(here.journal, bound, show_count(number, "box", "boxes"))


def _best(journal: Journal) -> Array | None:
    """The best point of the host, if a feasible one is known."""
    best = journal.incumbent.point
    return best.w if best is not None and journal.incumbent.is_feasible else None


def cutoff(journal: Journal) -> float:
    """The bound from which on nothing is left to prove."""
    best = journal.incumbent.point
    if best is None or not journal.incumbent.is_feasible:
        return np.inf
    return best.objective - CLOSED_SHARE * journal.arguments.options.gap_tol * abs(best.objective)


@contextmanager
def _opened(
    journal: Journal,
    box: Box,
    solver: Solver,
    clock: Clock,
    covers: Covers,
    improve: Callable[[Array], None] | None = None,
) -> Iterator[Branching]:
    relaxation = build_relaxation(journal.embedded, box, clock.check)
    bounder, host = Bounder(relaxation, solver, clock), open_host(journal.embedded, box, solver)
    with closing(bounder), closing(host.session):
        hull = Hull(relaxation, clock, journal.crew, lambda: _best(journal), covers)
        yield Branching(bounder, hull, journal, host, lambda: cutoff(journal), improve)


def _write(journal: Journal, bound: float, words: str) -> None:
    journal.certify(rounded(journal.embedded, bound), words)


def rounded(embedded: EmbeddedProgram, bound: float) -> float:
    """A bound on an objective that is always a whole number is one up to the next of these."""
    host = embedded.host
    is_whole = host.quadratic is None and embedded.concave is None and not any((m.terms.measurement == 0).any() for m in embedded.networks)
    used = host.cost != 0
    if not is_whole or not np.isfinite(bound) or not (host.integer[used].all() and (host.cost[used] == np.round(host.cost[used])).all()):
        return bound
    return float(max(bound, np.ceil(bound - host.offset - WHOLE) + host.offset))
