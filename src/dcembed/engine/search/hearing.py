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
from dcembed.engine.search.patience import Patience, heard
from dcembed.engine.search.progress import Progress, remembered

# After so many starts in a row without anything better the choice is among all kinds of starts, moves from what was found among them.
STALLED = 10
# The same with "until-limit", where there is all the time to come back to other starts; with integers moves come as soon as there is a point
# to move from.
STALLED_SOON = 2
# What a step inside of a neighbourhood counts beside one of the whole problem.
NARROW_WORK = 0.3


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
    return replace(
        progress,
        outcomes=remembered((*earlier[: steps.start], outcome, *earlier[steps.start + 1 :])),
        patience=patience,
        num_others=progress.num_others + 1 if is_new else 0,
        # Moves begin at these, and only a search that leaves its starts makes any.
        verified=progress.verified.heard(here.terrain.space, outcome.best) if here.probes else progress.verified,
        chooser=chooser,
        is_stalled=progress.is_stalled or (len(earlier) + is_new > here.num_first and _is_stalled(here, patience)),
    )


def _is_stalled(here: Search, patience: Patience) -> bool:
    """Whether the usual starts have had their chance: a search that is one pass makes no others."""
    if not here.goes_on:
        return here.probes and patience.num_fruitless >= STALLED
    is_known = here.has_integers and here.columns is None and np.isfinite(patience.objective)
    return here.probes and (is_known or patience.num_fruitless >= STALLED_SOON)


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
    work = num_steps * (1.0 if order.box is None else NARROW_WORK)
    return progress.chooser.missed(order.missed).heard(order.origin, is_better, work, resized(is_better, is_exhausted))
