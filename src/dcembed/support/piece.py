"""A region for one evaluation as rows and cones over its scaled inputs and over columns of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.copies import replace
from dcembed.network.network import Network


@dataclass(frozen=True, eq=False)
class Piece:
    """What says that z is in a region: columns u, rows and cones.

        row_lb <= rows z + own_rows u <= row_ub,    (t, v) = cones z + own_cones u + cone_offset  with  t >= |v|

    Parameters
    ----------
    lb, ub, integer
        Of the columns u, shape (p,).
    slack
        1 for a column that is the distance from the region, which costs the weight of the region; 0 for the others. Shape (p,).
    rows, own_rows
        Shape (m, d) and (m, p).
    row_lb, row_ub, row_names
        Of the rows; a name says what the row is about.
    cones, own_cones, cone_offset, cone_sizes
        All cones one below the other, the row of t first.
    column_names
        What the columns are.
    network, prediction
        A network of the inputs as they are, not scaled, whose one output is the column of this number; None for no network.
    """

    lb: Array
    ub: Array
    integer: Array
    slack: Array
    rows: sp.csr_array
    own_rows: sp.csr_array
    row_lb: Array
    row_ub: Array
    row_names: tuple[str, ...]
    cones: sp.csr_array
    own_cones: sp.csr_array
    cone_offset: Array
    cone_sizes: Array
    column_names: tuple[str, ...]
    network: Network | None = None
    prediction: int = -1

    @property
    def num_columns(self) -> int:
        """p."""
        return self.lb.size

    @property
    def num_rows(self) -> int:
        """m."""
        return self.row_lb.size


def build_piece(
    d: int,
    columns: Sequence[tuple[str, float, float]] = (),
    rows: Matrix | None = None,
    own_rows: Matrix | None = None,
    row_lb: Array | None = None,
    row_ub: Array | None = None,
    row_names: Sequence[str] = (),
    cones: Matrix | None = None,
    own_cones: Matrix | None = None,
    cone_offset: Array | None = None,
    cone_sizes: Sequence[int] = (),
    integer: Sequence[int] = (),
    slack: int | Sequence[int] = (),
    network: Network | None = None,
    prediction: int = -1,
) -> Piece:
    """A piece over d scaled inputs; columns are (name, lb, ub), `integer` and `slack` their numbers. What is not given is not there."""
    p = len(columns)
    m, q = (0 if matrix is None else matrix.shape[0] for matrix in (rows, cones))
    is_integer, costs = np.zeros(p, dtype=bool), np.zeros(p)
    is_integer[list(integer)] = True
    costs[[slack] if isinstance(slack, int) else list(slack)] = 1.0
    return Piece(
        lb=np.array([lb for _, lb, _ in columns], dtype=np.float64),
        ub=np.array([ub for _, _, ub in columns], dtype=np.float64),
        integer=is_integer,
        slack=costs,
        rows=_sparse(rows, m, d),
        own_rows=_sparse(own_rows, m, p),
        row_lb=np.full(m, -np.inf) if row_lb is None else row_lb,
        row_ub=np.full(m, np.inf) if row_ub is None else row_ub,
        row_names=tuple(row_names),
        cones=_sparse(cones, q, d),
        own_cones=_sparse(own_cones, q, p),
        cone_offset=np.zeros(q) if cone_offset is None else cone_offset,
        cone_sizes=np.array(cone_sizes, dtype=np.int64),
        column_names=tuple(name for name, _, _ in columns),
        network=network,
        prediction=prediction,
    )


def softened(piece: Piece) -> Piece:
    """The piece with one more column s >= 0, the distance: rows and cones of the inputs may be off by as much.

    Rows of the piece's own columns alone stay as they are.

    Examples
    --------
    >>> soft = softened(build_piece(1, rows=np.eye(1), row_lb=np.zeros(1), row_ub=np.ones(1), row_names=["range"]))
    >>> soft.own_rows.toarray().tolist(), soft.row_lb.tolist(), soft.row_ub.tolist()
    ([[1.0], [-1.0]], [0.0, -inf], [inf, 1.0])
    """
    of_inputs = np.diff(piece.rows.indptr) > 0
    low, high = of_inputs & np.isfinite(piece.row_lb), of_inputs & np.isfinite(piece.row_ub)
    order = np.concatenate([np.flatnonzero(low), np.flatnonzero(high), np.flatnonzero(~of_inputs)])
    signs = np.repeat([1.0, -1.0, 0.0], [low.sum(), high.sum(), (~of_inputs).sum()])
    heads = np.zeros(piece.cone_offset.size)
    heads[np.cumsum(piece.cone_sizes) - piece.cone_sizes] = 1.0
    return replace(
        piece,
        lb=np.append(piece.lb, 0.0),
        ub=np.append(piece.ub, np.inf),
        integer=np.append(piece.integer, False),
        slack=np.append(piece.slack, 1.0),
        rows=sp.csr_array(piece.rows[order]),
        own_rows=sp.csr_array(sp.hstack([piece.own_rows[order], signs[:, None]])),
        row_lb=np.where(signs < 0.0, -np.inf, piece.row_lb[order]),
        row_ub=np.where(signs > 0.0, np.inf, piece.row_ub[order]),
        row_names=tuple(piece.row_names[i] for i in order),
        own_cones=sp.csr_array(sp.hstack([piece.own_cones, heads[:, None]])),
        column_names=(*piece.column_names, "distance"),
    )


def on_inputs(piece: Piece, places: Array, d: int) -> Piece:
    """A piece over some of the inputs as one over all d."""
    spread = sp.csr_array((np.ones(places.size), (np.arange(places.size), places)), shape=(places.size, d))
    return replace(piece, rows=sp.csr_array(piece.rows @ spread), cones=sp.csr_array(piece.cones @ spread))


def together(pieces: Sequence[Piece]) -> Piece:
    """Pieces over the same inputs, each with its own columns; one of them at most has a network."""
    if len(pieces) == 1:
        return pieces[0]
    first = np.cumsum([0, *(piece.num_columns for piece in pieces)])
    tied = [number for number, piece in enumerate(pieces) if piece.network is not None]
    fields: dict[str, Any] = {
        **{
            name: np.concatenate([getattr(piece, name) for piece in pieces])
            for name in ("lb", "ub", "integer", "slack", "row_lb", "row_ub", "cone_offset", "cone_sizes")
        },
        **{name: sp.csr_array(sp.vstack([getattr(piece, name) for piece in pieces])) for name in ("rows", "cones")},
        **{name: sp.csr_array(sp.block_diag([getattr(piece, name) for piece in pieces])) for name in ("own_rows", "own_cones")},
        **{name: tuple(each for piece in pieces for each in getattr(piece, name)) for name in ("row_names", "column_names")},
    }
    network = pieces[tied[0]].network if tied else None
    return Piece(**fields, network=network, prediction=int(first[tied[0]]) + pieces[tied[0]].prediction if tied else -1)


def _sparse(matrix: Matrix | None, num_rows: int, num_columns: int) -> sp.csr_array:
    return sp.csr_array((num_rows, num_columns)) if matrix is None else sp.csr_array(matrix)
