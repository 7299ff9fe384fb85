"""The embedded problem of the paper (problem 2): a host, one-sided neural rows, and measured networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.definitions import Definitions
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.grouping import inside
from dcembed.embedded.measured_network import MeasuredNetwork, adder
from dcembed.embedded.origin import Origin
from dcembed.embedded.patterns import Pattern, curvature_pattern, num_pairs, slope_pattern
from dcembed.embedded.prediction_bounds import bound_predictions
from dcembed.network.network import evaluate
from dcembed.program.derive import add_rows, derive
from dcembed.program.program import Program
from dcembed.sparse import Sum, above, add, compressed, empty_rows, plan_sum, rows_from


@dataclass(frozen=True, eq=False)
class Restrictions:
    """One-sided neural rows linear @ w + f <= rhs + slack, possibly only while w[indicator] == indicator_value.

    Parameters
    ----------
    linear
        Shape (s, n).
    rhs
        Shape (s,).
    slack
        Which slack each restriction may use; the two sides of an equality share one. Shape (s,).
    indicator
        Column of the indicator, -1 for none. Shape (s,).
    indicator_value
        Shape (s,).
    """

    linear: sp.csr_array
    rhs: Array
    slack: Array
    indicator: Array
    indicator_value: Array

    @property
    def num_restrictions(self) -> int:
        """s, the one-sided neural rows."""
        return self.rhs.size

    @cached_property
    def num_slacks(self) -> int:
        """Slacks of all restrictions; the two sides of an equality share one."""
        return int(self.slack.max()) + 1 if self.slack.size else 0

    @cached_property
    def is_switched(self) -> bool:
        """Whether one of them is behind an indicator."""
        return bool((self.indicator >= 0).any())

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Numbers of the upper sides of all equalities, and of the lower sides beside them; they share their slacks."""
        order = np.argsort(self.slack, kind="stable")
        shares = np.flatnonzero(np.diff(self.slack[order]) == 0)
        return order[shares], order[shares + 1]


@dataclass(frozen=True, eq=False)
class EmbeddedProgram:
    """The host without eliminated outputs, its neural restrictions, and the way back.

    Parameters
    ----------
    program, embeddings
        What the user gave.
    kept
        The columns of `program` that `host` has.
    host
        The program over the kept columns with every row, bound and indicator that has no prediction in it; convex.
    concave
        C of the objective over the kept columns, which measurement 0 has in it and not the host; None where there is none.
    restrictions
        The neural rows.
    networks
        The networks with their terms in objective and restrictions.
    linked
        Columns of `host` that are outputs tied by an equality.
    definitions
        Columns of `program` that its rows define by eliminated outputs; they are not in `host` either.
    num_switches
        How many rows of `program` were read as indicators.
    num_implied
        How many rows, the last ones of `host`, say what neural rows behind a binary imply.
    origin
        Where its numbers come from; None where that is not known.
    """

    program: Program
    embeddings: tuple[Embedding, ...]
    kept: Array
    host: Program
    concave: sp.csr_array | None
    restrictions: Restrictions
    networks: tuple[MeasuredNetwork, ...]
    linked: Array
    definitions: Definitions
    num_switches: int = 0
    num_implied: int = 0
    origin: Origin | None = None

    @cached_property
    def input_columns(self) -> Array:
        """Columns of `host` that measurements depend on: those of network inputs, and of the concave part of the objective."""
        matrices = [m.maps for m in self.networks] + ([] if self.concave is None else [self.concave])
        return inside(self.host.num_columns, *(matrix.indices for matrix in matrices))

    @cached_property
    def moves_inputs(self) -> Array:
        """The kept columns that inputs depend on, those too of predictions that nothing uses: mask of shape (n,)."""
        matrices = [embedding.affine_inputs(self.program.num_columns).coefficients for embedding in self.embeddings]
        moves = np.zeros(self.program.num_columns, dtype=bool)
        for matrix in matrices:
            moves[matrix.indices] = True
        return moves[self.kept]

    @cached_property
    def integer(self) -> Array:
        """Which of the kept columns are integer to the user, held or not: mask of shape (n,)."""
        return self.program.integer[self.kept]

    @property
    def shares_decisions(self) -> bool:
        """Whether terms are evaluated together, so that a point is measured without all of its predictions."""
        return any(measured.collapsed is not None for measured in self.networks)

    @cached_property
    def bounded_host(self) -> Program:
        """The host as solvers get it: with the ranges of the networks as bounds of linked outputs that have no end of their own."""
        if self.linked.size == 0:
            return self.host
        bounded = bound_predictions(self.program, self.embeddings, self.kept[self.linked])
        lb, ub = self.host.lb.copy(), self.host.ub.copy()
        lb[self.linked], ub[self.linked] = bounded.lb[self.kept[self.linked]], bounded.ub[self.kept[self.linked]]
        return derive(self.host, lb=lb, ub=ub)

    @cached_property
    def open_host(self) -> Program:
        """The host as solvers get it, with a free row for each restriction behind its own."""
        free = np.full(self.restrictions.num_restrictions, np.inf)
        return add_rows(self.bounded_host, empty_rows(free.size, self.host.num_columns), -free, free)

    @cached_property
    def drawer(self) -> dict[object, Any]:
        """What others have found from the structure alone, by what they have found it for."""
        return {}

    @cached_property
    def part_sums(self) -> Mapping[int, sp.csr_array]:
        """For each network, by its number: adds its parts to their measurements, shape (s + 1, p)."""
        size = self.restrictions.num_restrictions + 1
        return {m.number: adder(m.parts.measurement, np.ones(m.parts.num_parts), size) for m in self.networks}

    @cached_property
    def slope_pattern(self) -> Pattern:
        """Where the gradients of the networks have entries in the measurements."""
        return slope_pattern(self.networks, (self.restrictions.num_restrictions + 1, self.host.num_columns))

    def gradients(self, slope: sp.csr_array) -> sp.csr_array:
        """Gradients of all restrictions, shape (s, n), given those of the networks in all measurements (s + 1, n)."""
        of_networks = rows_from(slope, 1)
        if slope.indices is not self.slope_pattern.indices:
            return add(self.restrictions.linear, of_networks)
        return self._gradient_sum.add(self.restrictions.linear.data, of_networks.data)

    @cached_property
    def _gradient_sum(self) -> Sum:
        pattern = self.slope_pattern
        slope = compressed(np.zeros(pattern.indices.size), pattern.indices, pattern.indptr, pattern.shape)
        return plan_sum(self.restrictions.linear, rows_from(slope, 1))

    def bent(self, curvature: sp.csr_array) -> sp.csr_array:
        """The quadratic objective of the host and the curvature of the networks, shape (n, n)."""
        if self.host.quadratic is None:
            return curvature
        if curvature.indices is not self.curvature_pattern.indices:
            return sp.csr_array(self.host.quadratic + curvature)
        return self._bent_sum.add(self.host.quadratic.data, curvature.data)

    @cached_property
    def _bent_sum(self) -> Sum:
        pattern = self.curvature_pattern
        return plan_sum(
            sp.csr_array(self.host.quadratic), compressed(np.zeros(pattern.indices.size), pattern.indices, pattern.indptr, pattern.shape)
        )

    @cached_property
    def curved(self) -> tuple[MeasuredNetwork, ...]:
        """Networks that are not piecewise linear."""
        return tuple(measured for measured in self.networks if not measured.network.is_piecewise_linear)

    @cached_property
    def curvature_pattern(self) -> Pattern:
        """Where the Hessian of the curved networks has entries."""
        return curvature_pattern(self.curved, self.host.num_columns)

    @cached_property
    def num_curvature_terms(self) -> int:
        """What the Hessian of the curved networks is added up from."""
        return sum(map(num_pairs, self.curved))

    @cached_property
    def all_rows(self) -> sp.csr_array:
        """The linear parts of all restrictions above the rows of the host."""
        return above(self.restrictions.linear, self.host.rows)

    @cached_property
    def row_uses(self) -> Array:
        """How many of all rows each column is in, shape (n,)."""
        return np.bincount(self.all_rows.indices, minlength=self.host.num_columns)

    @cached_property
    def movable(self) -> Array:
        """Restrictions that may hold or not for the same network inputs: mask of shape (s,)."""
        free = np.ones(self.host.num_columns)
        free[self.input_columns] = 0.0
        # A completion puts the true predictions there.
        free[self.linked] = 1.0
        uses: Array = abs(self.restrictions.linear) @ free
        return (uses > 0) | (self.restrictions.indicator >= 0)

    def lower(self, w: Array) -> Array:
        """The kept columns of a point of the user's program."""
        return w[self.kept]

    def predict(self, kept: Array) -> list[Array]:
        """The predictions of each of `networks` at the kept columns, shapes (k, n_out): the one forward pass of a point."""
        return [measured.predict(kept) for measured in self.networks]

    def lift(self, kept: Array, predictions: Sequence[Array] | None = None) -> Array:
        """The point of the user's program with the eliminated outputs, and what they define, at their predictions."""
        w = np.zeros(self.program.num_columns)
        w[self.kept] = kept
        values = self.predict(kept) if predictions is None else predictions
        # Eliminated outputs feed no network, so the order is free; where two networks define a column, the first one counts.
        for places in reversed(self._eliminated):
            if places.unused.size:
                embedding = self.embeddings[places.number]
                inputs = embedding.points(w, places.unused)
                w[places.unused_columns] = evaluate(embedding.network, inputs)[places.unused_gone]
            if places.measured is not None:
                w[places.columns] = values[places.measured][places.gone]
        return self.definitions.apply(w)

    @cached_property
    def _eliminated(self) -> list[_Eliminated]:
        return [_find_eliminated(self, number) for number in range(len(self.embeddings))]


@dataclass(frozen=True, eq=False)
class _Eliminated:
    """Where the eliminated outputs of one embedding go.

    Parameters
    ----------
    number
        Which embedding.
    measured
        Which of the measured networks it is, None if nothing uses its predictions.
    gone, columns
        Mask over the predictions of its blocks (k, n_out), and the columns of those.
    unused, unused_gone, unused_columns
        Evaluations that nothing uses, the mask over their predictions, and the columns of those.
    """

    number: int
    measured: int | None
    gone: Array
    columns: Array
    unused: Array
    unused_gone: Array
    unused_columns: Array


def _find_eliminated(embedded: EmbeddedProgram, number: int) -> _Eliminated:
    outputs = embedded.embeddings[number].outputs
    is_gone = np.ones(embedded.program.num_columns, dtype=bool)
    is_gone[embedded.kept] = False
    gone = is_gone[outputs]
    position = next((index for index, measured in enumerate(embedded.networks) if measured.number == number), None)
    used = embedded.networks[position].evaluations if position is not None else np.zeros(0, dtype=np.int64)
    is_unused = np.any(gone, axis=1)
    is_unused[used] = False
    unused = np.flatnonzero(is_unused)
    return _Eliminated(number, position, gone[used], outputs[used][gone[used]], unused, gone[unused], outputs[unused][gone[unused]])
