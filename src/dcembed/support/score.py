"""A network of the user's own that says how usual inputs are: a one-class or density model with a threshold, a neural row like any other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.network.network import Network
from dcembed.support.piece import Piece, build_piece


@dataclass(frozen=True, eq=False)
class Score:
    """network(x) >= threshold, for inputs x as they are. How far outside is what the score lacks."""

    network: Network
    threshold: float

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"score network (at least {self.threshold:.4g})"

    def excess(self, x: Array) -> Array:
        """Shape (k,)."""
        return np.maximum(self.threshold - self.network(x)[:, 0], 0.0)

    def piece(self, names: tuple[str, ...], is_soft: bool) -> Piece:
        """The score as a prediction, and a row for the threshold."""
        d = self.network.num_inputs
        columns = [("score", -np.inf, np.inf), *([("distance", 0.0, np.inf)] if is_soft else [])]
        return build_piece(
            d,
            columns=columns,
            rows=np.zeros((1, d)),
            own_rows=np.ones((1, len(columns))),
            row_lb=np.array([self.threshold]),
            row_names=["score"],
            slack=1 if is_soft else (),
            network=self.network,
            prediction=0,
        )

    def complete(self, x: Array, is_soft: bool) -> Array:
        """The score, and what it lacks where the region is soft."""
        return np.column_stack([self.network(x)[:, 0], *([self.excess(x)] if is_soft else [])])
