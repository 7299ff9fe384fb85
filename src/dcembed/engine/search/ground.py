"""What the starts of a search come from and go to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.crew.task import Shared
from dcembed.engine.bundle.master import MANY_INTEGERS
from dcembed.engine.columns.columns import Columns, open_columns
from dcembed.engine.moves.chooser import Chooser
from dcembed.engine.moves.table import open_chooser
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.problem import Problem, solver_for
from dcembed.engine.scouting.scout import Scout
from dcembed.engine.workshop import kept_session
from dcembed.program.derive import without_objective
from dcembed.run.host import HostProblem
from dcembed.run.journal import Journal
from dcembed.run.space import Space
from dcembed.solvers.failover import LastingSession, Solver


@dataclass(frozen=True, eq=False)
class Search:
    """What the starts of a run come from and go to; `shared` is the problem as it goes to others."""

    shared: Shared
    journal: Journal
    host: HostProblem
    scout: Scout
    terrain: Terrain
    given: tuple[Array, ...]
    columns: Columns | None = None

    @property
    def problem(self) -> Problem:
        """The problem that all starts are of."""
        problem: Problem = self.shared.value
        return problem

    @property
    def num_first(self) -> int:
        """Starts that come before all others: the user's, and what columns make of them."""
        return len(self.given) + (self.columns is not None)

    @property
    def has_integers(self) -> bool:
        """Whether something is integer."""
        return bool(self.problem.embedded.integer.any())

    @property
    def walks_first(self) -> bool:
        """Whether the first starts are walked by tangents alone, which are cheap, before the best of them has masters with many integers."""
        problem = self.problem
        return self.probes and self.columns is None and problem.has_tangents and problem.embedded.host.num_integers > MANY_INTEGERS

    @property
    def is_one_pass(self) -> bool:
        """Whether so many starts are made, and no more."""
        return self.problem.options.search == "converge"

    @property
    def is_local(self) -> bool:
        """Whether one start is all that is wanted."""
        return self.problem.options.search == "local"

    @property
    def goes_on(self) -> bool:
        """Whether the search goes on until the limit."""
        return self.problem.options.search == "until-limit"

    @property
    def probes(self) -> bool:
        """Whether starts are left after some steps, since others follow."""
        return not (self.is_one_pass or self.is_local) and self.problem.options.num_starts != 1


@contextmanager
def open_search(problem: Problem, journal: Journal) -> Iterator[Search]:
    """Open the solvers that starts are found with."""
    solver, shared, embedded = replace(problem.solver, note=journal.log.note), Shared(problem), problem.embedded
    scout = Scout(shared, lambda: _for_corners(problem, journal), journal.crew, journal.clock)
    terrain = Terrain(problem, Space(embedded, problem.box), journal.clock.limits)
    given = tuple(map(embedded.lower, journal.arguments.starts))
    journal.work_on("given")
    with kept_session(problem, "host", solver, lambda: LastingSession(embedded.open_host, solver)) as session, closing(scout):
        session.set_cost(embedded.host.cost, embedded.host.offset)
        host = HostProblem(embedded, problem.box, session)
        columns = open_columns(shared, journal, given)
        yield Search(shared, journal, host, scout, terrain, given, columns)
        if columns is not None:
            columns.put_away()


def _for_corners(problem: Problem, journal: Journal) -> Solver:
    """A solver for the host without its objective."""
    return replace(solver_for(problem, without_objective(problem.embedded.host).problem_class), note=journal.log.note)


def choose_among(here: Search) -> Chooser:
    """The kinds of starts among which a search chooses that has stalled; one that makes its starts in one pass never does."""
    if not here.probes:
        return Chooser(())
    return open_chooser(here.terrain, ("scout",) if here.columns is None else ("scout", "columns"))
