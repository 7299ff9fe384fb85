"""Planes of many boxes in parts, by whoever is there.

How boxes are cut into parts depends on the network alone, so that bounds do not depend on who does which part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.input_boxes import Boxes, with_planes
from dcembed.bounds.lagrangian import Aim
from dcembed.bounds.pieces import Piece
from dcembed.crew.crew import Crew
from dcembed.crew.parts import share_out
from dcembed.crew.task import Shared
from dcembed.crew.watch import Timer, Watch
from dcembed.network.network import Network
from dcembed.network.planes import Planes, planes_within
from dcembed.network.safe_bounds import bound_safely
from dcembed.run.clock import RunEnded
from dcembed.status import Status

# Multiplications of a part, about a tenth of a second; a box costs so many however small its network is.
PART_COST, BOX_COST = 1e7, 2000
# Steps in which planes are lifted: on boxes as they come three bring nearly all that ten do.
STEPS = 3


@dataclass(frozen=True, eq=False)
class Builder:
    """Makes boxes.

    Parameters
    ----------
    crew, timer
        Who does it, and the clock of the run.
    check
        Raises where the run must end.
    """

    crew: Crew
    timer: Timer
    check: Callable[[], None]
    _shared: dict[Network, Shared] = field(default_factory=dict)

    def build(self, piece: Piece, low: Array, high: Array, aim: Aim | None = None) -> Boxes:
        """Boxes of the inputs of a piece, shapes (L, n_in), with their planes; those that count are lifted where an aim is given."""
        self.check()
        shared = self._shared.setdefault(piece.network, Shared(piece.network))
        rows, count = Directions.of(piece, aim), count_rows(piece.network)
        slices = [slice(first, first + count) for first in range(0, low.shape[0], count)]
        parts = [(rows, low[part], high[part], None if aim is None else aim.tilt[part][:, rows.lifted]) for part in slices]
        found = (
            share_out(self.crew, planes_of_part, shared, parts, self.timer)
            if len(parts) > 1
            else [_planes(piece.network, self.check, *parts[0])]
        )
        slope, constant = (np.concatenate([getattr(planes, name) for planes in found]) for name in ("slope", "constant"))
        return with_planes(piece, low, high, Planes(slope, constant))


@dataclass(frozen=True, eq=False)
class Directions:
    """What planes are made of on every box: weights (m, num_outputs), without repetitions, which of them each plane has, and which planes are lifted."""

    weights: Array
    each: Array
    lifted: Array

    @staticmethod
    def of(piece: Piece, aim: Aim | None) -> Directions:
        """Those of a piece, whose restrictions are often functions of the problem, too."""
        weights, each = np.unique(np.concatenate([piece.weights, piece.own.weights]), axis=0, return_inverse=True)
        lifted = np.zeros(0, dtype=np.int64) if aim is None else np.flatnonzero(aim.counts)
        return Directions(weights, each.reshape(-1), lifted)


def planes_of_part(network: Network, watch: Watch, rows: Directions, low: Array, high: Array, tilt: Array | None) -> Planes:
    """The planes in some boxes."""

    def check() -> None:
        if watch.is_over():
            raise RunEnded(Status.TIME_LIMIT)

    return _planes(network, check, rows, low, high, tilt)


def _planes(network: Network, check: Callable[[], None], rows: Directions, low: Array, high: Array, tilt: Array | None) -> Planes:
    bounds = bound_safely(network, low, high, check=check)
    plain = planes_within(network, _on_all(rows.weights, low), low, high, bounds, check=check)
    slope, constant = plain.slope[:, rows.each], plain.constant[:, rows.each]
    if rows.lifted.size:
        chosen = rows.weights[rows.each[rows.lifted]]
        lifted = planes_within(network, _on_all(chosen, low), low, high, bounds, STEPS, check, tilt)
        slope[:, rows.lifted], constant[:, rows.lifted] = lifted.slope, lifted.constant
    return Planes(slope, constant)


def _on_all(weights: Array, low: Array) -> Array:
    """The same weights on each box."""
    return np.broadcast_to(weights, (low.shape[0], *weights.shape))


def count_rows(network: Network) -> int:
    """Boxes of a part."""
    cost = sum(int(block.size) for layer in (*network.stages, network.output) for block in layer.weights.values())
    return int(np.ceil(PART_COST / (BOX_COST + cost)))
