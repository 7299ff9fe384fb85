"""Mistakes made on purpose in every step of a proof: the check of random problems has to see each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from rich.table import Table

from dcembed.bounds import (
    box_cuts,
    box_parts,
    boxes,
    certify,
    cover,
    exact_piece,
    exact_solver,
    exact_units,
    functions,
    hull,
    input_boxes,
    lagrangian,
    network_terms,
    pieces,
    relaxation,
    safe,
    tangents,
    tree,
)
from dcembed.bounds.concave_squares import ConcaveSquares
from dcembed.bounds.functions import Below
from dcembed.bounds.network_terms import NetworkTerms
from dcembed.bounds.relaxation import Rows
from dcembed.bounds.safe import Proof, Relaxed
from dcembed.bounds.shared_decisions import SharedDecisions
from dcembed.network.planes import Planes
from dcembed.program.tightening import Box

from .random_problems import Drawn, draw
from .steps import wrong_steps

# Problems that are looked at until a mutation has to be seen.
MOST_PROBLEMS = 150
Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Mutation:
    """A mistake.

    Parameters
    ----------
    name
        What it does.
    place, attribute
        Where: a module or class, and the function there.
    wrap
        Makes the wrong function from the right one.
    steps
        The steps of a proof that have to show it.
    needs
        Features of which a problem has to have one; none for any problem.
    with_start
        Whether proofs begin at a feasible point.
    first
        The seed to begin with, where few problems show it.
    """

    name: str
    place: object
    attribute: str
    wrap: Wrapper
    steps: tuple[str, ...]
    needs: tuple[str, ...] = ()
    with_start: bool = False
    first: int = 0

    def suits(self, drawn: Drawn) -> bool:
        """Whether a problem has what the step works on."""
        return not self.needs or bool(set(self.needs) & set(drawn.features))


@contextmanager
def made(mutation: Mutation) -> Iterator[None]:
    """The mistake is made as long as this is open."""
    right = getattr(mutation.place, mutation.attribute)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(mutation.place, mutation.attribute, mutation.wrap(right)))
        # What a wrong program computes may be anything.
        stack.enter_context(np.errstate(all="ignore"))
        yield


def caught_after(mutation: Mutation, most: int = MOST_PROBLEMS, first: int | None = None) -> tuple[int, float] | None:
    """How many problems it takes until a bound is on the wrong side, and by how much; None if that many do not show it."""
    number, seed = 0, mutation.first if first is None else first
    while number < most:
        drawn = draw(seed)
        seed += 1
        if not mutation.suits(drawn):
            continue
        number += 1
        with made(mutation):
            wrong = wrong_steps(drawn, mutation.steps, mutation.with_start, seed)
        if wrong:
            return number, max(wrong.values())
    return None


def _planes(change: Callable[[Planes], Planes]) -> Wrapper:
    return lambda right: lambda *args, **kwargs: change(right(*args, **kwargs))


def _raised(value: np.ndarray, share: float) -> np.ndarray:
    return value + share * (1.0 + np.abs(value))


def _of_relaxed(change: Callable[[Relaxed], Relaxed]) -> Wrapper:
    return lambda right: lambda relaxed, w, y: right(change(relaxed), w, y)


def _other_sides(relaxed: Relaxed) -> Relaxed:
    """Multipliers lean on the wrong sides of rows that have two."""
    two = np.isfinite(relaxed.row_lb) & np.isfinite(relaxed.row_ub)
    return replace(relaxed, row_lb=np.where(two, relaxed.row_ub, relaxed.row_lb), row_ub=np.where(two, relaxed.row_lb, relaxed.row_ub))


def _other_ends(relaxed: Relaxed) -> Relaxed:
    """Reduced costs lean on the wrong ends of columns that have two."""
    two = np.isfinite(relaxed.lb) & np.isfinite(relaxed.ub)
    return replace(relaxed, lb=np.where(two, relaxed.ub, relaxed.lb), ub=np.where(two, relaxed.lb, relaxed.ub))


def _without_square(right: Callable[..., Proof]) -> Callable[..., Proof]:
    """-1/2 v'Qv is left out."""

    def wrong(relaxed: Relaxed, w: np.ndarray, y: np.ndarray) -> Proof:
        proof = right(relaxed, w, y)
        return Proof(proof.bound + (0.5 * float(w @ (relaxed.quadratic @ w)) if relaxed.quadratic is not None else 0.0), proof.reduced)

    return wrong


def _ends_at_zero(right: Callable[..., Any]) -> Callable[..., Any]:
    """Columns without end are taken to end at zero."""

    def wrong(relaxed: Relaxed, reduced: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where(np.isinf(relaxed.lb), 0.0, relaxed.lb), np.where(np.isinf(relaxed.ub), 0.0, relaxed.ub)

    return wrong


def _tangent_of_squares(right: Callable[..., Below]) -> Callable[..., Below]:
    """The tangent in the middle of the box where the chord belongs."""

    def wrong(self: ConcaveSquares, lb: np.ndarray, ub: np.ndarray, *args: Any) -> Below:
        middle = np.nan_to_num(0.5 * (lb + ub), posinf=0.0, neginf=0.0)
        slope = self.concave @ middle
        return Below(sp.csr_array(-slope[None]), np.array([0.5 * float(middle @ slope)]))

    return wrong


def _tangent_of_units(right: Callable[..., Below]) -> Callable[..., Below]:
    """Concave units lie below their tangents, which take the place of chords."""

    def wrong(self: SharedDecisions, lb: np.ndarray, ub: np.ndarray, *args: Any) -> Below:
        if self.is_convex:
            return right(self, lb, ub)
        below, middle = right(self, lb, ub), 0.5 * (lb + ub)
        value, step = self.values(middle), 1e-4 * (ub - lb)
        slope = np.array(
            [(self.values(middle + e) - self.values(middle - e)) / (2 * e.sum()) if e.any() else 0 * value for e in np.diag(step)]
        )
        return Below(sp.csr_array(slope.T), value - slope.T @ middle) if below.constant.size else below

    return wrong


def _raised_below(share: float) -> Wrapper:
    def wrap(right: Callable[..., Below]) -> Callable[..., Below]:
        def wrong(*args: Any, **kwargs: Any) -> Below:
            below = right(*args, **kwargs)
            return Below(below.slope, _raised(below.constant, share))

        return wrong

    return wrap


def _smaller_m(right: Callable[..., Rows]) -> Callable[..., Rows]:
    """Ms from a box of half the widths."""

    def wrong(matrix: sp.csr_array, ub: np.ndarray, column: np.ndarray, value: np.ndarray, box: Box) -> Rows:
        middle, width = 0.5 * (box.lb + box.ub), 0.25 * (box.ub - box.lb)
        narrow = np.isfinite(width)
        narrow[column] = False
        low, high = np.where(narrow, middle - width, box.lb), np.where(narrow, middle + width, box.ub)
        return right(matrix, ub, column, value, Box(low, high))

    return wrong


def _shifted_cuts(right: Callable[..., Rows]) -> Callable[..., Rows]:
    """Cuts of cones that cut off a little."""

    def wrong(*args: Any) -> Rows:
        rows = right(*args)
        return Rows(rows.matrix, rows.lb, rows.ub - 1e-2 * (1.0 + np.abs(rows.ub)))

    return wrong


def _shifted_row(share: float, more_rise: float) -> Wrapper:
    def wrap(right: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(relaxed: Any, piece: Any, prices: Any, least: float, rise: float) -> Any:
            return right(relaxed, piece, prices, least + share * (1.0 + abs(least)), rise + more_rise * (1.0 + abs(rise)))

        return wrong

    return wrap


def _whatever_is_below(right: Callable[..., float]) -> Callable[..., float]:
    """A bound of a fractional objective is rounded up."""
    return lambda embedded, bound: float(np.ceil(bound)) if np.isfinite(bound) else bound


def _half_lost(right: Callable[..., list[Box]]) -> Callable[..., list[Box]]:
    return lambda here, solved: right(here, solved)[:1]


def _whole_lost(right: Callable[..., tuple[float, float]]) -> Callable[..., tuple[float, float]]:
    """A whole number between the two parts of a box is lost."""

    def wrong(*arguments: Any) -> tuple[float, float]:
        first, second = right(*arguments)
        return (first, second) if first == second else (first - 1.0, second)

    return wrong


def _kept_cuts(right: Callable[..., boxes.Solved]) -> Callable[..., boxes.Solved]:
    """Cuts that hold in a box stay in the relaxations of all others."""

    def wrong(here: Any, bounder: Any, *rest: Any) -> boxes.Solved:
        solved = right(here, bounder, *rest)
        bounder.add(solved.cuts)
        return solved

    return wrong


def _shrinks_too_far(right: Callable[..., Box | None]) -> Callable[..., Box | None]:
    return lambda here, parent, box: right(here, replace(parent, reduced=4.0 * parent.reduced), box)


def _little_room(right: Callable[..., Box | None]) -> Callable[..., Box | None]:
    """Reduced costs with a bound that they do not belong to."""

    def wrong(here: Any, parent: Any, box: Box) -> Box | None:
        room = here.cutoff() - parent.bound
        return right(here, replace(parent, bound=parent.bound + 0.9 * room) if np.isfinite(room) else parent, box)

    return wrong


def _lower_most(right: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Half of the range of a function is cut off above."""

    def wrong(self: NetworkTerms, lb: np.ndarray, ub: np.ndarray, *args: Any) -> np.ndarray:
        return 0.5 * (right(self, lb, ub, *args) + functions.least(self.below(lb, ub), lb, ub))

    return wrong


def _higher_floor(right: Callable[..., Box]) -> Callable[..., Box]:
    """Functions are held above a part of their range."""

    def wrong(shared: relaxation.Relaxation, box: Box, below: Any) -> Box:
        full, n = right(shared, box, below), shared.num_host
        room = np.minimum(full.ub - full.lb, 1e6)
        return Box(np.where(np.arange(room.size) < n, full.lb, full.lb + 0.3 * np.nan_to_num(room)), full.ub)

    return wrong


def _ends_alone(right: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """The price of an input is looked at in the ends of a box and not where it bends."""
    return lambda boxes, price: tuple(some[:, :, [0, -1]] for some in right(boxes, price))


def _narrow_own(right: Callable[..., pieces.Own]) -> Callable[..., pieces.Own]:
    def wrong(*args: Any) -> pieces.Own:
        own = right(*args)
        return replace(own, rhs=own.rhs - 0.1 * (1.0 + np.abs(own.rhs)))

    return wrong


def _past_a_whole(right: Callable[..., float]) -> Callable[..., float]:
    return lambda embedded, bound: right(embedded, bound + 1e-3)


def _without_spread(right: Callable[..., Any]) -> Callable[..., Any]:
    """All scenarios of a cluster are taken for one of its corners."""

    def wrong(*args: Any) -> Any:
        clusters = right(*args)
        return replace(clusters, high=clusters.low, moment=clusters.mass[:, None] * clusters.low)

    return wrong


SMOOTH = ("relaxation", "cuts", "boxes")
CURVED = ("SOCP", "QCP", "MISOCP", "MIQCP")
MUTATIONS = (
    Mutation(
        "planes: slopes with the wrong sign", network_terms, "lower_planes", _planes(lambda p: Planes(-p.slope, p.constant)), ("boxes",)
    ),
    Mutation(
        "planes: constants 1e-3 too high",
        network_terms,
        "lower_planes",
        _planes(lambda p: Planes(p.slope, _raised(p.constant, 1e-3))),
        ("boxes",),
    ),
    Mutation("functions: least values too high", boxes, "with_functions", _higher_floor, ("boxes",)),
    Mutation("functions: largest values too low", NetworkTerms, "most", _lower_most, ("boxes",)),
    Mutation("concave squares: tangent for chord", ConcaveSquares, "below", _tangent_of_squares, ("boxes",), ("nonconvex", "MI nonconvex")),
    Mutation("shared decisions: tangent for chord", SharedDecisions, "below", _tangent_of_units, ("relaxation",), ("scenarios",)),
    Mutation("shared decisions: tangents 1e-2 too high", SharedDecisions, "tangents", _raised_below(1e-2), ("boxes",), ("scenarios",)),
    Mutation(
        "clusters: one scenario for all",
        network_terms,
        "fine_enough",
        _without_spread,
        ("rows",),
        ("scenarios of any network",),
        first=400,
    ),
    Mutation("multipliers: wrong side of rows", boxes, "prove_bound", _of_relaxed(_other_sides), ("boxes",)),
    Mutation("multipliers: wrong end of columns", boxes, "prove_bound", _of_relaxed(_other_ends), ("relaxation",)),
    Mutation("multipliers: square left out", boxes, "prove_bound", _without_square, ("relaxation",), ("QP", "MIQP")),
    Mutation("multipliers: columns without end end at zero", safe, "_ends", _ends_at_zero, ("multipliers",), ("free column",)),
    Mutation("indicators: M of half the box", relaxation, "_switch", _smaller_m, ("boxes",), ("indicator", "indicator on predictions")),
    Mutation("cones: tangents 1e-2 too low", tangents, "_of_cones", _shifted_cuts, ("boxes",), CURVED),
    Mutation("cuts: 1e-3 too high", hull, "cut_row", _shifted_row(1e-3, 0.0), SMOOTH),
    Mutation("cuts: 1e-3 too high, seen by points", hull, "cut_row", _shifted_row(1e-3, 0.0), ("rows",)),
    Mutation("cuts: a switch pays too much", hull, "cut_row", _shifted_row(0.0, 1.0), ("rows",), ("indicator on predictions",), first=90),
    Mutation("cuts in boxes: 1e-2 too high", box_cuts, "cut_row", _shifted_row(1e-2, 0.0), ("boxes",)),
    Mutation("cuts in boxes: kept for other boxes", tree, "solve_box", _kept_cuts, ("boxes",)),
    Mutation("covers: prices without their kinks", lagrangian, "candidates", _ends_alone, ("rows",), ("affine inputs",)),
    Mutation("pieces: own restrictions too narrow", pieces, "_own", _narrow_own, ("rows",)),
    Mutation("covers: planes with the wrong sign", box_parts, "planes_within", _planes(lambda p: Planes(-p.slope, p.constant)), SMOOTH),
    Mutation("covers: half of the halves lost", cover.Cover, "_halves", lambda right: lambda *a: _first_half(right(*a)), SMOOTH),
    Mutation(
        "pieces by encodings: a tenth too high",
        exact_piece,
        "bound_linear",
        lambda right: lambda *a: float(_raised(right(*a), 0.1)),
        ("rows",),
        ("relu",),
        first=48,
    ),
    Mutation("tree: closed boxes forgotten", tree.Tree, "close", lambda right: lambda self, bound: None, ("boxes",)),
    Mutation("tree: a half lost", tree, "_halves", _half_lost, ("boxes",)),
    Mutation("tree: a whole number lost", tree, "_ends", _whole_lost, ("boxes",), ("MILP", "MIQP", "MIQCP", "MISOCP")),
    Mutation("tree: reduced costs four times too large", tree, "_shrunk", _shrinks_too_far, ("boxes",), (), True),
    Mutation("tree: reduced costs of another bound", tree, "_shrunk", _little_room, ("boxes",), (), True),
    Mutation("rounding up a fractional objective", certify, "rounded", _whatever_is_below, ("boxes",)),
    Mutation("rounding up past a whole number", certify, "rounded", _past_a_whole, ("boxes",), ("whole objective",)),
    Mutation(
        "exact: margin with the wrong sign",
        exact_solver,
        "_outward",
        lambda right: lambda b: b + 1e-5 * max(1.0, abs(b)),
        ("exact",),
        ("relu",),
    ),
    Mutation(
        "exact: units bounded too tightly",
        exact_units,
        "bound_minimum",
        lambda right: lambda *a: float(_raised(right(*a), 0.2)),
        ("exact",),
        ("relu",),
    ),
)


def _first_half(halves: input_boxes.Boxes | None) -> input_boxes.Boxes | None:
    return None if halves is None else halves.at(np.arange((halves.number + 1) // 2))


def table_of_mutations() -> Table:
    """How many problems each mutation takes to be seen, of those that have what it works on."""
    table = Table("mutation", "seen by", "problems until it is seen", "wrong by, relative")
    for mutation in MUTATIONS:
        caught = caught_after(mutation)
        number, amount = ("never", "") if caught is None else (str(caught[0]), f"{caught[1]:.1e}")
        table.add_row(mutation.name, ", ".join(mutation.steps), number, amount)
    return table
