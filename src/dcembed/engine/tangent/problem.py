"""The problem that tangent steps work on: continuous, and without anything that would hold a component."""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.curvature import has_curvature
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.held import hold_integers
from dcembed.engine.problem import Problem, solver_for
from dcembed.engine.subproblem import Subproblem
from dcembed.engine.tangent.memory import build_excess
from dcembed.program.tightening import Box


def tangent_problem(problem: Problem, w: Array) -> Problem:
    """The problem with the integers of `w` held, in a solver that is made for what is left."""
    embedded, integer, box = hold_integers(problem.embedded, w), problem.embedded.integer, problem.box
    if embedded is not problem.embedded:
        box = Box(np.where(integer, w, box.lb), np.where(integer, w, box.ub))
    subproblem = Subproblem(embedded, build_excess(embedded))
    solver = solver_for(problem, _class_with_curvature(embedded))
    return replace(problem, embedded=embedded, subproblem=subproblem, box=box, solver=solver)


def _class_with_curvature(embedded: EmbeddedProgram) -> str:
    """Of the masters: curved networks make the linear objective of a host quadratic."""
    own = embedded.host.problem_class
    return "QP" if own == "LP" and has_curvature(embedded) else own
