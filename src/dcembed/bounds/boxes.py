"""Solving the relaxation of a box, and what its solution proves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.bounds.functions import Below
from dcembed.bounds.relaxation import Relaxation, Rows, no_rows, stack, with_functions
from dcembed.bounds.safe import Relaxed, prove_bound
from dcembed.bounds.tangents import tangent_cuts
from dcembed.program.program import Program
from dcembed.program.tightening import Box
from dcembed.run.clock import Clock
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Solution, SolveStatus
from dcembed.solvers.failover import LastingSession, Solver
from dcembed.sparse import above

# Rounds of tangents at one box; and cuts that are kept, the youngest: so many, and so many by function.
TANGENT_ROUNDS, MAX_CUTS, CUTS_BY_FUNCTION = 6, 400, 4
# A further round has to raise the bound by this share of itself.
WORTH_A_ROUND = 1e-5


@dataclass(frozen=True, eq=False)
class Solved:
    """The relaxation of a box.

    Parameters
    ----------
    box
        Of the columns of the host.
    below
        Affine functions below the functions, kind by kind.
    bound
        What is proved: no point in the box is better; inf if there is none.
    x
        The solution over [w | functions], None where there is none.
    weight
        How much the bound owes to each column and function, shape (n + k,).
    reduced
        Reduced costs of the columns that the bound was computed with.
    cuts
        Cuts that hold in the box and that the bound was computed with.
    guess
        A point of the host near which a good one may be, if there is a guess.
    split
        A column of the host to split, and where, if something is known about that.
    """

    box: Box
    below: Sequence[Below]
    bound: float
    x: Array | None
    weight: Array
    reduced: Array
    cuts: Rows
    guess: Array | None = None
    split: tuple[int, float] | None = None


@dataclass(frozen=True, eq=False)
class Multiplied:
    """A relaxation that was solved, with its point (n,) and its multipliers (m,); `owner` says whose the last rows are, which are cuts."""

    relaxed: Relaxed
    x: Array
    multipliers: Array
    owner: Array


class Bounder:
    """One relaxation inside a solver, box after box; cuts that hold everywhere are collected on the way."""

    def __init__(self, relaxation: Relaxation, solver: Solver, clock: Clock) -> None:
        self.relaxation, self.clock, self._solver = relaxation, clock, solver
        program = relaxation.program()
        self._session = LastingSession(program, solver.moved_to(choose_backend(program.problem_class)))
        self.cuts, self.owner, self.num_added = no_rows(relaxation.num_columns), np.zeros(0, dtype=np.int64), 0
        self.last: Multiplied | None = None

    def close(self) -> None:
        """Release the solver."""
        self._session.close()

    def solve(self, box: Box, known: float = -np.inf, below: Sequence[Below] | None = None, local: Rows | None = None) -> Solved:
        """The relaxation of a box of the host's columns of which `known` is a bound already; `local` has cuts that hold in the box."""
        relaxation = self.relaxation
        below = relaxation.below(box, self.clock.check) if below is None else below
        full = with_functions(relaxation, box, below)
        if (full.lb[relaxation.num_host :] > full.ub[relaxation.num_host :]).any():
            return Solved(box, below, np.inf, None, np.zeros(full.lb.size), np.zeros(full.lb.size), no_rows(relaxation.num_columns))
        local = no_rows(relaxation.num_columns) if local is None else local
        own = stack([local, relaxation.switched(full), relaxation.planes(below)])
        best = Solved(box, below, known, None, np.zeros(full.lb.size), np.zeros(full.lb.size), local)
        for _ in range(TANGENT_ROUNDS):
            solved = self._solve_once(full, own, best)
            is_better = solved.bound > best.bound + WORTH_A_ROUND * abs(best.bound)
            best = solved
            if best.x is None or not is_better or not self._cut(best.x):
                break
        return best

    def solve_tangents(self, box: Box, below: Sequence[Below]) -> None:
        """Solve with affine functions that need not be below anything: `last` has its multipliers, and nothing is proved."""
        relaxation = self.relaxation
        full = Box(
            np.concatenate([box.lb, relaxation.root.lb[relaxation.num_host :]]),
            np.concatenate([box.ub, relaxation.root.ub[relaxation.num_host :]]),
        )
        rows = stack([relaxation.switched(full), relaxation.planes(below)])
        nothing = np.zeros(full.lb.size)
        self._solve_once(full, rows, Solved(box, below, -np.inf, None, nothing, nothing, no_rows(relaxation.num_columns)))

    def paid(self, local: Rows) -> Rows:
        """Of the local cuts of the last relaxation those that have a multiplier."""
        if self.last is None:
            return local
        first = self.relaxation.fixed.number
        used = np.flatnonzero(self.last.multipliers[first : first + local.number])
        return Rows(local.matrix[used], local.lb[used], local.ub[used])

    def add(self, cuts: Rows, owner: int = -1) -> None:
        """Keep cuts that hold everywhere, and whose they are."""
        most = max(MAX_CUTS, CUTS_BY_FUNCTION * self.relaxation.measurement.size)
        merged = stack([self.cuts, cuts])
        young = np.arange(max(0, merged.number - most), merged.number)
        self.cuts = merged if young.size == merged.number else Rows(merged.matrix[young], merged.lb[young], merged.ub[young])
        self.owner = np.append(self.owner, np.full(cuts.number, owner))[young]
        self.num_added += cuts.number

    def _cut(self, x: Array) -> bool:
        """Whether x violates something convex, which is cut then."""
        cuts = tangent_cuts(self.relaxation, x)
        if cuts.number:
            self.add(cuts)
        return cuts.number > 0

    def _solve_once(self, full: Box, own: Rows, known: Solved) -> Solved:
        rows = stack([own, self.cuts])
        self._session.set_bounds(*full)
        self._session.replace_rows(self.relaxation.fixed.number, rows.matrix, rows.lb, rows.ub)
        solution = self._session.solve(self.clock.limits())
        self.clock.check()
        relaxed = self.relaxation.relaxed(full, rows)
        if solution.status is SolveStatus.INFEASIBLE:
            bound = np.inf if self._is_empty(relaxed) else known.bound
            return replace(known, bound=bound, x=None)
        # A solver that fails has no say, but the box has: without rows it proves most where it is small.
        x = solution.x if solution.x is not None else np.clip(0.0, full.lb, full.ub)
        multipliers = solution.duals if solution.duals is not None else np.zeros(relaxed.row_lb.size)
        self.last = Multiplied(relaxed, x, multipliers, self.owner)
        proof = prove_bound(relaxed, x, multipliers)
        weight = 0.5 * (abs(relaxed.rows).T @ np.abs(multipliers))
        # Reduced costs say how a bound grows away from the ends of columns: only the one that they were computed with.
        reduced = proof.reduced if proof.bound >= known.bound else known.reduced
        return replace(known, bound=max(known.bound, proof.bound), x=solution.x, weight=weight, reduced=reduced)

    def solve_aside(self, program: Program) -> Solution:
        """What a solver says of another program without integers."""
        with closing(LastingSession(program, self._solver.moved_to(choose_backend(program.problem_class)))) as session:
            return session.solve(self.clock.limits())

    def _is_empty(self, relaxed: Relaxed) -> bool:
        """Whether multipliers prove that no point is in the box: the least violation of the rows is positive."""
        elastic = _elastic(relaxed)
        solution = self.solve_aside(_as_program(elastic))
        if solution.x is None or solution.duals is None:
            return False
        return prove_bound(elastic, solution.x, solution.duals).bound > 0.0


def _elastic(relaxed: Relaxed) -> Relaxed:
    """min s over rows that may be violated by s, each in relation to its size."""
    m = relaxed.rows.shape[0]
    size = np.maximum(1.0, abs(relaxed.rows).max(axis=1).toarray().reshape(-1)) if m else np.zeros(0)
    down = sp.csr_array(np.where(np.isfinite(relaxed.row_ub), -size, 0.0)[:, None])
    up = sp.csr_array(np.where(np.isfinite(relaxed.row_lb), size, 0.0)[:, None])
    upper, lower = sp.hstack([relaxed.rows, down], format="csr"), sp.hstack([relaxed.rows, up], format="csr")
    free = np.full(m, np.inf)
    n = relaxed.cost.size
    return Relaxed(
        cost=np.concatenate([np.zeros(n), [1.0]]),
        offset=0.0,
        quadratic=None,
        rows=above(sp.csr_array(upper), sp.csr_array(lower)),
        row_lb=np.concatenate([-free, relaxed.row_lb]),
        row_ub=np.concatenate([relaxed.row_ub, free]),
        lb=np.concatenate([relaxed.lb, [0.0]]),
        ub=np.concatenate([relaxed.ub, [np.inf]]),
    )


def _as_program(relaxed: Relaxed) -> Program:
    return Program(cost=relaxed.cost, rows=relaxed.rows, row_lb=relaxed.row_lb, row_ub=relaxed.row_ub, lb=relaxed.lb, ub=relaxed.ub)
