"""What one start works with: its subproblem and its host inside a solver, and the journal it writes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.point import Point
from dcembed.embedded.verify import measure_host
from dcembed.engine.cuts import CutPool
from dcembed.engine.problem import Problem
from dcembed.engine.shelf import label
from dcembed.engine.subproblem import Majorant, Subproblem, costs, fixed_program, quadratic, restriction_rows
from dcembed.program.tightening import Box, is_same_box
from dcembed.run.completion import take
from dcembed.run.host import HostProblem
from dcembed.run.journal import Journal, Step
from dcembed.run.penalty import Penalty
from dcembed.run.starts import is_infeasible
from dcembed.solvers.base import Limits, Solution
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.sparse import above

# Numbers of restrictions that are the two sides of a row, each beside the other.
Sides = tuple[Array, Array]
NO_SIDES: Sides = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
# Simplex iterations that the masters of a start may take, about a second, before it is left: what is dear for the whole problem is cheap in
# neighbourhoods, and where it was dear in one, the next is smaller.
DEAR_PIVOTS = 4000


class Master:
    """The subproblem inside a solver, edited in place. Whatever is solved was written right before."""

    def __init__(self, subproblem: Subproblem, session: LastingSession) -> None:
        self._subproblem = subproblem
        self._session = session
        self._box: Box | None = None
        # Which cuts the rows behind the restrictions are.
        self._cuts = np.zeros(0, dtype=np.int64)
        # Restrictions that were written as one row, and those that are free rows meanwhile.
        self._joined = NO_SIDES

    @property
    def solver(self) -> Solver:
        """The backend in use."""
        return self._session.solver

    def open(self) -> None:
        """Open the solver now, so that mistakes in the problem show at once."""
        self._session.open()

    def write(self, majorant: Majorant, penalty: Penalty, box: Box, pool: CutPool | None = None, sides: Sides = NO_SIDES) -> None:
        """Put a model of the problem into the solver: around a point, inside a box, with cuts in place of epigraph rows if need be.

        `sides` are pairs of restrictions of which the model makes two sides of one row: it is written as one, which interior points like better.
        """
        subproblem = self._subproblem
        self._limit(box, penalty.slack_ub)
        if majorant.bend is not None:
            self._session.set_quadratic(quadratic(subproblem, majorant.bend))
        self._session.set_cost(*costs(subproblem, majorant, penalty.value))
        matrix, rhs = restriction_rows(subproblem, majorant)
        below, origin = np.full(rhs.size, -np.inf), None
        self._joined = sides
        below[sides[0]], rhs[sides[1]] = rhs[sides[0]], np.inf
        if pool is not None:
            origin = np.concatenate([np.arange(rhs.size), pool.places_in(self._cuts, rhs.size)])
        if pool is not None and pool.num_cuts:
            matrix = above(matrix, pool.rows(subproblem.epigraph.num_columns, subproblem.num_slacks))
            below, rhs = np.concatenate([below, pool.constant]), np.concatenate([rhs, np.full(pool.num_cuts, np.inf)])
        self._cuts = self._cuts if pool is None else pool.numbers
        self._session.replace_rows(subproblem.first_restriction, matrix, below, rhs, origin)

    def solve(self, limits: Limits, start: Array | None = None, relax: bool = False) -> Solution:
        """Solve what was written."""
        solution = self._session.solve(limits, start, relax)
        return solution if solution.duals is None else replace(solution, duals=self._apart(solution.duals))

    def _apart(self, duals: Array) -> Array:
        """The multipliers with those of rows that were written as one given to their sides."""
        upper, lower = (self._subproblem.first_restriction + side for side in self._joined)
        if upper.size == 0:
            return duals
        whole, duals = duals[upper], duals.copy()
        duals[upper], duals[lower] = np.maximum(whole, 0.0), np.maximum(-whole, 0.0)
        return duals

    def reopen(self) -> None:
        """A fresh session after a failure."""
        self._session.reopen()
        self._box = None

    def close(self) -> None:
        """Release what the solver holds."""
        self._session.close()

    def _limit(self, box: Box, slack_ub: float) -> None:
        epigraph, num_slacks = self._subproblem.epigraph, self._subproblem.num_slacks
        free = np.full(epigraph.num_columns, np.inf)
        wanted = Box(
            np.concatenate([box.lb, epigraph.lb, np.zeros(num_slacks)]), np.concatenate([box.ub, free, np.full(num_slacks, slack_ub)])
        )
        if self._box is None or not is_same_box(wanted, self._box):
            self._session.set_bounds(*wanted)
            self._box = wanted


class Steps:
    """Numbers of the steps of one start, counted through all its loops, and on where it is taken up again.

    A probe is left before it settles, one on foot before it goes beyond tangents, and a brief one before a remedy with exact units. One that has met
    a feasible point is left, too, when its masters have taken more simplex iterations, pivots, than it may make.
    """

    def __init__(
        self,
        start: int,
        limit: int,
        taken: int = 0,
        is_probe: bool = False,
        is_on_foot: bool = False,
        is_brief: bool = False,
        max_pivots: float = np.inf,
    ) -> None:
        self.start, self.is_probe, self.is_on_foot, self.is_brief = start, is_probe, is_on_foot, is_brief
        # The last one that was made, and the last before it was taken up.
        self.number = self.taken = taken
        self._limit = limit
        self.max_pivots, self.num_pivots = max_pivots, 0

    @property
    def left(self) -> int:
        """How many there may be."""
        return self._limit - self.number

    @property
    def is_dear(self) -> bool:
        """Whether its masters have taken more than they may."""
        return self.num_pivots > self.max_pivots

    def __iter__(self) -> Iterator[int]:
        """Further numbers, as long as there are any."""
        while self.number < self._limit:
            self.number += 1
            yield self.number


@dataclass(frozen=True, eq=False)
class Workshop:
    """The solvers of a loop, the journal it writes to, and the count of the steps of its start."""

    master: Master
    host: HostProblem
    journal: Journal
    steps: Steps

    def record(self, kind: str, last: Point, candidate: Point | None, penalty: Penalty, solution: Solution) -> None:
        """Write down a step: from `last` to what the solver made of it."""
        message = solution.message or solution.status.value
        self.journal.step(Step(self.steps.start, self.steps.number, last, candidate, penalty.value, message, penalty.is_hard, kind))

    def host_is_infeasible(self, known: Point) -> bool:
        """A subproblem has slacks on its neural rows, so it is infeasible only with the host; solvers err, so ask again, unless a point is known."""
        is_possible = measure_host(self.host.embedded.host, known.w)[1] > self.journal.arguments.options.feasibility_tol
        return is_possible and is_infeasible(self.host, self.journal.clock.limits())


@contextmanager
def open_workshop(problem: Problem, journal: Journal, steps: Steps) -> Iterator[Workshop]:
    """Solvers for a loop."""
    with open_solvers(problem, replace(problem.solver, note=journal.log.note)) as (master, host):
        yield Workshop(master, host, journal, steps)


@contextmanager
def open_part(problem: Problem, workshop: Workshop) -> Iterator[Workshop]:
    """Solvers for a part of a start, with the host of the start where that is the same and nothing is carried over from solve to solve."""
    host, solver = workshop.host, replace(problem.solver, note=workshop.journal.log.note)
    used = host.session.solver
    is_same = used.backend is solver.backend and used.options is solver.options and host.embedded is problem.embedded
    if not (is_same and solver.backend.is_memoryless):
        with open_workshop(problem, workshop.journal, workshop.steps) as own:
            yield own
        return
    with open_master(problem, solver) as master:
        yield Workshop(master, host, workshop.journal, workshop.steps)


@contextmanager
def open_solvers(problem: Problem, solver: Solver) -> Iterator[tuple[Master, HostProblem]]:
    """The subproblem and the host inside a solver."""
    embedded = problem.embedded
    with (
        open_master(problem, solver) as master,
        kept_session(problem, "host", solver, lambda: LastingSession(embedded.open_host, solver)) as alone,
    ):
        # Both now: mistakes in the problem show at once, and no solver is opened while another one searches.
        alone.open()
        alone.set_cost(embedded.host.cost, embedded.host.offset)
        yield master, HostProblem(embedded, problem.box, alone)


@contextmanager
def open_master(problem: Problem, solver: Solver) -> Iterator[Master]:
    """The subproblem inside a solver."""
    role = f"master with {problem.subproblem.epigraph.num_columns} more columns"
    with kept_session(problem, role, solver, lambda: LastingSession(fixed_program(problem.subproblem), solver)) as session:
        session.open()
        yield Master(problem.subproblem, session)


@contextmanager
def kept_session(problem: Problem, role: str, solver: Solver, make: Callable[[], LastingSession]) -> Iterator[LastingSession]:
    """A session, from the shelf if there is one."""
    if problem.shelf is None:
        with closing(make()) as session:
            yield session
        return
    own = label(role, problem.embedded, solver)
    session = problem.shelf.take(own, make)
    try:
        yield session
    except BaseException:
        # Whatever it was in the middle of is not for later.
        session.close()
        raise
    problem.shelf.put(own, session)


def take_candidate(problem: Problem, workshop: Workshop, solution: Solution, penalty: Penalty) -> tuple[Point | None, tuple[Point, ...]]:
    """The solver's point, or its completion where that is the better one; and all points that were measured."""
    if solution.x is None or not np.isfinite(solution.x).all():
        return None, ()
    taken = take(workshop.journal, workshop.host, solution.x[: problem.embedded.host.num_columns])
    if taken.completed is None:
        return taken.point, (taken.point,)
    is_better = taken.completed.merit(penalty.value) <= taken.point.merit(penalty.value)
    completes = is_better and taken.completed.is_feasible(problem.options.feasibility_tol)
    return taken.completed if completes else taken.point, (taken.point, taken.completed)
