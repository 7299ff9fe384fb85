"""The host alone inside a solver, with a place for each neural restriction: what starts and completions are solved on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.program.derive import add_rows
from dcembed.program.tightening import Box
from dcembed.solvers.failover import LastingSession, Solver


@dataclass(frozen=True, eq=False)
class HostProblem:
    """The host followed by one row per neural restriction; `box` has the bounds of the columns that its rows imply."""

    embedded: EmbeddedProgram
    box: Box
    session: LastingSession


def open_host(embedded: EmbeddedProgram, box: Box, solver: Solver) -> HostProblem:
    """The host with its restrictions as free rows."""
    size, host = embedded.restrictions.num_restrictions, embedded.bounded_host
    free = np.full(size, np.inf)
    program = add_rows(host, sp.csr_array((size, host.num_columns)), -free, free)
    return HostProblem(embedded, box, LastingSession(program, solver))


def release(problem: HostProblem) -> None:
    """Back to the host alone: its own bounds, and restrictions as free rows."""
    host, size = problem.embedded.bounded_host, problem.embedded.restrictions.num_restrictions
    problem.session.set_bounds(host.lb, host.ub)
    free = np.full(size, np.inf)
    problem.session.replace_rows(host.num_rows, sp.csr_array((size, host.num_columns)), -free, free)
