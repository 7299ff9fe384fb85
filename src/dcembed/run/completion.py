"""The host alone: to find a start, and to complete a candidate.

Completion fixes the columns that the network inputs depend on, puts the true predictions in, and solves the host for
everything else. That repairs linked outputs and decisions behind indicators exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import evaluate_measurements
from dcembed.embedded.point import Point, restriction_excess
from dcembed.embedded.verify import predict
from dcembed.engine.subproblem import take_indicators
from dcembed.program.derive import add_rows
from dcembed.program.indicators import largest_values, switch
from dcembed.program.program import Program
from dcembed.program.tightening import tighten
from dcembed.solvers.base import Backend, Limits, Session, SessionOptions, Solution, SolveStatus
from dcembed.tolerances import COMPLETION_REACH

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class HostProblem:
    """The host inside a solver, followed by one row per neural restriction.

    `box` has the bounds of the columns that the rows imply.
    """

    embedded: EmbeddedProgram
    host: Program
    box: tuple[Array, Array]
    session: Session


def open_host(embedded: EmbeddedProgram, backend: Backend, options: SessionOptions) -> HostProblem:
    """Put the host into a solver; restrictions are free rows."""
    host = take_indicators(embedded, backend)
    size = embedded.restrictions.num_restrictions
    free = np.full(size, np.inf)
    program = add_rows(host, sp.csr_array((size, host.num_columns)), -free, free)
    return HostProblem(embedded, host, tighten(host), backend.open(program, options))


def release(problem: HostProblem) -> None:
    """Back to the host alone: its own bounds, and restrictions as free rows."""
    host, size = problem.host, problem.embedded.restrictions.num_restrictions
    problem.session.set_bounds(host.lb, host.ub)
    free = np.full(size, np.inf)
    problem.session.replace_rows(host.num_rows, sp.csr_array((size, host.num_columns)), -free, free)


def find_start(problem: HostProblem, limits: Limits) -> Solution:
    """An optimal point of the host without its neural parts, or any feasible one where that is unbounded."""
    release(problem)
    solution = problem.session.solve(limits)
    if solution.status is SolveStatus.UNBOUNDED:
        problem.session.set_cost(np.zeros(problem.host.num_columns), problem.host.offset)
        solution = problem.session.solve(limits)
        problem.session.set_cost(problem.host.cost, problem.host.offset)
    return solution


def random_start(problem: HostProblem, rng: np.random.Generator, limits: Limits) -> Array | None:
    """A feasible point of the host, at random: half way between two points with the same integers where random objectives are best."""
    release(problem)
    host = problem.host
    first = _random_vertex(problem, rng, limits)
    if first is None:
        return None
    held = host.integer
    fixed = np.clip(np.round(first), host.lb, host.ub)
    problem.session.set_bounds(np.where(held, fixed, host.lb), np.where(held, fixed, host.ub))
    second = _random_vertex(problem, rng, limits)
    release(problem)
    return first if second is None else (first + second) / 2


def _random_vertex(problem: HostProblem, rng: np.random.Generator, limits: Limits) -> Array | None:
    """Where an objective with random coefficients, alike on all columns in relation to their ranges, is best."""
    host = problem.host
    width = np.where(np.isfinite(host.ub - host.lb), np.maximum(host.ub - host.lb, 1e-9), 1.0)
    problem.session.set_cost(rng.standard_normal(host.num_columns) / width, host.offset)
    solution = problem.session.solve(limits)
    problem.session.set_cost(host.cost, host.offset)
    return solution.x


def can_complete(embedded: EmbeddedProgram, point: Point, feasibility_tol: float) -> bool:
    """Whether solving for the other columns could make the point feasible, and it is worth a solve."""
    if point.violation <= feasibility_tol or not np.isfinite(point.violation):
        return False
    restrictions = embedded.restrictions
    free = np.ones(embedded.host.num_columns)
    free[embedded.input_columns] = 0.0
    movable = (abs(restrictions.linear) @ free > 0) | (restrictions.indicator >= 0)
    violated = restriction_excess(embedded, point.w) > feasibility_tol
    if (violated & ~movable).any():
        return False
    repairable = embedded.linked.size > 0 or bool((restrictions.indicator >= 0).any())
    return repairable or point.violation <= COMPLETION_REACH * feasibility_tol


def complete(problem: HostProblem, point: Point, limits: Limits) -> Array | None:
    """The kept columns with inputs as in `point`, predictions true and everything else optimal; None if there are none."""
    embedded, host = problem.embedded, problem.host
    w = predict(embedded.embeddings, point.x)[embedded.kept]
    fixed = np.union1d(embedded.input_columns, embedded.linked)
    lb, ub = host.lb.copy(), host.ub.copy()
    lb[fixed] = ub[fixed] = np.clip(w[fixed], host.lb[fixed], host.ub[fixed])
    problem.session.set_bounds(lb, ub)

    restrictions = embedded.restrictions
    size = restrictions.num_restrictions
    rhs = restrictions.rhs - evaluate_measurements(embedded, w)[1:]
    excess = np.zeros(size)
    behind = np.flatnonzero(restrictions.indicator >= 0)
    if behind.size:
        excess[behind] = largest_values(host, restrictions.linear[behind], *problem.box) - rhs[behind]
    rows, row_ub = switch(restrictions.linear, rhs, restrictions.indicator, restrictions.indicator_value, excess)
    problem.session.replace_rows(host.num_rows, rows, np.full(size, -np.inf), row_ub)
    solution = problem.session.solve(limits, point.w)
    return solution.x
