"""One ensemble as columns, rows and indicators of the host.

    max:             t >= y_m                                                             for all members m
    min:             t <= y_m
    mean_deviation:  d_m >= y_m - mean,  d_m >= 0,  t >= mean + 2 k sum_m w_m d_m         (<= for k < 0)
    at_most:         b_m = 1  =>  t >= y_m,   sum_m b_m >= a,   b_m binary                (t <= y_m for at_least)

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
    "mean_deviation": "mean and deviation of members",
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
        The number of the first new column. Predictions of the members come first, then a deviation or a binary for each of them, if the
        combination needs one.
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
        name = self.ensemble.combination
        return name in ("max", "at_most") or (name == "mean_deviation" and self.ensemble.parameter > 0)

    @property
    def has_binaries(self) -> bool:
        """Whether members are counted."""
        return self.ensemble.combination in ("at_most", "at_least")

    @property
    def has_extra(self) -> bool:
        """Whether each member has a deviation or a binary."""
        return self.has_binaries or self.ensemble.combination == "mean_deviation"

    @property
    def num_new(self) -> int:
        """How many columns are added."""
        return int(np.prod(self.shape)) * (2 if self.has_extra else 1)

    @property
    def values(self) -> Array:
        """The columns of the members' predictions, shape (k, M, n_out)."""
        return self.first + np.arange(np.prod(self.shape)).reshape(self.shape)

    @property
    def extra(self) -> Array:
        """The columns of deviations or binaries, shape (k, M, n_out)."""
        return self.values + int(np.prod(self.shape))

    @property
    def targets(self) -> Array:
        """The user's column t for each prediction of a member, shape (k, M, n_out)."""
        return np.broadcast_to(self.embedding.outputs[:, None, :], self.shape)


def new_bounds(written: Written) -> tuple[Array, Array, Array]:
    """Lower and upper bounds of the new columns, and which of them are integer."""
    size, num_extra = int(np.prod(written.shape)), written.num_new - int(np.prod(written.shape))
    lb = np.concatenate([np.full(size, -np.inf), np.zeros(num_extra)])
    ub = np.concatenate([np.full(size, np.inf), np.full(num_extra, 1.0 if written.has_binaries else np.inf)])
    return lb, ub, np.concatenate([np.zeros(size, dtype=bool), np.full(num_extra, written.has_binaries)])


def new_names(written: Written, program: Program) -> list[str]:
    """What messages call the new columns: by the member and the user's column."""
    kinds = ["prediction", "agreement" if written.has_binaries else "deviation"][: 2 if written.has_extra else 1]
    return [f"{kind} of member {member} for {label}" for kind in kinds for label, member in _labels(written, program)]


def build_rows(written: Written, program: Program) -> tuple[sp.csr_array, Array, Array, list[str]]:
    """Rows over all columns of the lifted program, their limits and their names."""
    words = WORDS[written.ensemble.combination]
    of_members = [f"{words} for {label}, member {member}" for label, member in _labels(written, program)]
    of_outputs = [f"{words} for {program.column_label(int(column))}" for column in written.embedding.outputs.reshape(-1)]
    if written.has_binaries:
        matrix = _sums(written, program.num_columns, written.extra, np.ones(written.shape[1]))
        return matrix, *_limits(matrix.shape[0], True, written.ensemble.parameter), of_outputs
    if written.ensemble.combination != "mean_deviation":
        matrix = _differences(written, program.num_columns)
        return matrix, *_limits(matrix.shape[0], written.is_lower), of_members
    above, total = _deviations(written, program.num_columns), _totals(written, program.num_columns)
    sides = zip(_limits(above.shape[0], True), _limits(total.shape[0], written.is_lower), strict=True)
    lb, ub = (np.concatenate(pair) for pair in sides)
    return sp.csr_array(sp.vstack([above, total], format="csr")), lb, ub, of_members + of_outputs


def build_indicators(written: Written, program: Program) -> list[Indicator]:
    """b_m = 1  =>  t - y_m >= 0, or <= 0: who is counted has to agree."""
    if not written.has_binaries:
        return []
    matrix = _differences(written, program.num_columns)
    lb, ub = _limits(matrix.shape[0], written.is_lower)
    columns, labels = written.extra.reshape(-1).tolist(), _labels(written, program)
    fields_of = zip(columns, single_rows(matrix), lb.tolist(), ub.tolist(), labels, strict=True)
    words = WORDS[written.ensemble.combination]
    return [
        Indicator(column, 1, row, low, high, f"{words} for {label}, member {member}")
        for column, row, low, high, (label, member) in fields_of
    ]


def complete(written: Written, w: Array, before: Array) -> None:
    """Write the predictions of all members, what is counted or added up of them, and the value of the ensemble into a point.

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
    if ensemble.combination == "mean_deviation":
        mean = np.einsum("m,kmo->ko", ensemble.weights, values)
        w[written.extra] = np.maximum(values - mean[:, None], 0.0)
    if written.has_binaries:
        # Those that agree the most are counted, and no more than have to be.
        order = np.argsort(values if written.is_lower else -values, axis=1, kind="stable")
        chosen = np.zeros(shape)
        np.put_along_axis(chosen, order[:, : round(ensemble.parameter)], 1.0, axis=1)
        w[written.extra] = chosen


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


def _sums(written: Written, num_columns: int, columns: Array, weights: Array) -> sp.csr_array:
    """Weighted sums over the members, one row for each output."""
    k, _, num_outputs = written.shape
    numbers = np.arange(k * num_outputs).reshape(k, 1, num_outputs)
    return _matrix([(numbers, columns, weights[None, :, None])], k * num_outputs, num_columns)


def _deviations(written: Written, num_columns: int) -> sp.csr_array:
    """d_m - y_m + mean, one row for each prediction of a member."""
    values, size = written.values, written.values.size
    numbers = np.arange(size).reshape(written.shape)
    weights = written.ensemble.weights[None, None, :, None]
    mean = (numbers[:, :, None, :], values[:, None, :, :], weights)
    return _matrix([(numbers, written.extra, 1.0), (numbers, values, -1.0), mean], size, num_columns)


def _totals(written: Written, num_columns: int) -> sp.csr_array:
    """t - mean - 2 k sum_m w_m d_m, one row for each output."""
    ensemble, targets = written.ensemble, written.embedding.outputs
    own = _matrix([(np.arange(targets.size), targets.reshape(-1), 1.0)], targets.size, num_columns)
    mean = _sums(written, num_columns, written.values, -ensemble.weights)
    deviation = _sums(written, num_columns, written.extra, -2.0 * ensemble.parameter * ensemble.weights)
    return sp.csr_array(own + mean + deviation)
