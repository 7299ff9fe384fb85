"""What a relaxation pays for each piece: the multipliers of all rows that are not the piece's own put prices on its columns and functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.boxes import Multiplied
from dcembed.bounds.pieces import Piece
from dcembed.bounds.relaxation import Relaxation
from dcembed.bounds.safe import Relaxed


@dataclass(frozen=True, eq=False)
class Prices:
    """What a relaxation pays: for all its columns, without the rows that are a piece's own."""

    columns: Array
    functions: Array
    switch: float

    def mixed(self, other: Prices, weight: float) -> Prices:
        """The mean with others that have this weight."""
        return Prices(
            weight * other.columns + (1 - weight) * self.columns,
            weight * other.functions + (1 - weight) * self.functions,
            weight * other.switch + (1 - weight) * self.switch,
        )


class Owners:
    """Which rows of a relaxation belong to which piece."""

    def __init__(self, relaxation: Relaxation, pieces: Sequence[Piece]) -> None:
        self.relaxation, self.pieces = relaxation, pieces
        self._of_function = np.full(relaxation.measurement.size, -1)
        for number, piece in enumerate(pieces):
            self._of_function[piece.functions] = number
        always = np.flatnonzero(relaxation.embedded.restrictions.indicator < 0)
        self._fixed = np.full(relaxation.fixed.number, -1)
        own = np.full(relaxation.embedded.restrictions.num_restrictions, -1)
        for number, piece in enumerate(pieces):
            own[piece.own.rows] = number
        self._fixed[relaxation.embedded.host.num_rows :] = own[always]

    def of_rows(self, relaxed: Relaxed, of_cuts: Array) -> Array:
        """The owner of every row, -1 for none, given those of the cuts, which are the last rows."""
        n, size = self.relaxation.num_host, relaxed.row_lb.size
        owner = np.full(size, -1)
        owner[: self._fixed.size] = self._fixed
        if of_cuts.size:
            owner[size - of_cuts.size :] = of_cuts
        between = slice(self._fixed.size, size - of_cuts.size)
        # Rows behind indicators, planes and cuts of a box: a row on functions of one piece alone is its own if the piece enforces it.
        matrix = relaxed.rows[between]
        for row in range(matrix.shape[0]):
            used = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
            owner[self._fixed.size + row] = self._owner_of(used[used >= n] - n, used[used < n])
        return owner

    def _owner_of(self, functions: Array, columns: Array) -> int:
        numbers = np.unique(self._of_function[functions])
        if numbers.size != 1 or numbers[0] < 0:
            return -1
        piece = self.pieces[numbers[0]]
        inside = np.isin(columns, [*piece.columns, piece.own.switch]).all()
        return int(numbers[0]) if inside else -1


def find_prices(owners: Owners, solved: Multiplied | None) -> list[Prices]:
    """What a relaxation pays for each piece, given its point and its multipliers; nothing where it was not solved."""
    if solved is None:
        return [Prices(np.zeros(p.columns.size), np.zeros(p.functions.size), 0.0) for p in owners.pieces]
    return paid_for(owners, solved, owners.of_rows(solved.relaxed, solved.owner))


def paid_for(owners: Owners, solved: Multiplied, owner: Array) -> list[Prices]:
    """What multipliers pay for each piece without the rows that are its own."""
    relaxed, x, y, n = solved.relaxed, solved.x, solved.multipliers, owners.relaxation.num_host
    gradient = relaxed.cost + (relaxed.quadratic @ x if relaxed.quadratic is not None else 0.0) + relaxed.rows.T @ y
    found = []
    for number, piece in enumerate(owners.pieces):
        own = np.flatnonzero(owner == number)
        paid = gradient - relaxed.rows[own].T @ y[own]
        switch = float(paid[piece.own.switch]) if piece.own.switch >= 0 else 0.0
        found.append(Prices(paid[piece.columns], paid[n + piece.functions], switch if piece.own.on == 1 else -switch))
    return found
