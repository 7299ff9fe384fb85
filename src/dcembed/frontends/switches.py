"""Columns that are zero unless they are switched on: semi-continuous variables and SOS constraints, exactly, with binary columns.

A member x of such a constraint is on while the sum of its switches is 1, and zero otherwise: lb s <= x <= ub s. A semi-continuous
variable has a switch of its own. Of an SOS1 each member has one, and at most one is on. Of an SOS2 each pair of neighbours has one.

A member whose bounds are infinite or large gets a binary of its own beside them, which is 1 only where its switches are, and indicators:
with a large bound the rows would let x be more than zero where s is zero up to a solver's tolerance only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.program.program import Indicator

# Solvers take 1e-6 for zero in a binary. What this bound makes of it, rounding the binary and completing the point repairs.
LARGEST_BOUND = 1e3


@dataclass(frozen=True, eq=False)
class Switches:
    """Members and their switches.

    Parameters
    ----------
    members
        Columns, shape (p,).
    small, big
        What a member is at least and at most while it is on, shape (p,).
    which
        Which switches turn a member on, shape (p, s).
    alone
        Of which switches at most one is on, shape (g, s).
    name
        Of the user's constraint or variable.
    """

    members: Array
    small: Array
    big: Array
    which: sp.csr_array
    alone: sp.csr_array
    name: str = "switch"

    @cached_property
    def wide(self) -> Array:
        """Places of the members that have a binary of their own."""
        return np.flatnonzero(np.maximum(np.abs(self.small), np.abs(self.big)) > LARGEST_BOUND)

    @property
    def num_binaries(self) -> int:
        """How many binary columns are added: the switches, and after them the binaries of wide members."""
        return int(self.which.shape[1]) + self.wide.size

    def rows(self, num_columns: int) -> tuple[sp.csr_array, Array, Array]:
        """Rows over `num_columns` columns and the added ones after them, with their bounds."""
        near = np.setdiff1d(np.arange(self.members.size), self.wide)
        picked = sp.csr_array((np.ones(near.size), (np.arange(near.size), self.members[near])), shape=(near.size, num_columns))
        which, width = self.which[near], num_columns + self.num_binaries
        below = sp.hstack([picked, -sp.diags_array(self.big[near]) @ which])
        above = sp.hstack([picked, -sp.diags_array(self.small[near]) @ which])
        alone = sp.hstack([sp.csr_array((self.alone.shape[0], num_columns)), self.alone])
        own = sp.hstack([sp.csr_array((self.wide.size, num_columns)), -self.which[self.wide], sp.eye_array(self.wide.size)])
        blocks = [sp.csr_array(block) for block in (below, above, alone, own)]
        for block in blocks:
            block.resize((block.shape[0], width))
        size, num_alone = near.size, alone.shape[0]
        lb = np.concatenate([np.full(size, -np.inf), np.zeros(size), np.full(num_alone + self.wide.size, -np.inf)])
        ub = np.concatenate([np.zeros(size), np.full(size, np.inf), np.ones(num_alone), np.zeros(self.wide.size)])
        return sp.csr_array(sp.vstack(blocks)), lb, ub

    def indicators(self, first: int, num_columns: int) -> list[Indicator]:
        """The indicators of the wide members; `first` is the column of the first switch."""
        found = []
        for number, place in enumerate(self.wide):
            binary = first + int(self.which.shape[1]) + number
            row = sp.csr_array(([1.0], ([0], [int(self.members[place])])), shape=(1, num_columns))
            found.append(Indicator(binary, 0, row, 0.0, 0.0, self.name))
            if self.small[place] > 0 or self.big[place] < 0:
                found.append(Indicator(binary, 1, row, float(self.small[place]), float(self.big[place]), self.name))
        return found

    def choose(self, w: Array) -> Array:
        """Values of the added columns: on is what leaves the least of w off."""
        sizes = np.abs(w[self.members])
        if not self.alone.shape[0]:
            on = self.which.T @ _is_on(w[self.members], self.small, self.big).astype(np.float64)
        else:
            kept, on = self.which.T @ sizes, np.zeros(self.which.shape[1])
            for group in range(self.alone.shape[0]):
                switches = self.alone.indices[self.alone.indptr[group] : self.alone.indptr[group + 1]]
                on[switches[np.argmax(kept[switches])]] = 1.0
        return np.concatenate([on, (self.which[self.wide] @ on > 0).astype(np.float64)])


def semi_continuous(members: Array, lb: Array, ub: Array, name: str = "switch") -> Switches:
    """Members that are zero or between their bounds; `lb` and `ub` are those of all columns."""
    size = members.size
    return Switches(members, lb[members], ub[members], sp.eye_array(size, format="csr"), sp.csr_array((0, size)), name)


def special_ordered(sets: Sequence[Array], order: int, lb: Array, ub: Array, name: str = "switch") -> Switches:
    """In each set of columns, in its order, at most one (`order` 1) or two neighbours (2) are not zero; bounds are those of all columns."""
    members = np.concatenate(sets)
    counts = [max(columns.size - order + 1, 1) for columns in sets]
    which = sp.block_diag([_neighbours(columns.size, count, order) for columns, count in zip(sets, counts, strict=True)], format="csr")
    alone = sp.csr_array(sp.block_diag([np.ones((1, count)) for count in counts], format="csr"))
    return Switches(members, lb[members], ub[members], sp.csr_array(which), alone, name)


def _is_on(x: Array, small: Array, big: Array) -> Array:
    """Whether a value is closer to the interval of its bounds than to zero."""
    outside: Array = np.maximum(np.maximum(small - x, x - big), 0.0)
    is_on: Array = outside < np.abs(x)
    return is_on


def _neighbours(size: int, count: int, order: int) -> sp.csr_array:
    """Which of `count` switches turn each of `size` members on: switch j those from j to j + order - 1."""
    member, switch = np.arange(size)[:, None], np.arange(count)[None, :]
    return sp.csr_array(((member >= switch) & (member < switch + order)).astype(np.float64))
