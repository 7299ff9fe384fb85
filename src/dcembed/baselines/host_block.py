"""The subproblem of the host in a dual decomposition, without its neural rows.

    minimize    F_0(x) - price'x + rho / 2 |(x - z) / width|^2      subject to the rows, cones and integers of the host

A continuous host is a QP. Where there are integers, they are chosen first, by a MILP with chords in the place of squares: of a continuous
column between where it was and where it would go, of an integer one between its neighbours, which for a binary is the square itself. The
QP follows with the integers held. Where no row ties integers to squares nothing is lost by that.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.baselines.network_block import NetworkBlock, Terms
from dcembed.program.derive import derive, relaxed
from dcembed.program.indicators import linearize_indicators
from dcembed.program.program import Program
from dcembed.run.clock import Clock
from dcembed.solvers import choose_backend
from dcembed.solvers.base import Backend
from dcembed.solvers.failover import LastingSession, Solver

# Gap at which a MILP is good enough for one round of many.
GAP = 1e-3


class HostBlock:
    """The host inside its solvers; that of the squares is opened anew when the penalty changes."""

    def __init__(self, block: NetworkBlock, solver: Solver) -> None:
        self._block, self._solver = block, solver
        self._host = linearize_indicators(block.embedded.bounded_host)
        # What the host leaves to the networks is neither chosen nor paid for here.
        self._integer = self._host.integer & ~block.private
        self._cost = np.where(block.private, 0.0, self._host.cost)
        self._penalty, self._squares = 1.0, LastingSession(self._with_squares(1.0), solver)
        self._integers: LastingSession | None = None
        if self._integer.any():
            linear = derive(self._host, quadratic=None, integer=self._integer)
            self._integers = LastingSession(linear, solver.moved_to(choose_backend(linear.problem_class)))

    @property
    def backend(self) -> Backend:
        """The solver of the squares."""
        return self._squares.solver.backend

    def solve(self, z: Array, terms: Terms, clock: Clock) -> Array | None:
        """The host's columns for copies z; None if a solver gives no point. `terms.x` is where the host was."""
        lb, ub = self._host.lb.copy(), self._host.ub.copy()
        if self._integers is not None:
            chosen = self._choose_integers(self._integers, z, terms, clock)
            if chosen is None:
                return None
            lb[self._integer] = ub[self._integer] = np.round(chosen[self._integer])
        self._hold_penalty(terms.penalty)
        self._squares.set_bounds(lb, ub)
        pull = terms.price + terms.penalty * z / self._block.space.width**2
        self._squares.set_cost(self._cost - np.where(self._block.shared, pull, 0.0), 0.0)
        solution = self._squares.solve(clock.limits())
        if solution.x is None:
            self._squares.reopen()
            return None
        return np.where(self._block.private, z, np.clip(solution.x, lb, ub))

    def close(self) -> None:
        """Release the solvers."""
        self._squares.close()
        if self._integers is not None:
            self._integers.close()

    def _choose_integers(self, session: LastingSession, z: Array, terms: Terms, clock: Clock) -> Array | None:
        shared, width, host = self._block.shared, self._block.space.width, self._host
        aim = np.clip(z + terms.price * width**2 / terms.penalty, host.lb, host.ub)
        # (a - z)^2 and (b - z)^2 are met by a line of slope a + b - 2 z.
        ends = np.where(self._integer, 2 * np.floor(aim) + 1, terms.x + aim)
        chord = np.where(shared, terms.penalty / 2 * (ends - 2 * z) / width**2 - terms.price, 0.0)
        curved = host.quadratic @ terms.x if host.quadratic is not None else 0.0
        session.set_cost(self._cost + curved + chord, 0.0)
        moves = shared & ~self._integer
        near = np.where(moves, np.minimum(terms.x, aim), host.lb), np.where(moves, np.maximum(terms.x, aim), host.ub)
        # A start need not be a point of the host, so that there may be none near it.
        for lb, ub in (near, (host.lb, host.ub)):
            session.set_bounds(lb, ub)
            solution = session.solve(clock.limits(GAP))
            if solution.x is not None:
                return solution.x
        return None

    def _hold_penalty(self, penalty: float) -> None:
        if penalty != self._penalty:
            self._squares.close()
            self._penalty, self._squares = penalty, LastingSession(self._with_squares(penalty), self._squares.solver)

    def _with_squares(self, penalty: float) -> Program:
        """The host without integers and with the squares of a penalty."""
        squares = sp.csr_array(sp.diags_array(np.where(self._block.shared, penalty / self._block.space.width**2, 0.0)))
        own = self._host.quadratic
        return derive(relaxed(self._host), quadratic=squares if own is None else sp.csr_array(own + squares))


def squares_class(block: NetworkBlock) -> str:
    """The problem class of the host with squares and without integers."""
    return derive(relaxed(block.embedded.host), quadratic=sp.eye_array(block.embedded.host.num_columns, format="csr")).problem_class
