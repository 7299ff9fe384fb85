"""What is tried, in this order, when a model promises nothing any more. The first that applies makes the next state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dcembed.engine.bundle.exact_master import FEW_UNITS, MORE_UNITS, has_small_networks
from dcembed.engine.bundle.look_ahead import look_ahead, num_looks, step_columns
from dcembed.engine.bundle.master import TIGHT_GAP, tightened
from dcembed.engine.bundle.model import recenter, turn
from dcembed.engine.bundle.state import Looked, State, redrawn
from dcembed.engine.problem import Problem
from dcembed.program.tightening import is_same_box
from dcembed.run.clock import Clock

# Sizes of further boxes, relative to the last that brought something, before the point counts as a local solution: finer ones,
# where the split is tighter; with integers, and from a point that is not feasible, also wider ones, where the master sees more.
BOXES_FINER = (0.25, 0.0625)
BOXES_WIDER = (0.25, 4.0, 16.0)

# A remedy knows the problem, the state, the gap at which the last master ended, and the time.
Remedy = Callable[[Problem, State, float, Clock], State | None]


def look_exactly(problem: Problem, state: State, gap: float, clock: Clock) -> State | None:
    """A model in which the few units that matter most are exact."""
    if state.looked.num_units or not has_small_networks(problem):
        return None
    return replace(state, max_exact=FEW_UNITS)


def look_more_exactly(problem: Problem, state: State, gap: float, clock: Clock) -> State | None:
    """A model in which more units are exact; one that had too little time is given more first."""
    more = next((number for number in MORE_UNITS if number > state.looked.num_units), None)
    if more is None or not has_small_networks(problem):
        return None
    return replace(state, max_exact=state.looked.num_units if state.looked.is_cut else more)


def solve_better(problem: Problem, state: State, gap: float, clock: Clock) -> State | None:
    """A master that was solved to a loose gap is solved to a smaller one, to the tightest at once if it only repeats itself."""
    if state.model.gap <= TIGHT_GAP or gap <= TIGHT_GAP:
        return None
    smaller = TIGHT_GAP if state.is_repeated and has_small_networks(problem) else tightened(min(state.model.gap, gap))
    return replace(state, model=replace(state.model, gap=smaller))


def turn_kinks(problem: Problem, state: State, gap: float, clock: Clock) -> State | None:
    """The tangents on the other side of the kinks at the point."""
    if state.model.is_turned or state.model.looks:
        return None
    model = turn(state.model, state.point)
    return replace(state, model=model) if model is not None else None


def look_along_integers(problem: Problem, state: State, gap: float, clock: Clock) -> State | None:
    """What a step of one in each integer really changes, in place of its slope."""
    steps, model = step_columns(problem.embedded), state.model
    if model.looks >= num_looks(problem.embedded, steps):
        return None
    side = 1.0 if model.looks == 0 else -1.0
    tangents = look_ahead(model.split, state.point.w, steps, problem.host_box, side, lambda: clock.ended() is not None)
    return replace(state, model=replace(model, tangents=tangents, looks=model.looks + 1))


def raise_penalty(problem: Problem, state: State, gap: float, clock: Clock) -> State | None:
    """An infeasible point calls for a larger penalty, as long as there is one."""
    if state.point.is_feasible(problem.options.feasibility_tol) or state.penalty.is_largest:
        return None
    return replace(state, penalty=state.penalty.grown(), model=recenter(state.model, state.point), looked=Looked())


def return_to_feasible(problem: Problem, state: State, gap: float, clock: Clock) -> State | None:
    """Feasible points were met on the way: from the best of them the restrictions alone, without slack, stay feasible."""
    if state.point.is_feasible(problem.options.feasibility_tol) or state.reserve is None:
        return None
    back = replace(state, point=state.reserve, reserve=None, penalty=state.penalty.hardened(), looked=Looked())
    return redrawn(problem, back, state.model.region.radius, clock)


def change_box(problem: Problem, state: State, gap: float, clock: Clock) -> State | None:
    """A finer split on a smaller box, or other integers in a larger one; in a box that was seen, the same would be met again."""
    is_final = state.point.is_feasible(problem.options.feasibility_tol) and not problem.embedded.host.integer.any()
    boxes = BOXES_FINER if is_final else BOXES_WIDER
    if state.num_fruitless >= len(boxes) or state.first.columns.size == 0 or problem.options.decomposition == "global":
        return None
    seen = (state.model.region.box, state.first.around(state.point.w, state.fruitful_radius).box)
    for number in range(state.num_fruitless, len(boxes)):
        radius = boxes[number] * state.fruitful_radius
        if not any(is_same_box(state.first.around(state.point.w, radius).box, box) for box in seen):
            return replace(redrawn(problem, state, radius, clock), num_fruitless=number + 1)
    return None


REMEDIES: tuple[Remedy, ...] = (
    solve_better,
    look_exactly,
    turn_kinks,
    look_along_integers,
    raise_penalty,
    return_to_feasible,
    change_box,
    look_more_exactly,
)


def remedy(problem: Problem, state: State, gap: float, clock: Clock) -> State | None:
    """The state after the first remedy that applies; None where nothing is left to try, or where the problem itself promised nothing."""
    if state.looked.is_whole and state.point.is_feasible(problem.options.feasibility_tol):
        return None
    for each in REMEDIES:
        if (after := each(problem, state, gap, clock)) is not None:
            return after
    return None
