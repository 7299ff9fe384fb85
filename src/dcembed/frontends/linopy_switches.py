"""Semi-continuous variables and SOS constraints of linopy as `Switches`."""

from __future__ import annotations

from typing import Any

import linopy
import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends.switches import Switches, semi_continuous, special_ordered


def read_switches(model: linopy.Model, positions: Array, lb: Array, ub: Array, names: list[str]) -> list[Switches]:
    """The switches of all semi-continuous variables and SOS constraints, by the columns' bounds."""
    found = [semi_continuous(_members(variable, positions), lb, ub) for _, variable in model.variables.semi_continuous.items()]
    found += [_read_sets(variable, positions, lb, ub) for _, variable in model.variables.sos.items()]
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


def _read_sets(variable: Any, positions: Array, lb: Array, ub: Array) -> Switches:
    dim, order = variable.attrs["sos_dim"], int(variable.attrs["sos_type"])
    labels = np.moveaxis(variable.labels.values, variable.labels.dims.index(dim), -1)
    rows = (row[row >= 0] for row in labels.reshape(-1, labels.shape[-1]))
    # What the user says in place of a bound.
    limit = float(variable.attrs.get("big_m_upper", np.inf))
    return special_ordered([positions[row] for row in rows if row.size], order, lb, np.where(np.isfinite(ub), ub, limit))
