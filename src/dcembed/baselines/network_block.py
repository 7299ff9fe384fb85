"""The subproblem of the networks in a dual decomposition: their copies z of the columns they share with the host.

    minimize    f_0(z) + price'(z - x) + rho / 2 |(z - x) / width|^2      subject to the neural rows at z

First without the neural rows, by steps of Adam or in closed form where no network is in the objective; then the nearest point where the
rows hold, on the linear piece at the last one, again and again. A row behind an indicator is one that a network may decline: it is held
where that costs less than the other value of its indicator. All evaluations and all rows are handled in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.baselines.neural_columns import columns_of_rows
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import evaluate_measurements, slopes
from dcembed.run.clock import Clock
from dcembed.run.space import Space
from dcembed.sparse import row_numbers

# Steps of Adam in a round and their length in widths of a column, as published; Adam's own constants.
NUM_STEPS, STEP = 25, 0.01
FIRST_DECAY, SECOND_DECAY, SMALL = 0.9, 0.999, 1e-12
# Linear pieces that a projection goes through, and how far inside its row it aims, in feasibility tolerances.
NUM_PROJECTIONS, INSIDE = 25, 0.1


@dataclass(frozen=True, eq=False)
class Terms:
    """What ties the copies to the host: its point x, the prices and the penalty rho."""

    x: Array
    price: Array
    penalty: float


@dataclass(frozen=True, eq=False)
class NetworkBlock:
    """The networks, their rows, and the columns of both.

    Parameters
    ----------
    space
        The embedded problem and the bounds of its columns.
    feasibility_tol
        How well a row has to hold.
    clock
        Ends the steps of a solve.
    """

    space: Space
    feasibility_tol: float
    clock: Clock

    @property
    def embedded(self) -> EmbeddedProgram:
        """The problem."""
        return self.space.embedded

    @cached_property
    def private(self) -> Array:
        """Mask of the columns that the host leaves to the networks: indicators of neural rows that it uses in the objective only."""
        restrictions, host = self.embedded.restrictions, self.embedded.host
        mask = np.zeros(host.num_columns, dtype=bool)
        mask[restrictions.indicator[restrictions.indicator >= 0]] = True
        mask &= ~self.space.tied & ~self.space.is_input & ~host.curved_columns
        mask[restrictions.linear.indices] = False
        return mask

    @cached_property
    def shared(self) -> Array:
        """Mask of the columns that both have: inputs, those of neural rows, and their other indicators."""
        restrictions = self.embedded.restrictions
        mask = self.space.is_input.copy()
        mask[restrictions.linear.indices] = True
        mask[restrictions.indicator[restrictions.indicator >= 0]] = True
        return mask & ~self.private

    @cached_property
    def has_objective(self) -> bool:
        """Whether a network, or a concave part, is in the objective."""
        return self.embedded.concave is not None or any((measured.terms.measurement == 0).any() for measured in self.embedded.networks)

    @cached_property
    def switches(self) -> tuple[Array, Array]:
        """The indicator columns of neural rows (d,), and for each row its number among them, -1 for none."""
        indicator = self.embedded.restrictions.indicator
        columns = np.unique(indicator[indicator >= 0])
        return columns, np.where(indicator >= 0, np.searchsorted(columns, indicator), -1)

    @cached_property
    def uses(self) -> sp.csr_array:
        """Which columns each neural row depends on, shape (s, n)."""
        return columns_of_rows(self.embedded)

    def solve(self, z: Array, terms: Terms) -> Array:
        """The copies of all columns from where they were; columns that are not shared stay at x."""
        free = self._free_point(z, terms)
        if self.embedded.restrictions.num_restrictions == 0:
            return free
        held, fails = self._project(free)
        return self._decide(free, held, fails, terms)

    def _free_point(self, z: Array, terms: Terms) -> Array:
        """The best copies without neural rows."""
        box, width = self.space.box, self.space.width
        if not self.has_objective:
            return np.where(self.shared, np.clip(terms.x - terms.price * width**2 / terms.penalty, box.lb, box.ub), terms.x)
        z, mean, square = np.where(self.shared, z, terms.x), np.zeros(z.size), np.zeros(z.size)
        for number in range(1, NUM_STEPS + 1):
            if self.clock.ended():
                break
            neural = slopes(self.embedded, z)[[0]].toarray()[0]
            gradient = width * np.where(self.shared, neural + terms.price + terms.penalty * (z - terms.x) / width**2, 0.0)
            mean = FIRST_DECAY * mean + (1 - FIRST_DECAY) * gradient
            square = SECOND_DECAY * square + (1 - SECOND_DECAY) * gradient**2
            scaled = (mean / (1 - FIRST_DECAY**number)) / (np.sqrt(square / (1 - SECOND_DECAY**number)) + SMALL)
            z = np.clip(z - STEP * width * scaled, box.lb, box.ub)
        return z

    def _project(self, free: Array) -> tuple[Array, Array]:
        """The nearest point where all rows hold, and which rows (s,) still fail.

        z = clip(free - width^2 slope' nu), and nu_i follows the excess of row i over what its columns inside their bounds can do about it.
        Where a row is met and lost in turn, its columns go half as far each time. Of what was met, the nearest is kept.
        """
        box, width, aim = self.space.box, self.space.width, INSIDE * self.feasibility_tol
        size = self.embedded.restrictions.num_restrictions
        z, multiplier, rate, last = free, np.zeros(size), np.ones(size), np.zeros(size)
        kept, nearest = free, np.full(size, np.inf)
        for _ in range(NUM_PROJECTIONS):
            if self.clock.ended():
                break
            excess, slope = self._linear_piece(z)
            distance = self.uses @ ((z - free) / width) ** 2
            nearer = (excess <= self.feasibility_tol) & (distance < nearest)
            kept, nearest = np.where(self._used_by_all_of(nearer), z, kept), np.where(nearer, distance, nearest)
            rate = np.where(excess * last < 0, rate / 2, rate)
            at = slope.indices
            can_move = np.where(slope.data > 0, z[at] > box.lb[at], z[at] < box.ub[at])
            square = np.bincount(row_numbers(slope), (slope.data * width[at]) ** 2 * can_move, minlength=size)
            multiplier = np.maximum(multiplier + rate * (excess + aim) / np.maximum(square, SMALL), 0.0)
            target = np.clip(free - width**2 * (slope.T @ multiplier), box.lb, box.ub)
            z, last = z + self._least_of(rate) * (target - z), excess
        return kept, self._linear_piece(kept)[0] > self.feasibility_tol

    def _linear_piece(self, z: Array) -> tuple[Array, sp.csr_array]:
        """By how much each row is above its limit (s,), indicators aside, and the gradients of the rows (s, n)."""
        restrictions = self.embedded.restrictions
        neural = evaluate_measurements(self.embedded, z, self.embedded.predict(z))[1:]
        slope = sp.csr_array(restrictions.linear + slopes(self.embedded, z)[1:])
        return restrictions.linear @ z + neural - restrictions.rhs, slope

    def _used_by_all_of(self, mask: Array) -> Array:
        """Which columns (n,) are used by rows of the mask alone, and by one at least."""
        inside: Array = self.uses.T @ mask.astype(np.float64)
        count: Array = self.uses.T @ np.ones(mask.size)
        used: Array = (count > 0) & (inside == count)
        return used

    def _least_of(self, values: Array) -> Array:
        """For each column (n,) the least value of the rows that use it, 1 without one."""
        least = np.ones(self.uses.shape[1])
        np.minimum.at(least, self.uses.indices, values[row_numbers(self.uses)])
        return least

    def _decide(self, free: Array, held: Array, fails: Array, terms: Terms) -> Array:
        """Each indicator at its cheaper value, and the columns of the rows that apply then where those hold."""
        columns, number = self.switches
        change = self._tied_cost(held, terms) - self._tied_cost(free, terms)
        chosen = self._cost_of_values(change, fails, terms).argmin(axis=0).astype(np.float64)
        chosen = np.clip(chosen, self.space.box.lb[columns], self.space.box.ub[columns])
        behind, applies = np.flatnonzero(number >= 0), np.ones(number.size)
        applies[behind] = chosen[number[behind]] == self.embedded.restrictions.indicator_value[behind]
        z = np.where(self.uses.T @ applies > 0, held, free)
        z[columns] = chosen
        return z

    def _cost_of_values(self, change: Array, fails: Array, terms: Terms) -> Array:
        """What each indicator costs at 0 and at 1, shape (2, d): by itself, and by the columns (n,) that the rows that apply then move."""
        restrictions, (columns, number) = self.embedded.restrictions, self.switches
        cost = np.zeros((2, columns.size))
        for value in (0, 1):
            rows = np.flatnonzero((number >= 0) & (restrictions.indicator_value == value))
            moved = sp.csr_array((np.ones(rows.size), (number[rows], rows)), shape=(columns.size, number.size)) @ self.uses
            # A column that several rows of an indicator move is moved once.
            moved.data[:] = 1.0
            cost[value] = self._own_cost(columns, value, terms) + moved @ change
            cost[value, number[rows[fails[rows]]]] = np.inf
        return cost

    def _own_cost(self, columns: Array, value: int, terms: Terms) -> Array:
        """What a value of an indicator costs: by the objective if it is left to the networks, else by its price and penalty."""
        tied = self._tied_cost(np.full(self.private.size, float(value)), terms)
        return np.where(self.private, self.embedded.host.cost * value, tied)[columns]

    def _tied_cost(self, z: Array, terms: Terms) -> Array:
        """What each copy (n,) costs by its price and penalty."""
        return terms.price * z + terms.penalty / 2 * ((z - terms.x) / self.space.width) ** 2
