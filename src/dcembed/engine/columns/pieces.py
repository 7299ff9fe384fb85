"""One point of every block, measured: what it costs, what it uses of the rows that blocks share, and what it violates inside its block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.engine.columns.layout import Layout
from dcembed.sparse import compressed


@dataclass(frozen=True, eq=False)
class Pieces:
    """A point of each block, by a vector over all columns of the host.

    Parameters
    ----------
    w
        Shape (n,), integers rounded, linked outputs at their predictions.
    cost
        What each block brings to the objective, shape (B,).
    use
        What each block uses of the linking rows, shape (B, L); of one layout all have their entries in the same places.
    rows
        By how much the rows inside blocks are above their limits, shape (r,); -inf where they are off.
    violation
        The largest violation inside each block, shape (B,).
    """

    w: Array
    cost: Array
    use: sp.csr_array
    rows: Array
    violation: Array

    @property
    def excess(self) -> Array:
        """Of the rows inside blocks, shape (r,)."""
        return np.maximum(self.rows, 0.0)

    def value(self, prices: Array) -> Array:
        """What each block costs when what it uses has a price (L,): shape (B,)."""
        value: Array = self.cost + self.use @ prices
        return value


def measure_pieces(layout: Layout, w: Array) -> Pieces:
    """Measure the points of all blocks, with one forward pass of each network."""
    embedded = layout.embedded
    w = np.where(embedded.integer, np.round(w) + 0.0, w)
    neural, cost, parts = np.zeros(embedded.restrictions.num_restrictions + 1), np.zeros(layout.num_blocks + 1), [w]
    for measured, of_term, outputs in zip(embedded.networks, layout.term_blocks, embedded.predict(w), strict=True):
        terms = measured.terms
        values = terms.scale * np.einsum("to,to->t", measured.directions[terms.direction], outputs[terms.block])
        neural += np.bincount(terms.measurement, values, minlength=neural.size)
        in_objective = terms.measurement == 0
        cost += np.bincount(of_term[in_objective], values[in_objective], minlength=cost.size)
        parts.append(values)
    rows = layout.rows.values(w, neural)
    use = layout.use_pattern.gather(parts)
    return Pieces(w, cost[:-1] + _host_cost(layout, w), use, rows, _violation(layout, w, rows))


def choose_pieces(layout: Layout, is_first: Array, first: Pieces, second: Pieces) -> Pieces:
    """The points of `first` for the blocks of a mask (B,), of `second` for all others."""
    of_row, of_entry = is_first[layout.rows.block], is_first[layout.entry_blocks]
    use = first.use
    return Pieces(
        w=layout.choose(is_first, first.w, second.w),
        cost=np.where(is_first, first.cost, second.cost),
        use=compressed(np.where(of_entry, use.data, second.use.data), use.indices, use.indptr, use.shape),
        rows=np.where(of_row, first.rows, second.rows),
        violation=np.where(is_first, first.violation, second.violation),
    )


def _host_cost(layout: Layout, w: Array) -> Array:
    """The part of the objective without networks; its quadratic terms do not reach beyond a block."""
    host, slope = layout.embedded.host, layout.embedded.host.cost.copy()
    for matrix, sign in ((host.quadratic, 0.5), (layout.embedded.concave, -0.5)):
        if matrix is not None:
            slope += sign * (matrix @ w)
    cost: Array = layout.gather @ (slope * w)
    return cost


def _violation(layout: Layout, w: Array, rows: Array) -> Array:
    """By how much the worst row or bound of each block is missed, shape (B,)."""
    host, worst = layout.embedded.host, np.zeros((layout.num_blocks, layout.height))
    worst[layout.rows.block, layout.rows.slot] = rows
    outside = layout.take(np.maximum(host.lb - w, w - host.ub))
    violation: Array = np.maximum(worst.max(axis=1, initial=0.0), outside.max(axis=1, initial=0.0))
    return violation
