"""The first point of the host, from which a search begins that was given none."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.problem import Problem
from dcembed.engine.search.ending import Ending
from dcembed.run.host import HostProblem, open_host
from dcembed.run.journal import Journal
from dcembed.run.starts import find_start, no_start
from dcembed.solvers import other_backend
from dcembed.solvers.base import Solution, SolveStatus

# Where networks have put rows into the host, it is no longer easy: after so many nodes, what was found is good enough to begin with.
IMPLIED_NODES = 100


def find_host_point(problem: Problem, host: HostProblem, journal: Journal) -> Solution:
    """The optimum of the host alone. Solvers err: what one does not find, or calls impossible, another is asked for."""
    clock, backend = journal.clock, host.session.solver.backend
    nodes = IMPLIED_NODES if problem.embedded.num_implied else np.inf
    solution = find_start(host, replace(clock.limits(), nodes=nodes))
    if solution.x is not None or clock.ended():
        return solution
    other = other_backend(problem.embedded.host.problem_class, backend)
    said = f"{backend.name} found no point of the host ({solution.message or solution.status.value})"
    journal.log.note(f"{said}; asking {other.name if other else 'it'} once more.")
    if other is None:
        host.session.reopen()
        return find_start(host, clock.limits())
    second = open_host(problem.embedded, problem.box, host.session.solver.moved_to(other))
    with closing(second.session):
        again = find_start(second, clock.limits())
    return solution if again.status is SolveStatus.FAILED else again


def without_host_point(problem: Problem, solution: Solution, journal: Journal) -> Array | Ending:
    """The end of a run whose host has no point; where solvers failed, or claim to be out of time, a point to begin from all the same."""
    host, ended = problem.embedded.host, journal.clock.ended()
    if ended is None and solution.status not in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        journal.log.note("no solver found a point of the host; beginning at zero.")
        return np.clip(np.zeros(host.num_columns), host.lb, host.ub)
    why = "stopped before a point of the host was found" if ended else "the solver found no point of the host"
    return Ending(ended or no_start(solution), why, is_final=True)
