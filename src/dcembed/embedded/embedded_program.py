"""The embedded problem of the paper (problem 2): a host, one-sided neural rows, and measured networks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from dcembed.embedded.definitions import Definitions
from dcembed.embedded.embedding import Embedding
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.network.network import evaluate
from dcembed.program.program import Program

Array = np.ndarray


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
        return self.rhs.size

    @property
    def num_slacks(self) -> int:
        return int(self.slack.max()) + 1 if self.slack.size else 0


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
        The program over the kept columns with every row, bound and indicator that has no prediction in it.
    restrictions
        The neural rows.
    networks
        The networks with their terms in objective and restrictions.
    linked
        Columns of `host` that are outputs tied by an equality.
    definitions
        Columns of `program` that its rows define by eliminated outputs; they are not in `host` either.
    """

    program: Program
    embeddings: tuple[Embedding, ...]
    kept: Array
    host: Program
    restrictions: Restrictions
    networks: tuple[MeasuredNetwork, ...]
    linked: Array
    definitions: Definitions

    @cached_property
    def input_columns(self) -> Array:
        """Columns of `host` that some network input depends on."""
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(m.maps.indices for m in self.networks)]))

    def lower(self, w: Array) -> Array:
        """The kept columns of a point of the user's program."""
        return w[self.kept]

    def lift(self, kept: Array) -> Array:
        """The point of the user's program with the eliminated outputs, and what they define, at their predictions."""
        w = np.zeros(self.program.num_columns)
        w[self.kept] = kept
        # Eliminated outputs feed no network, so the order is free; where two networks define a column, the first one counts.
        for embedding in reversed(self.embeddings):
            gone = ~np.isin(embedding.outputs, self.kept)
            if gone.any():
                w[embedding.outputs[gone]] = evaluate(embedding.network, embedding.points(w))[gone]
        return self.definitions.apply(w)
