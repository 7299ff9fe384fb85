"""The host alone inside a solver, with a place for each neural restriction: what starts and completions are solved on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.program.tightening import Box
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.sparse import empty_rows


@dataclass(frozen=True, eq=False)
class HostProblem:
    """The host followed by one row per neural restriction; `box` has the bounds of the columns that its rows imply."""

    embedded: EmbeddedProgram
    box: Box
    session: LastingSession


def open_host(embedded: EmbeddedProgram, box: Box, solver: Solver) -> HostProblem:
    """The host with its restrictions as free rows."""
    return HostProblem(embedded, box, LastingSession(embedded.open_host, solver))


def release(problem: HostProblem) -> None:
    """Back to the host alone: its own bounds, and restrictions as free rows."""
    host, size = problem.embedded.bounded_host, problem.embedded.restrictions.num_restrictions
    problem.session.set_bounds(host.lb, host.ub)
    free = np.full(size, np.inf)
    problem.session.replace_rows(host.num_rows, empty_rows(size, host.num_columns), -free, free)
