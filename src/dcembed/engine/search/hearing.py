"""What a start that is over tells the search."""

from __future__ import annotations

import numpy as np

from dcembed.copies import replace
from dcembed.engine.moves.chooser import Chooser, resized
from dcembed.engine.moves.narrowing import seen_from_outside
from dcembed.engine.moves.table import MOVES
from dcembed.engine.outcome import Outcome, best_of
from dcembed.engine.scouting.scout import SAME_PLACE
from dcembed.engine.search.ground import Search
from dcembed.engine.search.orders import Order
from dcembed.engine.search.patience import heard
from dcembed.engine.search.progress import Progress, remembered
from dcembed.engine.workshop import DEAR_PIVOTS

# After so many starts in a row without anything better the choice is among all kinds of starts, moves from what was found among them.
STALLED = 10
# The same with "until-limit", where there is all the time to come back to other starts. With integers moves come as soon as there is a point to
# move from then, and else, where masters of the whole problem are dear.
STALLED_SOON = 2
# What a step inside of a neighbourhood counts beside one of the whole problem.
NARROW_WORK = 0.3
# Simplex iterations of masters that count as a step.
STEP_PIVOTS = 400


def hear(here: Search, progress: Progress, order: Order, outcome: Outcome) -> Progress:
    """The progress after a start, new or taken up again, has ended."""
    problem, earlier, steps = here.problem, progress.outcomes, order.steps
    is_new, num_steps = steps.start == len(earlier), steps.number - steps.taken
    chooser = _chooser(here, progress, order, outcome, num_steps) if here.probes else progress.chooser
    if order.box is not None:
        outcome = seen_from_outside(outcome)
    if not is_new:
        outcome = replace(outcome, best=best_of((earlier[steps.start].best, outcome.best), problem.options.feasibility_tol))
    if order.origin not in MOVES:
        here.journal.reach(steps.start, outcome.best)
    if order.box is None:
        here.scout.hear_end(outcome.point.w)
    if here.columns is not None and (here.journal.clock.ended() is None or problem.options.prove):
        here.columns.hear(outcome.point)
        here.columns.hear(outcome.best)
    patience = heard(progress.patience, outcome.point, outcome.best, num_steps, problem.options.objective_tol, is_new)
    after = replace(
        progress,
        outcomes=remembered((*earlier[: steps.start], outcome, *earlier[steps.start + 1 :])),
        patience=patience,
        num_others=progress.num_others + 1 if is_new else 0,
        # Moves begin at these, and only a search that leaves its starts makes any.
        verified=progress.verified.heard(here.terrain.space, outcome.best) if here.probes else progress.verified,
        chooser=chooser,
        is_dear=progress.is_dear or (outcome.num_pivots > steps.max_pivots and outcome.best is not None and here.columns is None),
        has_taken_up=progress.has_taken_up or not is_new,
    )
    return replace(after, is_stalled=progress.is_stalled or _is_stalled(here, after))


def _is_stalled(here: Search, progress: Progress) -> bool:
    """Whether the usual starts have had their chance: a search that is one pass makes no others."""
    patience = progress.patience
    if not here.probes or len(progress.outcomes) <= here.num_first:
        return False
    is_known = here.columns is None and here.has_integers and np.isfinite(patience.objective)
    if is_known and (progress.is_dear or here.goes_on or (here.walks_first and progress.has_taken_up)):
        return True
    return patience.num_fruitless >= (STALLED_SOON if here.goes_on else STALLED)


def _chooser(here: Search, progress: Progress, order: Order, outcome: Outcome, num_steps: int) -> Chooser:
    """What a start tells of its kind: whether it brought something better, and whether its neighbourhood or kick was large enough."""
    tolerance, best = here.problem.options.objective_tol, progress.best
    is_better = outcome.best is not None and (
        best is None or outcome.best.objective < best.objective - tolerance * max(1.0, abs(best.objective))
    )
    # Without a box a kick was too small where it led back to the best point.
    is_back = best is not None and np.allclose(
        here.terrain.space.places(outcome.point.w), here.terrain.space.places(best.w), atol=SAME_PLACE
    )
    is_exhausted = is_back if order.box is None else outcome.is_settled
    work = num_steps * (1.0 if order.box is None else NARROW_WORK) + outcome.num_pivots / STEP_PIVOTS
    factor = resized(is_better, is_exhausted, outcome.num_pivots > DEAR_PIVOTS)
    return progress.chooser.missed(order.missed).heard(order.origin, is_better, work, factor)
