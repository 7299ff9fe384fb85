"""What is kept from one solve of a compiled problem to the next, beside what follows from its structure.

A session is taken from the shelf where it holds the same constraints in the same solver; costs and bounds are written into it anyway. Only
solvers that carry nothing over from one solve to the next are kept, so that answers do not depend on what was solved before. Covers of a proof
are right for every price. Points of blocks are measured again, and those that still hold in their blocks are columns from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.covers import Covers
from dcembed.embedded.blocks import Blocks
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.program.program import Program
from dcembed.solvers.failover import LastingSession, Solver

# Sessions on the shelf: those of a start, its walk and the search, and some of those with other integers.
NUM_KEPT = 8


@dataclass(frozen=True, eq=False)
class Label:
    """What a session holds, apart from costs and bounds of columns: what it is for, its constraints, and in which solver."""

    role: str
    host: Program
    restrictions: object
    solver: Solver

    def fits(self, other: Label) -> bool:
        """Whether a session with the one label will do where the other one is asked for."""
        return (
            self.role == other.role
            and self.restrictions is other.restrictions
            and self.solver.backend.name == other.solver.backend.name
            and (self.solver.options is other.solver.options or self.solver.options == other.solver.options)
            and (self.host is other.host or _has_same_constraints(self.host, other.host))
        )


def label(role: str, embedded: EmbeddedProgram, solver: Solver) -> Label:
    """Of a session over the host and its restrictions."""
    return Label(role, embedded.bounded_host, embedded.restrictions.linear, solver)


@dataclass(frozen=True, eq=False)
class BlockPoints:
    """Points of the blocks that a problem falls into.

    Parameters
    ----------
    blocks
        The blocks.
    points
        Columns of the host, shape (k, n), with a point of every block in each row.
    prices
        Of the linking rows, as the relaxed master had them last.
    """

    blocks: Blocks
    points: Array
    prices: Array


class Shelf:
    """Where sessions wait, and what was found. It is used by one solve at a time."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Label, LastingSession]] = []
        self.covers = Covers()
        self.points: BlockPoints | None = None
        # Points of blocks that this solve has begun with.
        self.num_points = 0

    def next_solve(self) -> None:
        """Count anew what is taken."""
        self.covers.next_run()
        self.num_points = 0

    def forget(self) -> None:
        """Whatever was found: somebody may have been in the middle of changing it."""
        self.covers, self.points = Covers(), None

    def points_of(self, blocks: Blocks) -> BlockPoints | None:
        """Points of the same blocks, where there are any: of those that were found anew, too, if they come out as they were."""
        return self.points if self.points is not None and _are_same(self.points.blocks, blocks) else None

    def take(self, wanted: Label, make: Callable[[], LastingSession]) -> LastingSession:
        """A session that waits here, with the costs and bounds that it had last, or a new one."""
        for number, (known, session) in enumerate(self._waiting):
            if known.fits(wanted) and session.solver.backend.name == wanted.solver.backend.name:
                del self._waiting[number]
                session.tell(wanted.solver.note)
                return session
        return make()

    def put(self, known: Label, session: LastingSession) -> None:
        """Keep a session for later where that is of use, else close it."""
        if not known.solver.backend.is_memoryless:
            session.close()
            return
        self._waiting.insert(0, (known, session))
        for _, old in self._waiting[NUM_KEPT:]:
            old.close()
        del self._waiting[NUM_KEPT:]

    def close(self) -> None:
        """Close all of them, and forget what was found."""
        for _, session in self._waiting:
            session.close()
        self._waiting = []
        self.forget()


def _are_same(one: Blocks, other: Blocks) -> bool:
    """Whether two problems fall into the same blocks, by their columns and rows."""
    if one is other:
        return True
    return all(np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(Blocks))


def _has_same_constraints(one: Program, other: Program) -> bool:
    """Whether two programs with columns alike have the same rows and curves, and the same quadratic objective."""
    are_same = (
        one.rows is other.rows
        and one.quadratic is other.quadratic
        and one.indicators is other.indicators
        and one.quadratic_constraints is other.quadratic_constraints
        and one.cones is other.cones
        and one.integer is other.integer
    )
    sides = (one.row_lb, other.row_lb), (one.row_ub, other.row_ub)
    return are_same and all(side is known or np.array_equal(side, known) for side, known in sides)
