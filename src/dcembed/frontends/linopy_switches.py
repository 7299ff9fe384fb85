"""Semi-continuous variables and SOS constraints of linopy, written with binary columns and rows: exact, with the user's own bounds.

A member x of such a constraint is on while the sum of its switches is 1, and zero otherwise: lb s <= x <= ub s. A semi-continuous
variable has a switch of its own. Of an SOS1 each member has one, and at most one is on. Of an SOS2 each pair of neighbours has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import linopy
import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.errors import InputError


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
    """

    members: Array
    small: Array
    big: Array
    which: sp.csr_array
    alone: sp.csr_array

    @property
    def num_switches(self) -> int:
        """How many binary columns are added."""
        return int(self.which.shape[1])

    def rows(self, num_columns: int) -> tuple[sp.csr_array, Array, Array]:
        """Rows over `num_columns` columns and the switches after them, with their bounds."""
        size = self.members.size
        picked = sp.csr_array((np.ones(size), (np.arange(size), self.members)), shape=(size, num_columns))
        below = sp.hstack([picked, -sp.diags_array(self.big) @ self.which])
        above = sp.hstack([picked, -sp.diags_array(self.small) @ self.which])
        alone = sp.hstack([sp.csr_array((self.alone.shape[0], num_columns)), self.alone])
        num_alone = alone.shape[0]
        lb = np.concatenate([np.full(size, -np.inf), np.zeros(size), np.full(num_alone, -np.inf)])
        ub = np.concatenate([np.zeros(size), np.full(size, np.inf), np.ones(num_alone)])
        return sp.csr_array(sp.vstack([below, above, alone])), lb, ub


def read_switches(model: linopy.Model, positions: Array, lb: Array, ub: Array, names: list[str]) -> list[Switches]:
    """The switches of all semi-continuous variables and SOS constraints, by the columns' bounds."""
    found = [_semi_continuous(_members(variable, positions), lb, ub) for _, variable in model.variables.semi_continuous.items()]
    found += [_special_ordered(variable, positions, lb, ub) for _, variable in model.variables.sos.items()]
    for switches in found:
        endless = switches.members[~(np.isfinite(switches.big) & np.isfinite(switches.small))]
        if endless.size:
            raise InputError(
                f"solve: the variable '{names[endless[0]]}' is semi-continuous or in an SOS constraint and needs finite bounds, "
                f"but has [{lb[endless[0]]:g}, {ub[endless[0]]:g}]. Set variable.lower and variable.upper."
            )
    return found


def _members(variable: Any, positions: Array) -> Array:
    labels = variable.labels.values.reshape(-1)
    members: Array = positions[labels[labels >= 0]]
    return members


def _semi_continuous(members: Array, lb: Array, ub: Array) -> Switches:
    size = members.size
    return Switches(members, lb[members], ub[members], sp.eye_array(size, format="csr"), sp.csr_array((0, size)))


def _special_ordered(variable: Any, positions: Array, lb: Array, ub: Array) -> Switches:
    dim, order = variable.attrs["sos_dim"], int(variable.attrs["sos_type"])
    labels = np.moveaxis(variable.labels.values, variable.labels.dims.index(dim), -1)
    rows = (row[row >= 0] for row in labels.reshape(-1, labels.shape[-1]))
    sets = [row for row in rows if row.size]
    members = positions[np.concatenate(sets)]
    # What the user says in place of a bound.
    limit = float(variable.attrs.get("big_m_upper", np.inf))
    big = np.where(np.isfinite(ub[members]), ub[members], limit)
    counts = [max(row.size - order + 1, 1) for row in sets]
    which = sp.block_diag([_neighbours(row.size, count, order) for row, count in zip(sets, counts, strict=True)], format="csr")
    alone = sp.csr_array(sp.block_diag([np.ones((1, count)) for count in counts], format="csr"))
    return Switches(members, lb[members], big, sp.csr_array(which), alone)


def _neighbours(size: int, count: int, order: int) -> sp.csr_array:
    """Which of `count` switches turn each of `size` members on: switch j those from j to j + order - 1."""
    member, switch = np.arange(size)[:, None], np.arange(count)[None, :]
    return sp.csr_array(((member >= switch) & (member < switch + order)).astype(np.float64))
