"""The bound of every step of a proof by itself, and what a proof as a whole says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from unittest import mock

import numpy as np
import scipy.sparse as sp

import dcembed
from dcembed import Options
from dcembed.bounds import boxes, certify, hull
from dcembed.bounds.boxes import Solved
from dcembed.bounds.covers import Covers
from dcembed.bounds.exact import prove_exactly
from dcembed.bounds.hull import cut_hull
from dcembed.bounds.relaxation import Rows, with_functions
from dcembed.bounds.tree import Branching, branch
from dcembed.engine.problem import build_problem
from dcembed.program.tightening import Box
from dcembed.run.arguments import read_arguments
from dcembed.run.clock import RunEnded
from dcembed.run.journal import Journal, open_journal
from dcembed.run.starts import measure_start

from .random_problems import Drawn
from .truth import ALLOWED, best_of, excess, feasible_points

STEPS = ("relaxation", "multipliers", "cuts", "boxes", "exact")
# Wrong multipliers that are tried, boxes of a cover, rounds of cuts, and boxes of a tree: a few are enough to be wrong.
NUM_TRIED, COVER_BOXES, CUT_ROUNDS, TREE_BOXES = 10, 300, 3, 25
SECONDS = 5.0


@dataclass
class Proved:
    """The bounds of one problem by step, all being minimized, and the points that were met."""

    bounds: dict[str, float] = field(default_factory=dict)
    points: list[np.ndarray] = field(default_factory=list)

    def note(self, step: str, journal: Journal, bound: float) -> None:
        """A bound, as it would be certified."""
        proved = certify.rounded(journal.embedded, bound)
        self.bounds[step] = max(self.bounds.get(step, -np.inf), -np.inf if np.isnan(proved) else proved)


def prove_steps(drawn: Drawn, steps: tuple[str, ...] = STEPS, start: np.ndarray | None = None, gap_tol: float = 1e-6) -> Proved:
    """What each step proves."""
    options = Options(verbose=False, time_limit=SECONDS, prove=True, gap_tol=gap_tol)
    proved = Proved()
    if "exact" in steps:
        with opened(drawn, options, start) as (journal, _, _):
            prove_exactly(journal, SECONDS)
            proved.note("exact", journal, journal.bound)
            _keep(proved, journal)
    if set(steps) - {"exact"}:
        with opened(drawn, options, start) as (journal, here, box):
            _prove_without_mip(proved, journal, here, box, steps, drawn.seed)
            _keep(proved, journal)
    return proved


def short_cuts(journal: Journal, here: Branching, root: Solved, seed: int) -> Iterator[Solved]:
    """Hull cuts from few boxes, some of them by encodings of pieces, which those with few inputs do not get else."""
    limits = {"MAX_BOXES": COVER_BOXES, "MORE_BOXES": 1.0, "SCREENING": 4, "MANY_INPUTS": 1 if seed % 3 == 0 else hull.MANY_INPUTS}
    with ExitStack() as stack:
        for name, value in limits.items():
            stack.enter_context(mock.patch.object(hull, name, value))
        yield from cut_hull(here.hull, here.bounder, journal, root, here.cutoff)


def _prove_without_mip(proved: Proved, journal: Journal, here: Branching, box: Box, steps: tuple[str, ...], seed: int) -> None:
    try:
        root = here.bounder.solve(box)
        proved.note("relaxation", journal, root.bound)
        if "multipliers" in steps:
            for bound in _wrong_multipliers(here):
                proved.note("multipliers", journal, bound)
        if "cuts" in steps:
            for cut in islice(short_cuts(journal, here, root, seed), CUT_ROUNDS):
                root = cut
                proved.note("cuts", journal, root.bound)
        if "boxes" in steps:
            for bound in islice(branch(here, root), TREE_BOXES):
                proved.note("boxes", journal, bound)
    except RunEnded:
        pass


def _wrong_multipliers(here: Branching) -> Iterator[float]:
    """What is proved at the root by multipliers and points that are off, as those of a solver that failed may be."""
    if here.bounder.last is None:
        return
    relaxed, x, y = here.bounder.last.relaxed, here.bounder.last.x, here.bounder.last.multipliers
    rng = np.random.default_rng(y.size)
    size = np.abs(y).max(initial=0.0) + 1e-3
    for number in range(NUM_TRIED):
        noise = 10.0 ** rng.uniform(-9, 0) * rng.normal(size=y.size)
        tried = (y + size * noise, y * (1.0 + noise), np.where(rng.random(y.size) < 0.1, np.nan, y))[number % 3]
        point = x + 10.0 ** rng.uniform(-9, 0) * rng.normal(size=x.size) * np.abs(x)
        yield boxes.prove_bound(relaxed, point, tried).bound


@contextmanager
def opened(drawn: Drawn, options: Options, start: np.ndarray | None) -> Iterator[tuple[Journal, Branching, Box]]:
    arguments = read_arguments(drawn.program, drawn.embeddings, start, options)
    with open_journal(arguments, options.switches) as journal:
        problem = build_problem(journal.embedded, options, lambda: False)
        for number, w in enumerate(arguments.starts):
            journal.start(number, measure_start(journal.embedded, journal.embedded.lower(w)))
        with certify._opened(journal, problem.box, problem.solver, journal.clock, Covers()) as here:
            yield journal, here, problem.box


def _keep(proved: Proved, journal: Journal) -> None:
    best = journal.incumbent.point
    if best is not None:
        proved.points.append(journal.embedded.lift(best.w))


def violated_rows(drawn: Drawn) -> dict[str, float]:
    """By how much feasible points with the true functions violate rows of the relaxation at the root, relative to the sizes in these."""
    points = feasible_points(drawn)
    options = Options(verbose=False, time_limit=SECONDS, prove=True)
    with opened(drawn, options, None) as (journal, here, box):
        shared = here.bounder.relaxation
        kept = np.array([journal.embedded.lower(point) for point in points])
        full = np.hstack([kept, np.array([shared.values(w) for w in kept])])
        root = here.bounder.solve(box)
        for _ in islice(short_cuts(journal, here, root, drawn.seed), CUT_ROUNDS):
            pass
        unit = sp.eye_array(full.shape[1], format="csr")
        kinds = {
            "bounds": Rows(unit, *with_functions(shared, box, root.below)),
            "fixed rows": shared.fixed,
            "indicators": shared.switched(shared.root),
            "planes": shared.planes(root.below),
            "cuts": here.bounder.cuts,
        }
        return {kind: _violation(rows, full) for kind, rows in kinds.items()}


def _violation(rows: Rows, points: np.ndarray) -> float:
    if rows.number == 0:
        return 0.0
    value, size = points @ rows.matrix.T, np.abs(points) @ abs(rows.matrix).T + 1e-9
    return float((np.maximum(rows.lb - value, value - rows.ub) / size).max())


def wrong_steps(drawn: Drawn, steps: tuple[str, ...] = STEPS, with_start: bool = False, seed: int = 0) -> dict[str, float]:
    """The steps whose bounds are on the wrong side of a feasible point, and by how much; for "rows" the rows that cut one off."""
    if steps == ("rows",):
        return {kind: amount for kind, amount in violated_rows(drawn).items() if amount > ALLOWED}
    proved = prove_steps(drawn, steps, drawn.witness if with_start else None)
    best = best_of(drawn, proved.points, seed)
    return {step: excess(bound, best) for step, bound in proved.bounds.items() if excess(bound, best) > ALLOWED}


def prove_whole(drawn: Drawn, seconds: float, gap_tol: float = 1e-4) -> tuple[dcembed.Result, float]:
    """`dcembed.prove` from the witness, and the best feasible point that is known."""
    result = dcembed.prove(
        drawn.program, drawn.embeddings, point=drawn.witness, options={"verbose": False, "time_limit": seconds, "gap_tol": gap_tol}
    )
    hints = [result.x] if result.x is not None else []
    return result, best_of(drawn, hints)
