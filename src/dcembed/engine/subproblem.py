"""The subproblem of the penalty convex-concave procedure (problem 9 of the paper), kept inside a solver.

    minimize    phi_0(w) + G_obj - H^_obj(w) + tau * sum(slack)
    subject to  a_i'w + G_i - H^_i(w) <= rhs_i + slack_i     (behind its indicator, if it has one)
                the host, the epigraph of the components G, slack >= 0

Columns are [w | auxiliary | slack], rows [host | epigraph | restrictions]. Between iterations only the objective and the
restrictions change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.epigraph import Epigraph
from dcembed.embedded.measurements import Tangents, kept_affine, largest_kept
from dcembed.embedded.point import Point
from dcembed.engine.bundle.cuts import CutPool
from dcembed.engine.bundle.region import Region
from dcembed.program.derive import add_columns, add_rows
from dcembed.program.indicators import largest_values, linearize_indicators, missing_bound, switch
from dcembed.program.program import Program
from dcembed.program.tightening import tighten
from dcembed.solvers.base import Backend, Limits, Session, SessionOptions, Solution

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Subproblem:
    """The fixed parts of all subproblems of a run.

    Parameters
    ----------
    embedded
        The embedded problem.
    epigraph
        How the components G are held.
    host
        The host as the solver takes it (indicators written as rows where it has none).
    kept_slope, kept_constant
        The affine part of every G, shapes (s + 1, n) and (s + 1,).
    box
        Bounds of the columns and of the unit part of every G on them: what the M of indicators are made of.
        None where no restriction is behind an indicator.
    """

    embedded: EmbeddedProgram
    epigraph: Epigraph
    host: Program
    kept_slope: sp.csr_array
    kept_constant: Array
    box: tuple[Array, Array, Array] | None

    @property
    def num_slacks(self) -> int:
        return self.embedded.restrictions.num_slacks

    @property
    def num_columns(self) -> int:
        return self.host.num_columns + self.epigraph.num_columns + self.num_slacks

    @property
    def first_restriction(self) -> int:
        """Row number of the first restriction."""
        return self.host.num_rows + self.epigraph.num_rows


def build_subproblem(embedded: EmbeddedProgram, epigraph: Epigraph, backend: Backend) -> Subproblem:
    """Everything about the subproblems that does not change over the iterations."""
    slope, constant = kept_affine(embedded)
    box = None
    if (embedded.restrictions.indicator >= 0).any():
        lb, ub = tighten(embedded.host)
        box = lb, ub, largest_kept(embedded, lb, ub)
        _check_reach(embedded, *box)
    return Subproblem(embedded, epigraph, take_indicators(embedded, backend), slope, constant, box)


def _check_reach(embedded: EmbeddedProgram, lb: Array, ub: Array, reach: Array) -> None:
    """An input without bounds leaves a network behind an indicator without a largest value: name its column."""
    endless = np.isinf(reach) & np.concatenate([[False], embedded.restrictions.indicator >= 0])
    for measured in embedded.networks:
        maps = measured.map_of[measured.terms.block[endless[measured.terms.measurement]]]
        for column in measured.maps[measured.rows_of(maps).reshape(-1)].indices:
            if np.isinf(lb[column]) or np.isinf(ub[column]):
                raise missing_bound(embedded.host, int(column), "lower" if np.isinf(lb[column]) else "upper")


def take_indicators(embedded: EmbeddedProgram, backend: Backend) -> Program:
    """The host with its indicators in the form that the backend takes."""
    return embedded.host if backend.has_indicators else linearize_indicators(embedded.host)


def open_session(subproblem: Subproblem, backend: Backend, options: SessionOptions) -> Session:
    """Put the fixed parts into a solver; restrictions are free rows until `update`."""
    host, epigraph, num_slacks = subproblem.host, subproblem.epigraph, subproblem.num_slacks
    extra = epigraph.num_columns + num_slacks
    num_restrictions = subproblem.embedded.restrictions.num_restrictions
    nothing = np.zeros(num_slacks)
    program = add_columns(host, np.concatenate([epigraph.lb, nothing]), np.full(extra, np.inf))
    rows = sp.block_array(
        [
            [epigraph.on_host, epigraph.on_auxiliary, sp.csr_array((epigraph.num_rows, num_slacks))],
            [sp.csr_array((num_restrictions, host.num_columns)), None, None],
        ],
        format="csr",
    )
    free = np.full(num_restrictions, -np.inf)
    program = add_rows(program, rows, np.concatenate([epigraph.row_lb, free]), np.full(rows.shape[0], np.inf))
    return backend.open(program, options)


def with_split(subproblem: Subproblem, split: Any, region: Region) -> Subproblem:
    """The subproblem for another split of the same networks."""
    box = None
    if subproblem.box is not None:
        box = region.lb, region.ub, split.largest_kept()
    return replace(subproblem, kept_slope=split.kept_slope, kept_constant=split.kept_constant, box=box)


def limit_columns(subproblem: Subproblem, session: Session, lb: Array, ub: Array, slack_ub: float = np.inf) -> None:
    """Keep the host's columns inside a box; no slack at all is left by an upper bound of zero on all of them."""
    epigraph, num_slacks = subproblem.epigraph, subproblem.num_slacks
    session.set_bounds(
        np.concatenate([lb, epigraph.lb, np.zeros(num_slacks)]),
        np.concatenate([ub, np.full(epigraph.num_columns, np.inf), np.full(num_slacks, slack_ub)]),
    )


def update(subproblem: Subproblem, session: Session, tangents: Tangents, penalty: float, pool: CutPool | None = None) -> None:
    """Linearize the components H at a new point and set the penalty; `pool` has the cuts of a lazy epigraph."""
    host, epigraph = subproblem.host, subproblem.epigraph
    slope = sp.csr_array(subproblem.kept_slope - tangents.slope)
    constant = subproblem.kept_constant - tangents.constant
    cost = np.concatenate(
        [host.cost + slope[[0]].toarray()[0], epigraph.kept[[0]].toarray()[0], np.full(subproblem.num_slacks, penalty)],
    )
    session.set_cost(cost, host.offset + constant[0])

    restrictions = subproblem.embedded.restrictions
    size = restrictions.num_restrictions
    on_host = sp.csr_array(restrictions.linear + slope[1:])
    rhs = restrictions.rhs - constant[1:]
    if subproblem.box is not None:
        lb, ub, kept = subproblem.box
        behind = np.flatnonzero(restrictions.indicator >= 0)
        excess = np.zeros(size)
        excess[behind] = largest_values(subproblem.embedded.host, on_host[behind], lb, ub) + kept[1:][behind] - rhs[behind]
        on_host, rhs = switch(on_host, rhs, restrictions.indicator, restrictions.indicator_value, excess)
    slack = sp.csr_array((-np.ones(size), (np.arange(size), restrictions.slack)), shape=(size, subproblem.num_slacks))
    matrix = sp.hstack([on_host, epigraph.kept[1:], slack], format="csr")
    row_lb, row_ub = np.full(size, -np.inf), rhs
    if pool is not None:
        cuts, constant = pool.rows(epigraph.num_columns)
        matrix = sp.vstack([matrix, _pad_columns(cuts, subproblem.num_slacks)], format="csr")
        row_lb, row_ub = np.concatenate([row_lb, constant]), np.concatenate([row_ub, np.full(pool.num_cuts, np.inf)])
        origin = pool.take_origins()
        session.replace_rows(
            subproblem.first_restriction, matrix, row_lb, row_ub, np.concatenate([np.arange(size), np.where(origin < 0, -1, origin + size)])
        )
        return
    session.replace_rows(subproblem.first_restriction, matrix, row_lb, row_ub)


def solve(subproblem: Subproblem, session: Session, limits: Limits, point: Point) -> Solution:
    """Solve from `point`, extended to the auxiliary columns and slacks it needs."""
    start = np.concatenate([point.w, subproblem.epigraph.values(point.w), point.slack])
    return session.solve(limits, start)


def _pad_columns(matrix: sp.csr_array, extra: int) -> sp.csr_array:
    return sp.csr_array(sp.hstack([matrix, sp.csr_array((matrix.shape[0], extra))]))
