"""The exact mixed-integer encoding of every unit (appendix B.1 of the paper).

    a = z - s,    0 <= z <= U d,    0 <= s <= -L (1 - d),    d binary

With s = z - a these are the paper's four inequalities. Units whose sign the bounds L <= a <= U settle have no binary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.encoding import SETTLED_TOL, Encoding, encode
from dcembed.embedded.unit_bounds import StageBounds, bound_evaluations, check_finite, column_box
from dcembed.network.bounds import go_on
from dcembed.program.derive import add_columns, add_rows
from dcembed.program.program import Program


@dataclass(frozen=True, eq=False)
class BigM:
    """The encoded program: columns [w | z and s | d], rows [host | equalities | z <= U d | s <= -L (1 - d)]."""

    encoding: Encoding
    program: Program

    @property
    def num_binaries(self) -> int:
        """Activation binaries, without the integers of the host."""
        return self.program.num_columns - self.encoding.num_columns

    def values(self, w: Array) -> Array:
        """All columns at the point w, whose predictions are in place."""
        lifted = self.encoding.values(w)
        unit, _ = self.encoding.open_columns()
        return np.concatenate([lifted, (lifted[unit] > 0).astype(np.float64)])


def default_bounds(program: Program, embeddings: Sequence[Embedding], check: Callable[[], None] = go_on) -> list[StageBounds]:
    """Bounds of all pre-activations from the bounds of the columns; `check` may raise to end it."""
    box = column_box(program, embeddings, check)
    bounds = [bound_evaluations(embedding, *box, check) for embedding in embeddings]
    for embedding, stages in zip(embeddings, bounds, strict=True):
        check_finite(program, embedding, stages, *box)
    return bounds


def build_big_m(program: Program, embeddings: Sequence[Embedding], bounds: Sequence[StageBounds], settled_tol: float = SETTLED_TOL) -> BigM:
    """The encoding with its binaries, as one program without embeddings; bounds that cross zero by more than `settled_tol` need one."""
    encoding = encode(program, embeddings, bounds, settled_tol)
    unit, cut = encoding.open_columns()
    size, num_open = encoding.num_columns, unit.size
    total, binary = size + num_open, size + np.arange(num_open)
    on = _pairs(unit, np.ones(num_open), binary, -encoding.ub[unit], total)
    off = _pairs(cut, np.ones(num_open), binary, encoding.ub[cut], total)
    binaries = add_columns(encoding.program_with_units(), np.zeros(num_open), np.ones(num_open), integer=np.ones(num_open, dtype=bool))
    pairs = sp.vstack([on, off], format="csr")
    encoded = add_rows(binaries, pairs, np.full(2 * num_open, -np.inf), np.concatenate([np.zeros(num_open), encoding.ub[cut]]))
    return BigM(encoding, encoded)


def _pairs(first: Array, first_value: Array, second: Array, second_value: Array, size: int) -> sp.csr_array:
    """Rows with two entries each."""
    row = np.tile(np.arange(first.size), 2)
    entries = np.concatenate([first_value, second_value]), (row, np.concatenate([first, second]))
    return sp.csr_array(entries, shape=(first.size, size))
