"""A master in which the units that matter are exact: between the model without activation binaries and the full encoding.

Chosen units are written out (`embedded/written_out.py`), what is left of the networks is split, its component H linearized at the
point, and its component G held by its epigraph. The model majorizes the problem as all others do, on the host's whole box, and has no
tangent in it where the tangents would be wrong by most. Where every unit of H is written out, it is the problem itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import input_box, kept_affine, largest_kept, linearize
from dcembed.embedded.open_block import OpenBlock
from dcembed.embedded.point import Point
from dcembed.embedded.shared_epigraph import build_shared, shared_values
from dcembed.embedded.written_out import WrittenOut, write_out
from dcembed.engine.bundle.exact_units import choose_units
from dcembed.engine.problem import Problem
from dcembed.engine.subproblem import Majorant, Reach, Subproblem, fixed_program, majorize, model_value
from dcembed.engine.workshop import Master, Workshop
from dcembed.program.tightening import Box
from dcembed.run.penalty import Penalty
from dcembed.solvers.base import Limits, Solution, SolveStatus
from dcembed.solvers.failover import LastingSession, Solver

# Activation binaries of such masters: few find most, and quickly; more are tried, one after the other, where nothing else helps.
FEW_UNITS, MORE_UNITS = 16, (32,)
# Units of all evaluations up to which networks count as small: in larger ones so few exact units make no difference.
MAX_UNITS = 512
# Such a master takes no more than this share of the time that is left, and never more than so many nodes.
EXACT_SHARE, EXACT_NODES = 0.5, 5000
# Where most integers are held, the box has settled most units: the rest may be exact, and what is left is seen in few nodes or is too large.
NARROW_UNITS, NARROW_NODES = 48, 50


@dataclass(frozen=True, eq=False)
class ExactMaster:
    """A problem with units written out on a box, its subproblem, and the majorant at the point where the rest is linearized."""

    point: Point
    written: WrittenOut
    box: Box
    subproblem: Subproblem
    majorant: Majorant
    max_nodes: int = EXACT_NODES

    @property
    def num_units(self) -> int:
        """How many units are exact."""
        return self.written.num_units

    @property
    def is_whole(self) -> bool:
        """Whether no tangent is left: the model is the problem."""
        embedded = self.written.embedded
        return embedded.concave is None and not any(weight.any() for measured in embedded.networks for weight in measured.split.concave)

    @cached_property
    def start(self) -> Array:
        """The point in the columns of the subproblem."""
        w = self.written.lift(self.point.w)
        return np.concatenate([w, shared_values(self.written.embedded, w), self.point.slack])

    def value(self, x: Array, penalty: Penalty) -> float:
        """The objective of the model at its solution."""
        return model_value(self.subproblem, self.majorant, x, penalty.value)


def has_small_networks(problem: Problem) -> bool:
    """Whether integers decide and the networks are small enough for a few exact units to matter."""
    networks = problem.embedded.networks
    num_units = sum(_num_moving(problem, measured) * measured.network.num_hidden for measured in networks)
    # A unit without a kink is not written out by a binary.
    has_kinks = all(measured.network.is_piecewise_linear for measured in networks)
    return has_kinks and bool(problem.embedded.host.integer.any()) and 0 < num_units <= MAX_UNITS


def _num_moving(problem: Problem, measured: MeasuredNetwork) -> int:
    """Evaluations whose inputs are not all held."""
    if not problem.is_narrow:
        return measured.num_blocks
    lb, ub = input_box(measured, *problem.box)
    return int((ub > lb).any(axis=1).sum())


def build_exact(problem: Problem, blocks: Sequence[OpenBlock], point: Point, max_units: int) -> ExactMaster:
    """Write out the units that matter at the point, and linearize the rest there."""
    written = write_out(problem.embedded, blocks, choose_units(blocks, point.w, max_units))
    embedded = written.embedded
    n = problem.embedded.host.num_columns
    box = Box(np.concatenate([problem.box.lb, embedded.host.lb[n:]]), np.concatenate([problem.box.ub, embedded.host.ub[n:]]))
    reach = Reach(box, largest_kept(embedded, *box)) if problem.has_switched_rows else None
    majorant = majorize(*kept_affine(embedded), linearize(embedded, written.lift(point.w)), reach)
    max_nodes = NARROW_NODES if problem.is_narrow else EXACT_NODES
    return ExactMaster(point, written, box, Subproblem(embedded, build_shared(embedded)), majorant, max_nodes)


def _open_master(exact: ExactMaster, solver: Solver) -> Master:
    return Master(exact.subproblem, LastingSession(fixed_program(exact.subproblem), solver))


def solve_exact(exact: ExactMaster, workshop: Workshop, penalty: Penalty, limits: Limits) -> tuple[Solution, Array]:
    """From the point, and the solution's columns; where the solver has none, not in its time, they are those of the point itself."""
    with closing(_open_master(exact, workshop.master.solver)) as master:
        master.write(exact.majorant, penalty, exact.box)
        solution = master.solve(replace(limits, seconds=EXACT_SHARE * limits.seconds, nodes=exact.max_nodes), exact.start)
    if solution.x is None or not np.isfinite(solution.x).all():
        return Solution(SolveStatus.FEASIBLE, exact.start, solution.message), exact.start
    return solution, solution.x
