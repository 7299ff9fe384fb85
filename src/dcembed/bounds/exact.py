"""Small networks: the exact encoding with tight bounds, and a solver for mixed-integer programs that begins at the best point known.

What the solver proves in its time is a bound, less a margin for the tolerances that it works to; every point it meets is measured.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.exact_lp import bound_minimum
from dcembed.bounds.exact_units import Limited, limit_units, tighten_units, with_cutoff
from dcembed.embedded.big_m import BigM, build_big_m
from dcembed.embedded.point import Point
from dcembed.errors import DcembedError
from dcembed.network.activations import RELU
from dcembed.options import Options
from dcembed.program.program import Program
from dcembed.run.clock import RunEnded
from dcembed.run.journal import Journal
from dcembed.run.starts import measure_start
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend, SessionOptions, Solution, SolveStatus
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.tolerances import SETTLED_TOL

# Open units that it is worthwhile to tighten the bounds of, and that are worthwhile to encode then.
MAX_UNITS, MAX_OPEN = 2000, 200
# Tightening takes at most this share of the time.
TIGHTEN_SHARE = 0.2
# Points that are worse than the best one by this, relative to its objective, are left out of the bounds of units.
CUTOFF_SLACK = 1e-6
# Solvers are asked for this share of the gap: the margin needs its part.
GAP_SHARE = 0.5
# What a bound loses to the tolerances of its solver, relative to max(1, |bound|).
MARGIN = 1e-7

# As exact as each solver goes. The default of 1e-6 lets a unit that is off have a millionth of its range, and less than the whole tree
# is searched then.
STRICT: Mapping[str, Mapping[str, object]] = {
    "highs": {
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
        "mip_feasibility_tolerance": 1e-9,
        "mip_abs_gap": 1e-9,
        "small_matrix_value": 1e-12,
    },
    "scip": {"numerics/feastol": 1e-9, "numerics/dualfeastol": 1e-9},
    "gurobi": {"FeasibilityTol": 1e-9, "OptimalityTol": 1e-9, "IntFeasTol": 1e-9, "MIPGapAbs": 1e-9},
}


@dataclass(frozen=True, eq=False)
class _Known:
    """The best feasible point, if there is one, and the objective beyond which nothing is looked at."""

    point: Point | None
    cutoff: float


def prove_exactly(journal: Journal, budget: float) -> bool:
    """Let a solver prove a bound on the exact encoding within `budget` seconds; whether that was worthwhile.

    The bound is certified in the journal, and every point that the solver meets is offered to it.
    """
    program, deadline = journal.arguments.minimized, time.monotonic() + budget
    if not _is_encodable(journal):
        return False
    known = _known(journal)
    restricted = program if known.point is None else with_cutoff(program, known.point.x, known.cutoff)
    try:
        limited = limit_units(restricted, journal.arguments.embeddings, journal.clock.check)
    except RunEnded:
        return False
    if not limited.is_finite or limited.num_open > MAX_UNITS:
        return False
    left = min(deadline - time.monotonic(), journal.clock.limits().seconds)
    limited = tighten_units(limited, TIGHTEN_SHARE * left, lambda: journal.clock.ended() is not None, journal.arguments.options.seed)
    if limited.num_open > MAX_OPEN:
        return False
    encoded = build_big_m(program, journal.arguments.embeddings, limited.bounds, 0.0)
    backend = _choose_backend(encoded.program, journal.arguments.options)
    if backend is None:
        return False
    _prove(journal, limited, encoded, backend, known, deadline)
    return True


def _is_encodable(journal: Journal) -> bool:
    """Whether there is an exact encoding of the problem that solvers take: units are ReLUs, and the objective is convex."""
    networks = [embedding.network for embedding in journal.arguments.embeddings]
    return journal.arguments.minimized.concave is None and all(set(network.activations) <= {RELU} for network in networks)


def _known(journal: Journal) -> _Known:
    incumbent = journal.incumbent
    if incumbent.point is None or not incumbent.is_feasible:
        return _Known(None, np.inf)
    objective = incumbent.point.objective
    return _Known(incumbent.point, objective + CUTOFF_SLACK * max(1.0, abs(objective)))


def _choose_backend(program: Program, options: Options) -> Backend | None:
    """The user's solver where it searches trees for this class, else the first one that does; None where none is installed."""
    # Solvers of convex problems tell no bound, and those of mixed-integer ones take them all.
    kind = program.problem_class if program.problem_class.startswith("MI") else f"MI{program.problem_class}"
    for name in (options.solver, None):
        try:
            return choose_backend(kind, name)
        except DcembedError:
            continue
    return None


def _prove(journal: Journal, limited: Limited, encoded: BigM, backend: Backend, known: _Known, deadline: float) -> None:
    """Solve, offer every point, certify what is proved."""
    options, n = journal.arguments.options, journal.arguments.minimized.num_columns

    def offer(x: Array) -> None:
        journal.offer(measure_start(journal.embedded, journal.embedded.lower(x[:n])))

    # The user's own options of a solver may end it at a bound that is none.
    settings = SessionOptions(options.threads, options.seed, STRICT[backend.name])
    with closing(LastingSession(encoded.program, Solver(backend, settings, journal.log.note))) as session:
        limits = replace(journal.clock.limits(GAP_SHARE * options.gap_tol), on_solution=offer)
        start = encoded.values(known.point.x) if known.point is not None else None
        solution = session.solve(replace(limits, seconds=min(limits.seconds, deadline - time.monotonic())), start)
        if solution.x is not None:
            offer(solution.x)
        # Another solver, where a licence ended, has its usual tolerances.
        bound = _bound(solution, limited, encoded) if session.solver.backend is backend else -np.inf
    if _contradicts(solution, bound, known):
        journal.log.note(f"{backend.name}: {solution.message}: its bound is not used, as a feasible point is known that contradicts it.")
    else:
        journal.certify(min(bound, known.cutoff))


def _bound(solution: Solution, limited: Limited, encoded: BigM) -> float:
    """What the solver has proved, less the margin; of a linear program, what its multipliers prove."""
    bound, program, n = solution.bound, encoded.program, limited.lb.size
    if program.problem_class == "LP" and solution.duals is not None:
        lb, ub = np.concatenate([limited.lb, program.lb[n:]]), np.concatenate([limited.ub, program.ub[n:]])
        proved = bound_minimum(program, program.cost, solution.duals, lb, ub) + program.offset
        # Columns without end leave the word of the solver.
        bound = proved if np.isfinite(proved) else bound
    return bound - MARGIN * max(1.0, abs(bound)) if np.isfinite(bound) else -np.inf


def _contradicts(solution: Solution, bound: float, known: _Known) -> bool:
    """Whether the solver says what a point that is known shows to be wrong."""
    if known.point is None:
        return False
    is_beaten = known.point.violation <= SETTLED_TOL and bound > known.point.objective
    return is_beaten or solution.status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED)
