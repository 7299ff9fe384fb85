"""Small networks: the exact encoding with tight bounds, and a solver for mixed-integer programs that begins at the best point known.

What the solver proves in its time is a bound, less a margin for the tolerances that it works to; every point it meets is measured.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.exact_solver import bound_linear, choose_solver, is_moderate, loosened, solve_strictly, without_tiny
from dcembed.bounds.exact_units import Limited, limit_units, tighten_units, with_cutoff
from dcembed.embedded.big_m import BigM, build_big_m
from dcembed.embedded.point import Point
from dcembed.network.activations import RELU
from dcembed.run.clock import RunEnded
from dcembed.run.journal import Journal
from dcembed.run.starts import measure_start
from dcembed.solvers.base import Backend, Limits, Solution, SolveStatus
from dcembed.tolerances import SETTLED_TOL

# Hidden units of all evaluations that are looked at, open ones that are encoded, and how many times these may be open before linear
# programs tighten them.
MAX_UNITS, MAX_OPEN, TIGHTENED_TIMES = 20_000, 200, 3
# The largest size of a unit; where the host is curved, squares of predictions go into it.
MAX_SIZE, MAX_CURVED_SIZE = 1e5, 1e4
# Tightening takes at most this share of the time.
TIGHTEN_SHARE = 0.2
# Points that are worse than the best one by more than this, relative to its objective, are left out of the bounds of units.
CUTOFF_SLACK = 1e-6
# Solvers are asked for this share of the gap: the margin of the bound needs its part.
GAP_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class _Known:
    """The best feasible point, if there is one, and the objective above which bounds of units hold for no point."""

    point: Point | None
    cutoff: float


def prove_exactly(journal: Journal, budget: float, max_open: int = MAX_OPEN, nodes: float = np.inf) -> bool:
    """Let a solver prove a bound on the exact encoding within `budget` seconds and so many nodes, if no more units than that are open.

    Gives whether they are not.

    The bound is certified in the journal, and every point that the solver meets is offered to it.
    """
    deadline, known = time.monotonic() + budget, _known(journal)
    if not _is_encodable(journal):
        return False
    try:
        limited = _limit(journal, known, deadline, max_open)
    except RunEnded:
        return False
    if limited is None:
        return False
    encoded = _encode(journal, limited)
    backend = choose_solver(encoded.program, journal.arguments.options)
    if backend is None or not is_moderate(encoded.program):
        return False
    _prove(journal, limited, encoded, backend, known, deadline, nodes)
    return True


def _is_encodable(journal: Journal) -> bool:
    """Whether there is an exact encoding of the problem that solvers take: not too many units, all ReLUs, and a convex objective."""
    embeddings = journal.arguments.embeddings
    num_units = sum(embedding.num_evaluations * embedding.network.num_hidden for embedding in embeddings)
    all_relu = all(set(embedding.network.activations) <= {RELU} for embedding in embeddings)
    return journal.arguments.minimized.concave is None and all_relu and num_units <= MAX_UNITS


def _known(journal: Journal) -> _Known:
    point = journal.incumbent.point if journal.incumbent.is_feasible else None
    if point is None:
        return _Known(None, np.inf)
    return _Known(point, point.objective + CUTOFF_SLACK * max(1.0, abs(point.objective)))


def _limit(journal: Journal, known: _Known, deadline: float, max_open: int) -> Limited | None:
    """Tight bounds of the units for all points that are no worse than the best one; None where the encoding is not worthwhile."""
    arguments, clock = journal.arguments, journal.clock
    program = arguments.minimized if known.point is None else with_cutoff(arguments.minimized, known.point.x, known.cutoff)
    limited = limit_units(program, arguments.embeddings, clock.check)
    if not limited.is_finite or limited.num_open > TIGHTENED_TIMES * max_open:
        return None
    left = min(deadline - time.monotonic(), clock.limits().seconds)
    limited = tighten_units(limited, TIGHTEN_SHARE * left, lambda: clock.ended() is not None, arguments.options.seed)
    is_linear = arguments.minimized.problem_class in ("LP", "MILP")
    fits = limited.largest <= (MAX_SIZE if is_linear else MAX_CURVED_SIZE)
    return limited if fits and limited.num_open <= max_open else None


def _encode(journal: Journal, limited: Limited) -> BigM:
    encoded = build_big_m(journal.arguments.minimized, limited.embeddings, limited.bounds, 0.0)
    return replace(encoded, program=without_tiny(encoded.program, *_box(limited, encoded)))


def _box(limited: Limited, encoded: BigM) -> tuple[Array, Array]:
    """Bounds of all columns of the encoding; those of the host as they hold for points that are no worse than the best one."""
    n, program = limited.lb.size, encoded.program
    return np.concatenate([limited.lb, program.lb[n:]]), np.concatenate([limited.ub, program.ub[n:]])


def _prove(journal: Journal, limited: Limited, encoded: BigM, backend: Backend, known: _Known, deadline: float, nodes: float) -> None:
    """Solve, offer every point, certify what is proved."""
    options, n = journal.arguments.options, limited.lb.size

    def offer(x: Array) -> None:
        journal.offer(measure_start(journal.embedded, journal.embedded.lower(x[:n])))

    def limits() -> Limits:
        left = journal.clock.limits(GAP_SHARE * options.gap_tol)
        return replace(left, seconds=min(left.seconds, deadline - time.monotonic()), nodes=nodes, on_solution=offer)

    start = encoded.values(known.point.x) if known.point is not None else None
    solution = solve_strictly(encoded.program, backend, options, limits(), start, journal.log.note)
    if solution.x is not None:
        offer(solution.x)
    bound = bound_linear(solution, encoded.program, *_box(limited, encoded))
    if _contradicts(solution, bound, known):
        journal.log.note(f"{backend.name}: {solution.message}: that is not believed, a feasible point is known that contradicts it.")
    elif solution.status is SolveStatus.INFEASIBLE:
        relaxed = loosened(encoded.program)
        again = solve_strictly(relaxed, backend, options, limits()) if relaxed is not None else Solution(SolveStatus.FAILED)
        # What is infeasible by a hair may be a matter of tolerances.
        journal.certify(np.inf if again.status is SolveStatus.INFEASIBLE else -np.inf)
    else:
        journal.certify(min(bound, known.cutoff))


def _contradicts(solution: Solution, bound: float, known: _Known) -> bool:
    """Whether the solver says what a point that is known shows to be wrong."""
    if known.point is None:
        return False
    is_beaten = known.point.violation <= SETTLED_TOL and bound > known.point.objective
    return is_beaten or solution.status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED)
