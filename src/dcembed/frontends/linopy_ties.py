"""What ties the variables of a linopy model to the predictions of networks.

A tie names variables by linopy's labels, which a copy of the model keeps. Nothing of it refers to the model, so that a model that nobody
uses any more is freed.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import linopy
import numpy as np
import scipy.sparse as sp
import xarray as xr

from dcembed.arrays import Array
from dcembed.embedded.region import Region
from dcembed.errors import InputError
from dcembed.frontends.batches import Batch
from dcembed.network.network import Network


@dataclass(frozen=True, eq=False)
class Tie:
    """outputs = network(inputs), k times.

    Parameters
    ----------
    name
        What messages call it.
    network
        The network.
    inputs, outputs
        k rows of n_in and of n_out linear expressions; their variables are labels.
    where
        The dimensions and coordinates of the evaluations, and True at the k entries that are made.
    support
        Where the inputs belong; None for anywhere.
    """

    name: str
    network: Network
    inputs: Batch
    outputs: Batch
    where: xr.DataArray
    support: Region | None = None

    def spread(self, rows: Array, dim: str) -> xr.DataArray:
        """Rows (k, width) over the dimensions of the evaluations and `dim`, with NaN where none is made."""
        values = np.full((*self.where.shape, rows.shape[1]), np.nan)
        values[self.where.values] = rows
        return self.where.astype(np.float64).expand_dims({dim: rows.shape[1]}, axis=-1).copy(data=values)


_TIES: WeakKeyDictionary[linopy.Model, list[Tie]] = WeakKeyDictionary()


def ties_of(model: linopy.Model) -> list[Tie]:
    """What was embedded in a model, in order."""
    return _TIES.setdefault(model, [])


def find_columns(labels: list[int], positions: Array, tie: Tie, what: str) -> Array:
    """The columns of labels, whose `positions` are -1 where the model has no such variable any more."""
    wanted = np.array(labels, dtype=np.int64)
    known = wanted < positions.size
    columns = np.where(known, positions[np.where(known, wanted, 0)] if positions.size else -1, -1)
    if (columns < 0).any():
        raise InputError(
            f"solve: a variable in the {what} of the network '{tie.name}' is not in the model any more (linopy's label "
            f"{wanted[columns < 0][0]}). Call remove() of what embed returned, and embed the network anew."
        )
    return columns


def tie_rows(batch: Batch, columns: Array, num_columns: int) -> sp.csr_array:
    """The linear parts of a batch as rows (k * width, n)."""
    return sp.csr_array((batch.coefficient, (batch.entry, columns)), shape=(batch.constant.size, num_columns))
