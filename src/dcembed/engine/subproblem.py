"""The subproblem of the penalty convex-concave procedure (problem 9 of the paper).

    minimize    phi_0(w) + G_obj - H^_obj(w) + tau * sum(slack)
    subject to  a_i'w + G_i - H^_i(w) <= rhs_i + slack_i     (behind its indicator, if it has one)
                the host, the epigraph of the components G, slack >= 0

Columns are [w | auxiliary | slack], rows [host | epigraph | restrictions | cuts]. Between iterations only the objective and what
follows the epigraph change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.epigraph import Epigraph
from dcembed.embedded.measurements import Tangents
from dcembed.program.derive import add_columns, add_rows, widened
from dcembed.program.indicators import largest_values, switch
from dcembed.program.matrices import half_square
from dcembed.program.program import Program
from dcembed.program.tightening import Box
from dcembed.sparse import Beside, beside, dense_row, empty_rows, plan_beside, rows_from, times, unit_rows


@dataclass(frozen=True, eq=False)
class Layout:
    """What no subproblem changes.

    Parameters
    ----------
    kept_objective
        Weights of the auxiliary columns in the component G of the objective.
    beside_host
        The restrictions over the auxiliary columns and the slacks.
    """

    kept_objective: Array
    beside_host: sp.csr_array


@dataclass(frozen=True, eq=False)
class Subproblem:
    """What all subproblems of a run have in common: the embedded problem, and the epigraph that holds the components G."""

    embedded: EmbeddedProgram
    epigraph: Epigraph

    @property
    def num_slacks(self) -> int:
        """Slacks behind the auxiliary columns."""
        return self.embedded.restrictions.num_slacks

    @property
    def first_restriction(self) -> int:
        """Row number of the first restriction."""
        return self.embedded.host.num_rows + self.epigraph.num_rows

    @cached_property
    def layout(self) -> Layout:
        """What follows from the structure alone, found once for all numbers."""
        drawer = self.embedded.drawer
        if self.epigraph not in drawer:
            slack = self.embedded.restrictions.slack
            beside_host = beside(rows_from(self.epigraph.kept, 1), unit_rows(slack, -np.ones(slack.size), self.num_slacks))
            drawer[self.epigraph] = Layout(dense_row(self.epigraph.kept, 0), beside_host)
        layout: Layout = drawer[self.epigraph]
        return layout

    def with_slacks(self, gradients: sp.csr_array) -> sp.csr_array:
        """Gradients of the restrictions (s, n) with their coefficients on the auxiliary columns and the slacks beside them."""
        drawer, key = self.embedded.drawer, (Beside, self.epigraph)
        if key not in drawer or not drawer[key].fits(gradients):
            drawer[key] = plan_beside(gradients, self.layout.beside_host)
        places: Beside = drawer[key]
        return places.join(gradients)

    def split_columns(self, x: Array) -> tuple[Array, Array, Array]:
        """The columns w, the auxiliary ones and the slacks of a solution."""
        n = self.embedded.host.num_columns
        end = n + self.epigraph.num_columns
        return x[:n], x[n:end], x[end:]


def fixed_program(subproblem: Subproblem) -> Program:
    """The parts that never change; restrictions are free rows."""
    host, epigraph, num_slacks = subproblem.embedded.bounded_host, subproblem.epigraph, subproblem.num_slacks
    num_restrictions = subproblem.embedded.restrictions.num_restrictions
    extra = epigraph.num_columns + num_slacks
    wide = add_columns(host, np.concatenate([epigraph.lb, np.zeros(num_slacks)]), np.full(extra, np.inf))
    free = np.full(num_restrictions, np.inf)
    held = add_rows(wide, epigraph.rows(num_slacks), epigraph.row_lb, np.full(epigraph.num_rows, np.inf))
    return add_rows(held, empty_rows(num_restrictions, held.num_columns), -free, free)


@dataclass(frozen=True, eq=False)
class Reach:
    """How far the measurements go on a box of the columns: what the M of an indicator is made of.

    Parameters
    ----------
    box
        Bounds of all columns.
    largest
        Upper bounds on the box of the unit part of every G, shape (s + 1,).
    """

    box: Box
    largest: Array


@dataclass(frozen=True, eq=False)
class Bend:
    """1/2 (w - center)' matrix (w - center), convex."""

    matrix: sp.csr_array
    center: Array

    def value(self, w: Array) -> float:
        """At w."""
        return float(half_square(self.matrix, w - self.center))


@dataclass(frozen=True, eq=False)
class Majorant:
    """G - H^ of every measurement at a point, without the unit part of G: slope @ w + constant.

    Parameters
    ----------
    slope, constant
        Shapes (s + 1, n) and (s + 1,).
    reach
        Where restrictions are behind indicators, how far they go; None elsewhere.
    bend
        How the model of the objective curves away from the point; None where it does not.
    gradients
        Of the restrictions with their linear parts, shape (s, n), where they are known already.
    """

    slope: sp.csr_array
    constant: Array
    reach: Reach | None
    bend: Bend | None = None
    gradients: sp.csr_array | None = None

    @cached_property
    def objective_slope(self) -> Array:
        """Of measurement 0, shape (n,)."""
        return dense_row(self.slope, 0)


def majorize(kept_slope: sp.csr_array, kept_constant: Array, tangents: Tangents, reach: Reach | None) -> Majorant:
    """The affine parts of G minus the tangents of H."""
    return Majorant(sp.csr_array(kept_slope - tangents.slope), kept_constant - tangents.constant, reach)


def model_value(subproblem: Subproblem, majorant: Majorant, x: Array, penalty: float) -> float:
    """The objective of the subproblem at its solution."""
    w, auxiliary, slack = subproblem.split_columns(x)
    kept = float(subproblem.layout.kept_objective @ auxiliary)
    neural = float(majorant.objective_slope @ w) + float(majorant.constant[0]) + kept
    bent = 0.0 if majorant.bend is None else majorant.bend.value(w)
    return subproblem.embedded.host.objective(w) + neural + bent + penalty * float(slack.sum())


def costs(subproblem: Subproblem, majorant: Majorant, penalty: float) -> tuple[Array, float]:
    """Cost of all columns, and the constant."""
    host = subproblem.embedded.host
    on_slacks = np.full(subproblem.num_slacks, penalty)
    on_host, offset = host.cost + majorant.objective_slope, host.offset + float(majorant.constant[0])
    if majorant.bend is not None:
        on_host = on_host - times(majorant.bend.matrix, majorant.bend.center)
        offset += half_square(majorant.bend.matrix, majorant.bend.center)
    return np.concatenate([on_host, subproblem.layout.kept_objective, on_slacks]), offset


def quadratic(subproblem: Subproblem, bend: Bend) -> sp.csr_array:
    """The matrix of the quadratic objective over all columns: that of the host, and the bend."""
    host = subproblem.embedded.host
    return widened(
        subproblem.embedded.bent(bend.matrix), *(host.num_columns + subproblem.epigraph.num_columns + subproblem.num_slacks,) * 2
    )


def restriction_rows(subproblem: Subproblem, majorant: Majorant) -> tuple[sp.csr_array, Array]:
    """The restrictions as rows matrix @ columns <= rhs."""
    restrictions, host = subproblem.embedded.restrictions, subproblem.embedded.host
    size = restrictions.num_restrictions
    on_host = subproblem.embedded.gradients(majorant.slope) if majorant.gradients is None else majorant.gradients
    rhs = restrictions.rhs - majorant.constant[1:]
    if majorant.reach is not None:
        behind = np.flatnonzero(restrictions.indicator >= 0)
        excess = np.zeros(size)
        excess[behind] = largest_values(host, on_host[behind], *majorant.reach.box) + majorant.reach.largest[1:][behind] - rhs[behind]
        on_host, rhs = switch(on_host, rhs, restrictions.indicator, restrictions.indicator_value, excess)
    return subproblem.with_slacks(on_host), rhs
