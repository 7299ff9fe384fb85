"""One ensemble as columns, rows and indicators of the host.

    max:       t >= y_m                                                  for all members m
    min:       t <= y_m
    at_most:   b_m = 1  =>  t >= y_m,   sum_m b_m >= a,   b_m binary
    at_least:  b_m = 1  =>  t <= y_m,   sum_m b_m >= a,   b_m binary

y_m are predictions of the members on columns of their own, t is the user's column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.network.ensemble import Ensemble, combine, member_values
from dcembed.program.program import Indicator, Program
from dcembed.sparse import single_rows

# What messages call the columns and rows of each combination.
WORDS = {
    "max": "max of members",
    "min": "min of members",
    "at_most": "agreement of members",
    "at_least": "agreement of members",
}


@dataclass(frozen=True, eq=False)
class Written:
    """An ensemble and the columns that it is written with.

    Parameters
    ----------
    number
        Of its embedding.
    embedding, ensemble
        Which one it is.
    first
        The number of the first new column. Predictions of the members come first, then a binary for each of them, if members are
        counted.
    """

    number: int
    embedding: Embedding
    ensemble: Ensemble
    first: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """k, M and n_out."""
        return self.embedding.num_evaluations, self.ensemble.num_members, self.ensemble.num_outputs

    @property
    def is_lower(self) -> bool:
        """Whether the rows keep t above the ensemble, which is so where the host presses it down."""
        return self.ensemble.combination in ("max", "at_most")

    @property
    def has_binaries(self) -> bool:
        """Whether members are counted."""
        return self.ensemble.combination in ("at_most", "at_least")

    @property
    def num_new(self) -> int:
        """How many columns are added."""
        return int(np.prod(self.shape)) * (2 if self.has_binaries else 1)

    @property
    def values(self) -> Array:
        """The columns of the members' predictions, shape (k, M, n_out)."""
        return self.first + np.arange(np.prod(self.shape)).reshape(self.shape)

    @property
    def binaries(self) -> Array:
        """The columns that count members, shape (k, M, n_out)."""
        return self.values + int(np.prod(self.shape))

    @property
    def targets(self) -> Array:
        """The user's column t for each prediction of a member, shape (k, M, n_out)."""
        return np.broadcast_to(self.embedding.outputs[:, None, :], self.shape)


def new_bounds(written: Written) -> tuple[Array, Array, Array]:
    """Lower and upper bounds of the new columns, and which of them are integer."""
    size, num_binaries = int(np.prod(written.shape)), written.num_new - int(np.prod(written.shape))
    lb = np.concatenate([np.full(size, -np.inf), np.zeros(num_binaries)])
    ub = np.concatenate([np.full(size, np.inf), np.ones(num_binaries)])
    return lb, ub, np.concatenate([np.zeros(size, dtype=bool), np.ones(num_binaries, dtype=bool)])


def new_names(written: Written, program: Program) -> list[str]:
    """What messages call the new columns: by the member and the user's column."""
    kinds = ["prediction", "agreement"] if written.has_binaries else ["prediction"]
    return [f"{kind} of member {member} for {label}" for kind in kinds for label, member in _labels(written, program)]


def build_rows(written: Written, program: Program) -> tuple[sp.csr_array, Array, Array, list[str]]:
    """Rows over all columns of the lifted program, their limits and their names."""
    words = WORDS[written.ensemble.combination]
    if written.has_binaries:
        names = [f"{words} for {program.column_label(int(column))}" for column in written.embedding.outputs.reshape(-1)]
        counts = _counts(written, program.num_columns)
        return counts, *_limits(counts.shape[0], True, written.ensemble.parameter), names
    matrix = _differences(written, program.num_columns)
    names = [f"{words} for {label}, member {member}" for label, member in _labels(written, program)]
    return matrix, *_limits(matrix.shape[0], written.is_lower), names


def build_indicators(written: Written, program: Program) -> list[Indicator]:
    """b_m = 1  =>  t - y_m >= 0, or <= 0: who is counted has to agree."""
    if not written.has_binaries:
        return []
    matrix = _differences(written, program.num_columns)
    lb, ub = _limits(matrix.shape[0], written.is_lower)
    columns, labels = written.binaries.reshape(-1).tolist(), _labels(written, program)
    fields_of = zip(columns, single_rows(matrix), lb.tolist(), ub.tolist(), labels, strict=True)
    words = WORDS[written.ensemble.combination]
    return [
        Indicator(column, 1, row, low, high, f"{words} for {label}, member {member}")
        for column, row, low, high, (label, member) in fields_of
    ]


def complete(written: Written, w: Array, before: Array) -> None:
    """Write the predictions of all members, which of them are counted, and the value of the ensemble into a point.

    Parameters
    ----------
    w
        All columns; it is changed.
    before
        The columns that there were before, which the inputs depend on.
    """
    ensemble, shape = written.ensemble, written.shape
    points = written.embedding.points(before)
    values = member_values(ensemble, points)
    w[written.values] = values
    w[written.embedding.outputs] = combine(ensemble, values)
    if written.has_binaries:
        # Those that agree the most are counted, and no more than have to be.
        order = np.argsort(values if written.is_lower else -values, axis=1, kind="stable")
        chosen = np.zeros(shape)
        np.put_along_axis(chosen, order[:, : round(ensemble.parameter)], 1.0, axis=1)
        w[written.binaries] = chosen


def _labels(written: Written, program: Program) -> Iterator[tuple[str, int]]:
    """The user's column and the member, for each prediction of a member."""
    members = np.broadcast_to(np.arange(written.shape[1])[None, :, None], written.shape)
    for column, member in zip(written.targets.reshape(-1).tolist(), members.reshape(-1).tolist(), strict=True):
        yield program.column_label(column), member


def _limits(size: int, is_lower: bool, limit: float = 0.0) -> tuple[Array, Array]:
    return (np.full(size, limit), np.full(size, np.inf)) if is_lower else (np.full(size, -np.inf), np.full(size, limit))


def _matrix(parts: list[tuple[Array, Array, float | Array]], num_rows: int, num_columns: int) -> sp.csr_array:
    """The sum of entries, given as rows, columns and values that broadcast against one another."""
    spread = [[array.reshape(-1) for array in np.broadcast_arrays(*part)] for part in parts]
    rows, columns, values = (np.concatenate(entries) for entries in zip(*spread, strict=True))
    return sp.csr_array((values.astype(np.float64), (rows, columns)), shape=(num_rows, num_columns))


def _differences(written: Written, num_columns: int) -> sp.csr_array:
    """t - y_m, one row for each prediction of a member."""
    size = written.values.size
    numbers = np.arange(size).reshape(written.shape)
    return _matrix([(numbers, written.targets, 1.0), (numbers, written.values, -1.0)], size, num_columns)


def _counts(written: Written, num_columns: int) -> sp.csr_array:
    """sum_m b_m, one row for each output."""
    k, _, num_outputs = written.shape
    numbers = np.arange(k * num_outputs).reshape(k, 1, num_outputs)
    return _matrix([(numbers, written.binaries, 1.0)], k * num_outputs, num_columns)
