"""The restricted master: one of the known points for each block, so that the rows that blocks share hold.

minimize    objective of the other columns + sum_k cost_k lambda_k
subject to  their own rows,   link_lb <= links of the other columns + sum_k use_k lambda_k <= link_ub,   sum over a block of lambda_k = 1

Its linear relaxation gives prices of the linking rows. With lambda binary it gives a point of the whole problem, which is feasible because
all of its pieces are. Links may be missed, and blocks without a point be left open, at a cost that prices see and points do not.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.engine.columns.layout import Layout
from dcembed.engine.columns.pool import Pool, choose, put_points
from dcembed.engine.problem import Problem, solver_for
from dcembed.program.derive import add_columns, add_rows, derive, keep_columns, keep_rows
from dcembed.program.program import Program
from dcembed.solvers.base import Limits, Solution
from dcembed.solvers.failover import LastingSession

# A share of lambda above this is a choice.
CHOSEN = 0.5
# What links leave, in relation to what is used.
ROUNDING = 1e-7


@dataclass(frozen=True, eq=False)
class Master:
    """A restricted master as a program, and where what stands in it.

    Parameters
    ----------
    program
        Columns: those outside of blocks, lambda of the open points, what links are missed by from below and above, blocks without a point.
    others
        The columns outside of blocks.
    num_rows
        Rows before the linking ones.
    pool
        The points.
    is_open
        Which points are columns: those of blocks that have several. A single point is chosen from the beginning. Mask of shape (K,).
    """

    program: Program
    others: Array
    num_rows: int
    pool: Pool
    is_open: Array

    @property
    def num_open(self) -> int:
        """Points that are columns."""
        return int(np.count_nonzero(self.is_open))

    def shares(self, x: Array) -> Array:
        """The share of each point in a solution of the program, shape (K,)."""
        shares = np.ones(self.pool.size)
        shares[self.is_open] = x[self.others.size : self.others.size + self.num_open]
        return shares


def build_master(layout: Layout, pool: Pool, penalty: Array, open_cost: float, sample: Array | None = None) -> Master:
    """The master over a pool, with a price of what links are missed by (L,) and one for blocks without a point.

    `sample` has the blocks that it is about, in order, where it is not about all; they have their share of the links.
    """
    others, links = np.flatnonzero(~layout.is_inside), layout.links
    alone, number = other_program(layout, others), np.bincount(pool.block, minlength=layout.num_blocks)
    blocks = np.arange(layout.num_blocks) if sample is None else sample
    is_open, missing = number[pool.block] > 1, blocks[number[blocks] == 0]
    columns, single = choose(pool, np.flatnonzero(is_open)), np.flatnonzero(~is_open)
    size, num_links, several = columns.size, links.num_links, blocks[number[blocks] != 1]
    extra = size + 2 * num_links + missing.size
    ub = np.concatenate([np.ones(size), np.full(2 * num_links, np.inf), np.ones(missing.size)])
    cost = np.concatenate([columns.cost, penalty, penalty, np.full(missing.size, open_cost)])
    program = add_columns(alone, np.zeros(extra), ub, cost, np.arange(extra) < size)
    program = derive(program, offset=program.offset + float(pool.cost[single].sum()))
    unit = sp.eye_array(num_links, format="csr")
    linking = sp.hstack([links.matrix[:, others], columns.use.T, unit, -unit, sp.csr_array((num_links, missing.size))], format="csr")
    place = others.size + np.concatenate([np.arange(size), size + 2 * num_links + np.arange(missing.size)])
    row = np.searchsorted(several, np.concatenate([columns.block, missing]))
    choice = sp.csr_array((np.ones(place.size), (row, place)), shape=(several.size, others.size + extra))
    one, used, share = np.ones(several.size), pool.use.T @ (~is_open).astype(np.float64), blocks.size / layout.num_blocks
    rows = sp.csr_array(sp.vstack([linking, choice], format="csr"))
    link_lb, link_ub = (share * (side - layout.link_constant) - used for side in (links.lb, links.ub))
    lb, ub = np.concatenate([link_lb, one]), np.concatenate([link_ub, one])
    return Master(add_rows(program, rows, lb, ub), others, alone.num_rows, pool, is_open)


def other_program(layout: Layout, others: Array) -> Program:
    """The host over the columns outside of blocks, with the rows that have no other columns."""
    host, blocks = layout.embedded.host, layout.blocks
    plain = np.setdiff1d(np.flatnonzero(blocks.row < 0), blocks.linking_rows)
    indicators = tuple(indicator for indicator in host.indicators if blocks.block[indicator.column] < 0)
    return keep_columns(derive(keep_rows(host, plain), indicators=indicators, quadratic=None), others)


def solve_master(problem: Problem, program: Program, limits: Limits, start: Array | None = None) -> Solution:
    """Solve a master, or its relaxation, once."""
    with closing(LastingSession(program, solver_for(problem, program.problem_class))) as session:
        return session.solve(limits, start)


def read_prices(layout: Layout, master: Master, solution: Solution) -> Array | None:
    """What a unit of each linking row is worth, shape (L,); None where the solver does not say."""
    if solution.duals is None:
        return None
    prices: Array = solution.duals[master.num_rows : master.num_rows + layout.links.num_links]
    return prices


def forbid_misses(layout: Layout, master: Master, start: Array) -> Master:
    """The master without leave to miss a link; what is chosen is whole only to rounding, so links leave room for it where `start` does."""
    program, ub = master.program, master.program.ub.copy()
    first = master.others.size + master.num_open
    ub[first : first + 2 * layout.links.num_links] = 0.0
    links = slice(master.num_rows, master.num_rows + layout.links.num_links)
    row_lb, row_ub, value = program.row_lb.copy(), program.row_ub.copy(), (program.rows @ start)[links]
    room = ROUNDING * np.maximum(1.0, np.abs(value))
    row_ub[links] -= np.clip(row_ub[links] - value, 0.0, room)
    row_lb[links] += np.clip(value - row_lb[links], 0.0, room)
    return replace(master, program=derive(program, ub=ub, row_lb=row_lb, row_ub=row_ub))


def read_point(layout: Layout, master: Master, x: Array, w: Array) -> Array:
    """The point that a solution of the master stands for, by its kept columns; blocks without a choice are as in `w`."""
    chosen = np.flatnonzero(master.shares(x) > CHOSEN)
    numbers = np.full(layout.num_blocks, -1, dtype=np.int64)
    numbers[master.pool.block[chosen]] = chosen
    point = put_points(layout, master.pool, numbers, w)
    point[master.others] = x[: master.others.size]
    return point
