"""Completion of a candidate.

It fixes the columns that the network inputs depend on, puts the true predictions in, and solves the host for everything else. That
repairs linked outputs and decisions behind indicators exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import evaluate_measurements
from dcembed.embedded.point import Point, measure_plainly, measure_point
from dcembed.embedded.verify import predict
from dcembed.program.indicators import largest_values, switch
from dcembed.run.host import HostProblem
from dcembed.run.journal import Journal
from dcembed.solvers.base import Limits
from dcembed.tolerances import COMPLETION_REACH


@dataclass(frozen=True, eq=False)
class Taken:
    """A measured candidate, and its completion where there is one."""

    point: Point
    completed: Point | None


def take(journal: Journal, host: HostProblem, w: Array) -> Taken:
    """Measure a candidate given by its kept columns, complete it where that may make it feasible, and write both down."""
    point = measure_point(journal.embedded, w)
    journal.offer(point)
    completed = complete(host, point, journal.clock.limits(), journal.arguments.options.feasibility_tol)
    if completed is not None:
        journal.offer(completed)
    return Taken(point, completed)


def complete(problem: HostProblem, point: Point, limits: Limits, feasibility_tol: float) -> Point | None:
    """The best point with the network inputs of `point` and true predictions; None if it is hopeless, or the solver finds none."""
    if not can_complete(problem.embedded, point, feasibility_tol):
        return None
    _fix_inputs(problem, point)
    solution = problem.session.solve(limits, point.w)
    if solution.x is None or not np.isfinite(solution.x).all():
        return None
    return measure_point(problem.embedded, solution.x)


def can_complete(embedded: EmbeddedProgram, point: Point, feasibility_tol: float) -> bool:
    """Whether solving for the other columns could make the point feasible, and it is worth a solve."""
    if point.violation <= feasibility_tol or not np.isfinite(point.violation):
        return False
    if ((point.excess > feasibility_tol) & ~embedded.movable).any():
        return False
    repairable = embedded.linked.size > 0 or embedded.restrictions.is_switched
    return repairable or point.violation <= COMPLETION_REACH * feasibility_tol


def _fix_inputs(problem: HostProblem, point: Point) -> None:
    """The host with the inputs of `point` and the predictions there."""
    embedded, host = problem.embedded, problem.embedded.host
    w, neural = _with_true_predictions(embedded, point)
    fixed = np.union1d(embedded.input_columns, embedded.linked)
    lb, ub = host.lb.copy(), host.ub.copy()
    lb[fixed] = ub[fixed] = np.clip(w[fixed], host.lb[fixed], host.ub[fixed])
    problem.session.set_bounds(lb, ub)

    restrictions = embedded.restrictions
    size = restrictions.num_restrictions
    rhs = restrictions.rhs - neural[1:]
    excess = np.zeros(size)
    behind = np.flatnonzero(restrictions.indicator >= 0)
    if behind.size:
        excess[behind] = largest_values(host, restrictions.linear[behind], *problem.box) - rhs[behind]
    rows, row_ub = switch(restrictions.linear, rhs, restrictions.indicator, restrictions.indicator_value, excess)
    problem.session.replace_rows(host.num_rows, rows, np.full(size, -np.inf), row_ub)


def _with_true_predictions(embedded: EmbeddedProgram, point: Point) -> tuple[Array, Array]:
    """The kept columns with linked outputs at their predictions, and the network part of every measurement there."""
    if embedded.linked.size == 0:
        return point.w, point.neural
    w = predict(embedded.embeddings, measure_plainly(embedded, point).x)[embedded.kept]
    if np.intersect1d(embedded.linked, embedded.input_columns).size == 0:
        return w, point.neural
    return w, evaluate_measurements(embedded, w)
