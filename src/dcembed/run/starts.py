"""Where a run begins: points of the host alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.point import Point, measure_point
from dcembed.embedded.verify import predict
from dcembed.run.clock import Clock
from dcembed.run.host import HostProblem, release
from dcembed.run.space import Space
from dcembed.solvers.base import Limits, Solution, SolveStatus
from dcembed.status import Status

_FAILED = {
    SolveStatus.INFEASIBLE: Status.HOST_INFEASIBLE,
    SolveStatus.UNBOUNDED: Status.UNBOUNDED,
    SolveStatus.TIME_LIMIT: Status.TIME_LIMIT,
    SolveStatus.INTERRUPTED: Status.INTERRUPTED,
}


# The first of these that occurred is the status of a run whose starts ended differently.
_RANK = (
    Status.INTERRUPTED,
    Status.TIME_LIMIT,
    Status.LOCALLY_SOLVED,
    Status.ITERATION_LIMIT,
    Status.UNBOUNDED,
    Status.NUMERICAL_ERROR,
    Status.LOCALLY_INFEASIBLE,
    Status.INFEASIBLE,
    Status.HOST_INFEASIBLE,
)


def report(statuses: Iterable[Status]) -> Status:
    """What a run reports when its starts ended differently."""
    return min(statuses, key=_RANK.index)


def with_predictions(embedded: EmbeddedProgram, w: Array) -> Array:
    """Kept columns with true predictions in their place."""
    # Predictions that are columns of the host are the only ones that could be wrong.
    return embedded.lower(predict(embedded.embeddings, embedded.lift(w))) if embedded.linked.size else w


def measure_start(embedded: EmbeddedProgram, w: Array) -> Point:
    """A starting point given by its kept columns, with true predictions in their place."""
    return measure_point(embedded, with_predictions(embedded, w))


def no_start(solution: Solution) -> Status:
    """What a run reports that found no point to start from."""
    return _FAILED.get(solution.status, Status.NUMERICAL_ERROR)


def find_start(problem: HostProblem, limits: Limits) -> Solution:
    """An optimal point of the host without its neural parts, or any feasible one where that is unbounded."""
    release(problem)
    solution = problem.session.solve(limits)
    if solution.status is SolveStatus.UNBOUNDED:
        host = problem.embedded.host
        problem.session.set_cost(np.zeros(host.num_columns), host.offset)
        solution = problem.session.solve(limits)
        problem.session.set_cost(host.cost, host.offset)
    return solution


def is_infeasible(problem: HostProblem, limits: Limits) -> bool:
    """Whether the host alone has no point."""
    return find_start(problem, limits).status is SolveStatus.INFEASIBLE


def random_starts(problem: HostProblem, seed: int, number: int, clock: Clock) -> Iterator[Array]:
    """So many random points of the host, each found when it is asked for; fewer where a solver gives none."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        w = random_start(problem, rng, clock.limits())
        if w is None:
            return
        yield w


def random_start(problem: HostProblem, rng: np.random.Generator, limits: Limits) -> Array | None:
    """A feasible point of the host, at random: half way between two points with the same integers where random objectives are best."""
    release(problem)
    host = problem.embedded.host
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
    """Where an objective with random coefficients is best."""
    host = problem.embedded.host
    problem.session.set_cost(random_cost(Space(problem.embedded, problem.box), rng), host.offset)
    solution = problem.session.solve(limits)
    problem.session.set_cost(host.cost, host.offset)
    return solution.x


def random_cost(space: Space, rng: np.random.Generator) -> Array:
    """Random coefficients, alike on all columns in relation to their ranges, and none where a column has no bounds."""
    return np.where(space.is_bounded, rng.standard_normal(space.host.num_columns) / space.width, 0.0)
