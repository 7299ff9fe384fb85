"""The problem that tangent steps work on: continuous, and without anything that would hold a component."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.epigraph import no_epigraph
from dcembed.embedded.held import hold_integers
from dcembed.engine.problem import Problem
from dcembed.engine.subproblem import Subproblem
from dcembed.program.tightening import Box
from dcembed.solvers import choose_backend
from dcembed.solvers.failover import Solver


def tangent_problem(problem: Problem, w: Array) -> Problem:
    """The problem with the integers of `w` held, in a solver that is made for what is left."""
    embedded, integer = hold_integers(problem.embedded, w), problem.embedded.integer
    box = Box(np.where(integer, w, problem.box.lb), np.where(integer, w, problem.box.ub))
    subproblem = Subproblem(embedded, no_epigraph(embedded))
    return replace(problem, embedded=embedded, subproblem=subproblem, box=box, solver=_choose(problem, embedded.host.problem_class))


def _choose(problem: Problem, problem_class: str) -> Solver:
    """The solver that was asked for; else the one that is best without integers."""
    current = problem.solver.backend
    if problem.options.solver is not None and problem_class in current.classes:
        return problem.solver
    backend = choose_backend(problem_class)
    return problem.solver if backend.name == current.name else problem.solver.moved_to(backend)
