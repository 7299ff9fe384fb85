"""Of a host that is said to have no point: whether it is the host itself, and which of its rows are in the way."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_plainly
from dcembed.embedded.verify import measure_host
from dcembed.engine.problem import Problem, solver_for
from dcembed.engine.search.ending import Ending
from dcembed.errors import MissingBoundError
from dcembed.program.derive import add_columns, derive, minimized, without_objective
from dcembed.program.program import Program
from dcembed.run.journal import Journal
from dcembed.run.starts import measure_start
from dcembed.solvers.failover import LastingSession
from dcembed.status import Status
from dcembed.support.meeting import describe_outside, soften

# Which rows are in the way need not be known exactly.
GAP, NUM_NODES = 0.1, 200


def explain(problem: Problem, journal: Journal, ending: Ending) -> Ending:
    """The ending of a run whose host has no point, after the point that leaves the least to be desired has been offered.

    Solvers know the host with what bounds of the networks imply about it. If it has a point without that, it is the networks that no point is left for,
    and not the host. Where the host has a point without the regions of data that its inputs must be in, it is these that do not meet it.
    """
    if (outside := _explain_support(problem, journal)) is not None:
        return replace(ending, status=Status.OUTSIDE_SUPPORT, reason=outside)
    plain = eliminate(journal.arguments.minimized, journal.arguments.embeddings)
    w = _least_excess(problem, plain.host, journal)
    if w is None:
        return ending
    nearest = measure_plainly(plain, measure_start(plain, w))
    journal.offer(measure_start(problem.embedded, problem.embedded.lower(nearest.x)))
    if journal.incumbent.is_feasible:
        return replace(ending, status=Status.NUMERICAL_ERROR, reason="the solver called the host infeasible, but here is a feasible point")
    if measure_host(plain.host, w)[1] > journal.arguments.options.feasibility_tol:
        return ending
    why = "the solver found no point of the host with what the networks imply about it; without the networks it has one"
    return replace(ending, status=Status.LOCALLY_INFEASIBLE, reason=why)


def _explain_support(problem: Problem, journal: Journal) -> str | None:
    """Which regions the host does not meet, and how far they are; None where it has no point without them, or meets them."""
    lift = journal.arguments.lift
    softened = soften(minimized(lift.given[0]), lift.given[1])
    if softened is None:
        return None
    without = eliminate(softened.program, softened.embeddings)
    w = _solve(problem, without.host, journal)
    if w is None:
        return None
    x, tolerance = softened.cut(without.lift(w)), journal.arguments.options.feasibility_tol
    host = eliminate(minimized(lift.given[0]), [each.with_support(None) for each in lift.given[1]])
    if measure_host(host.host, host.lower(x))[1] > tolerance:
        return None
    journal.offer(measure_start(problem.embedded, problem.embedded.lower(lift.complete(x))))
    return describe_outside(*lift.given, x, tolerance) or None


def _least_excess(problem: Problem, host: Program, journal: Journal) -> Array | None:
    """The point whose rows are off by the least in sum; None where no solver finds one, or takes rows that may be off."""
    found = _solve(problem, _elastic(host), journal)
    return None if found is None else found[: host.num_columns]


def _solve(problem: Problem, elastic: Program, journal: Journal) -> Array | None:
    """A point where a program that was made to say what is in the way is nearly optimal; None where no solver finds one."""
    limits = replace(journal.clock.limits(), gap=GAP, nodes=NUM_NODES)
    try:
        with (
            journal.log.working("rows in the way"),
            closing(LastingSession(elastic, solver_for(problem, elastic.problem_class))) as session,
        ):
            solution = session.solve(limits)
    except MissingBoundError:
        # Of an indicator whose columns are bounded by rows alone.
        return None
    if solution.x is None or not np.isfinite(solution.x).all():
        return None
    return solution.x


def _elastic(program: Program) -> Program:
    """The rows with a column for being below and one for being above, whose sum is minimized, each row in its own units."""
    m = program.num_rows
    largest = abs(program.rows).max(axis=1).toarray().reshape(-1) if m else np.zeros(0)
    cost = np.tile(1.0 / np.where(largest > 0, largest, 1.0), 2)
    wide = add_columns(without_objective(program), np.zeros(2 * m), np.full(2 * m, np.inf), cost)
    unit = sp.eye_array(m, format="csr")
    return derive(wide, rows=sp.csr_array(sp.hstack([program.rows, unit, -unit], format="csr")))
