"""A point of the host from what the networks have decided in a dual decomposition.

The columns of the networks fall into groups that no network and no neural row joins. Each group is either as decided or as at the start,
whichever the host can afford at the least cost: a MILP with a binary for each group, in which everything else of the host is free.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from dcembed.arrays import Array
from dcembed.baselines.network_block import NetworkBlock
from dcembed.baselines.neural_columns import columns_of_evaluations, columns_of_rows
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.point import Point
from dcembed.program.program import Program
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Limits
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.sparse import row_numbers


@dataclass(frozen=True, eq=False)
class Repair:
    """The host as a choice between a start and decisions."""

    block: NetworkBlock
    solver: Solver

    @property
    def applies(self) -> bool:
        """Whether the host is linear, so that the choice is a MILP, and has several groups to choose from."""
        host = self.block.embedded.host
        return self.block.space.is_linear and host.quadratic is None and self.block.embedded.concave is None and self.num_groups > 1

    @cached_property
    def group(self) -> Array:
        """The group of each column of the host, -1 where the networks have no part in it."""
        own = self.block.shared | self.block.private
        _, label = connected_components(_joined(self.block.embedded), directed=False)
        label = label[: own.size]
        group = np.full(own.size, -1)
        group[own] = np.unique(label[own], return_inverse=True)[1]
        return group

    @cached_property
    def num_groups(self) -> int:
        """How many groups there are."""
        return int(self.group.max(initial=-1)) + 1

    def solve(self, start: Point, decided: Point, limits: Limits) -> Array | None:
        """The host's columns with some groups as decided, or None if there is no such point."""
        program, rest = self._program(start, decided)
        with closing(LastingSession(program, self.solver.moved_to(choose_backend(program.problem_class)))) as session:
            solution = session.solve(limits)
        if solution.x is None:
            return None
        take = np.append(np.round(solution.x[rest.size :]), 0.0)[self.group]
        w: Array = start.w + take * (decided.w - start.w)
        w[rest] = solution.x[: rest.size]
        return w

    def _program(self, start: Point, decided: Point) -> tuple[Program, Array]:
        """The choice as a program over the columns that are not the networks', given by their numbers, and a binary for each group."""
        host, size = self.block.embedded.host, self.num_groups
        rest, own = np.flatnonzero(self.group < 0), np.flatnonzero(self.group >= 0)
        change = sp.csr_array(((decided.w - start.w)[own], (own, self.group[own])), shape=(host.num_columns, size))
        before = host.rows[:, own] @ start.w[own]
        program = Program(
            cost=np.concatenate([host.cost[rest], host.cost @ change + self._neural_change(start, decided)]),
            rows=sp.hstack([host.rows[:, rest], host.rows @ change], format="csr"),
            row_lb=host.row_lb - before,
            row_ub=host.row_ub - before,
            lb=np.concatenate([host.lb[rest], np.zeros(size)]),
            ub=np.concatenate([host.ub[rest], self._is_kept(decided)]),
            integer=np.concatenate([host.integer[rest], np.ones(size, dtype=bool)]),
        )
        return program, rest

    def _is_kept(self, decided: Point) -> Array:
        """1 for each group whose neural rows hold as decided, else 0."""
        failed = np.flatnonzero(decided.excess > self.block.feasibility_tol)
        kept = np.ones(self.num_groups)
        kept[self._row_group[failed]] = 0.0
        return kept

    @cached_property
    def _row_group(self) -> Array:
        """The group of each neural row: that of any of its columns."""
        uses = self.block.uses
        group = np.zeros(uses.shape[0], dtype=np.int64)
        group[row_numbers(uses)] = self.group[uses.indices]
        return group

    def _neural_change(self, start: Point, decided: Point) -> Array:
        """By how much the networks' part of the objective changes in each group when it is as decided."""
        total = np.zeros(self.num_groups)
        for measured in self.block.embedded.networks:
            terms = measured.terms
            own = np.flatnonzero(terms.measurement == 0)
            first, second = measured.predict(start.w), measured.predict(decided.w)
            values = np.einsum("to,to->t", measured.directions[terms.direction[own]], (second - first)[terms.block[own]])
            uses = columns_of_evaluations(measured)
            # Evaluations without columns do not change.
            group = np.zeros(measured.num_blocks, dtype=np.int64)
            group[row_numbers(uses)] = self.group[uses.indices]
            total += np.bincount(group[terms.block[own]], terms.scale[own] * values, minlength=total.size)
        return total


def _joined(embedded: EmbeddedProgram) -> sp.csr_array:
    """The graph of columns, evaluations and neural rows."""
    uses = sp.vstack([*(columns_of_evaluations(measured) for measured in embedded.networks), columns_of_rows(embedded)], format="csr")
    return sp.csr_array(sp.block_array([[None, uses.T], [uses, None]]))
