"""Branching, best first: over integers, and over the boxes of what the functions depend on."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.box_cuts import solve_box
from dcembed.bounds.boxes import Bounder, Solved
from dcembed.bounds.hull import Hull
from dcembed.embedded.point import measure_point
from dcembed.program.derive import derive
from dcembed.program.tightening import SAFETY, Box, tighten
from dcembed.run.completion import complete
from dcembed.run.host import HostProblem
from dcembed.run.journal import Journal

# An integer further from a whole number than this is fractional.
FRACTIONAL = 1e-6
# Boxes are not halved along columns that are narrower than this share of what they were, or than this.
NARROWEST = 1e-8
# A column is halved between the middle and where the relaxation has it, no nearer to an end than this share.
NEAREST_END = 0.2
# Points of relaxations are completed at so many boxes, then at every so manieth; a start is made from guesses at boxes 1, 2, 3, 4, 6, 8, 12 and so on.
FIRST_COMPLETIONS, COMPLETION_PERIOD = 20, 10


@dataclass
class Tree:
    """Boxes that are open, by their bounds, and the least bound of those that are closed."""

    heap: list[tuple[float, int, Solved]] = field(default_factory=list)
    closed: float = np.inf
    num_boxes: int = 0

    @property
    def bound(self) -> float:
        """What all boxes together prove."""
        return min(self.closed, self.heap[0][0]) if self.heap else self.closed

    def push(self, solved: Solved) -> None:
        """Leave a box for later."""
        heapq.heappush(self.heap, (solved.bound, self.num_boxes, solved))

    def close(self, bound: float) -> None:
        """Be done with a box."""
        self.closed = min(self.closed, bound)


@dataclass(frozen=True, eq=False)
class Branching:
    """What branching works with; `cutoff()` is the bound from which on a box is of no interest, `improve` goes downhill from a point."""

    bounder: Bounder
    hull: Hull
    journal: Journal
    host: HostProblem
    cutoff: Callable[[], float]
    improve: Callable[[Array], None] | None = None

    def look(self, solved: Solved) -> None:
        """Go downhill from where a good point may be."""
        if self.improve is not None and solved.guess is not None and not self.journal.is_closed:
            with self.journal.limited_to(self.bounder.clock.limits().seconds):
                self.improve(solved.guess)


def branch(here: Branching, root: Solved) -> Iterator[float]:
    """Split boxes until none is left that could hold a better point; gives the bound after every one."""
    tree = Tree()
    _place(here, tree, root)
    while tree.heap and tree.bound < here.cutoff():
        _, _, solved = heapq.heappop(tree.heap)
        halves = _halves(here, solved)
        for half in halves:
            shrunk = _shrunk(here, solved, half)
            # What reduced costs have cut off is no better than the cutoff, and may be the optimum.
            tree.close(here.cutoff())
            if shrunk is not None:
                _place(here, tree, solve_box(here.hull, here.bounder, shrunk, solved, here.cutoff))
        if not halves:
            tree.close(solved.bound)
        yield tree.bound
    yield tree.bound


def _place(here: Branching, tree: Tree, solved: Solved) -> None:
    """Measure the point of a box, and keep the box unless nothing better can be in it."""
    tree.num_boxes += 1
    if solved.x is not None:
        measure(here, solved.x, tree.num_boxes)
    if solved.guess is not None and solved.bound < here.cutoff():
        measure(here, solved.guess, tree.num_boxes)
        if _is_round(tree.num_boxes):
            here.look(solved)
    if solved.bound >= here.cutoff():
        tree.close(solved.bound)
    else:
        tree.push(solved)


def _is_round(number: int) -> bool:
    """Whether a number is a power of two, or three of these."""
    return number & (number - 1) == 0 or (number % 3 == 0 and (number // 3) & (number // 3 - 1) == 0)


def measure(here: Branching, x: Array, number: int) -> None:
    """Offer a point of the host, and now and then the best point with its inputs, too; `number` counts the calls."""
    embedded, journal = here.journal.embedded, here.journal
    point = measure_point(embedded, x[: embedded.host.num_columns])
    journal.offer(point)
    if number <= FIRST_COMPLETIONS or number % COMPLETION_PERIOD == 0:
        found = complete(here.host, point, journal.clock.limits(), journal.arguments.options.feasibility_tol)
        if found is not None:
            journal.offer(found)


def _shrunk(here: Branching, parent: Solved, box: Box) -> Box | None:
    """What rows imply in a box, and what the reduced costs of its parent leave of it: beyond, nothing is better than the cutoff.

    None if nothing is left.
    """
    program = here.journal.embedded.bounded_host
    n = program.num_columns
    lb, ub = box.lb.copy(), box.ub.copy()
    room, reduced = here.cutoff() - parent.bound, parent.reduced[:n]
    if np.isfinite(room) and parent.x is not None and np.isfinite(parent.bound):
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(reduced > 0, parent.box.lb + room / reduced * (1 + 1e-9) + SAFETY, np.inf)
            least = np.where(reduced < 0, parent.box.ub + room / reduced * (1 + 1e-9) - SAFETY, -np.inf)
        # Without an end to grow from, the reduced cost of a column is rounding and says nothing.
        ub, lb = np.where(np.isfinite(most), np.fmin(ub, most), ub), np.where(np.isfinite(least), np.fmax(lb, least), lb)
        if (lb > ub).any():
            return None
    shrunk = tighten(derive(program, lb=lb, ub=ub, integer=here.journal.embedded.integer))
    # There may be no whole number between the ends of an integer.
    return None if (shrunk.lb > shrunk.ub).any() else shrunk


def _halves(here: Branching, solved: Solved) -> list[Box]:
    """The two parts of a box; none where it cannot be split."""
    chosen = _choose(here, solved)
    if chosen is None:
        return []
    column, at = chosen
    lb, ub = solved.box.lb, solved.box.ub
    first, second = ub.copy(), lb.copy()
    first[column], second[column] = _ends(here, column, float(lb[column]), float(ub[column]), at)
    return [Box(lb, first), Box(second, ub)]


def _ends(here: Branching, column: int, low: float, high: float, at: float) -> tuple[float, float]:
    """Where the first part of an interval ends and the second begins."""
    at = min(max(at, low), high)
    if here.journal.embedded.integer[column]:
        end = min(max(np.floor(at + FRACTIONAL), low), high - 1.0)
        return end, end + 1.0
    place = _place_between(low, high, at)
    return place, place


def _place_between(low: float, high: float, at: float) -> float:
    """Between the middle of an interval and a place in it; twice as far from zero as its end where it has one end only."""
    if np.isinf(low) or np.isinf(high):
        end = high if np.isinf(low) else low
        return 0.0 if np.isinf(end) else end - max(1.0, abs(end)) if np.isinf(low) else end + max(1.0, abs(end))
    middle, near = 0.5 * (low + high), NEAREST_END * (high - low)
    return 0.5 * (middle + min(max(at, low + near), high - near))


def _choose(here: Branching, solved: Solved) -> tuple[int, float] | None:
    """The column to split and where: a fractional integer, else between the parts of a mixture, else one of the worst function."""
    embedded, box = here.journal.embedded, solved.box
    if solved.x is None:
        column = _widest(here, box, embedded.input_columns)
        return None if column is None else (column, 0.5 * float(box.lb[column] + box.ub[column]))
    w = solved.x[: embedded.host.num_columns]
    away = np.where(embedded.integer & (box.ub > box.lb), np.abs(w - np.round(w)), 0.0)
    if away.max(initial=0.0) > FRACTIONAL:
        weight = solved.weight[: w.size]
        column = int(np.argmax(away * (weight + 1e-9 * max(1.0, float(weight.max(initial=0.0))))))
        return column, float(w[column])
    if solved.split is not None and _widest(here, box, np.array([solved.split[0]])) is not None:
        return solved.split
    column = _of_worst_function(here, solved, w)
    return None if column is None else (column, float(w[column]))


def _of_worst_function(here: Branching, solved: Solved, w: Array) -> int | None:
    relaxation = here.bounder.relaxation
    values = relaxation.values(w)
    gap = np.maximum(values - solved.x[w.size :], 0.0) if solved.x is not None else np.zeros(values.size)
    # What the bound owes to a function, and what a restriction misses for which nobody pays.
    owed, missed = gap * solved.weight[w.size :], np.minimum(gap, relaxation.excess(w, values)) / np.maximum(relaxation.width, 1e-300)
    score = _shares(owed) + _shares(missed)
    for number in np.argsort(-score)[:10]:
        if score[number] <= 0.0:
            break
        column = _widest(here, solved.box, relaxation.columns_of(int(number)), _slopes(solved, int(number)))
        if column is not None:
            return column
    return None


def _shares(amounts: Array) -> Array:
    total = float(amounts.sum())
    return np.asarray(amounts / total) if total > 0 else np.zeros(amounts.size)


def _slopes(solved: Solved, number: int) -> Array:
    """Of the affine function below a function."""
    for below in solved.below:
        if number < below.constant.size:
            return np.asarray(np.abs(below.slope[[number]].toarray().reshape(-1)))
        number -= below.constant.size
    raise IndexError(number)


def _widest(here: Branching, box: Box, columns: Array, slope: Array | None = None) -> int | None:
    """Of some columns the one along which a function changes most; None if all are too narrow."""
    root, width = here.bounder.relaxation.root, (box.ub - box.lb)[columns]
    span = np.minimum((root.ub - root.lb)[columns], 1e100)
    is_integer = here.journal.embedded.integer[columns]
    splits = np.where(is_integer, width >= 1.0, width > NARROWEST * np.maximum(span, 1e-3))
    if not splits.any():
        return None
    share = width / np.maximum(span, 1e-300)
    score = (
        share if slope is None else width * slope[columns] + 1e-3 * share * float((width * slope[columns]).max(initial=0.0)) + 1e-12 * share
    )
    return int(columns[np.argmax(np.where(splits, score, -1.0))])
