"""Planes of many boxes in parts, by whoever is there.

How boxes are cut into parts depends on the network alone, so that bounds do not depend on who does which part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dcembed.arrays import Array
from dcembed.bounds.input_boxes import Boxes, with_planes
from dcembed.bounds.pieces import Piece
from dcembed.crew.crew import Crew
from dcembed.crew.parts import share_out
from dcembed.crew.task import Shared
from dcembed.crew.watch import Timer, Watch
from dcembed.network.network import Network
from dcembed.network.planes import Planes, lower_planes
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

    def build(self, piece: Piece, low: Array, high: Array, tilt: Array | None = None) -> Boxes:
        """Boxes of the inputs of a piece, shapes (L, n_in), with their planes, which are lifted where a tilt (L, k + r, n_in) is given."""
        self.check()
        shared = self._shared.setdefault(piece.network, Shared(piece.network))
        together, rows = np.concatenate([piece.weights, piece.own.weights]), count_rows(piece.network)
        slices = [slice(first, first + rows) for first in range(0, low.shape[0], rows)]
        parts = [(together, low[part], high[part], None if tilt is None else tilt[part]) for part in slices]
        found = (
            share_out(self.crew, planes_of_part, shared, parts, self.timer)
            if len(parts) > 1
            else [_planes(piece.network, self.check, *parts[0])]
        )
        slope, constant = (np.concatenate([getattr(planes, name) for planes in found]) for name in ("slope", "constant"))
        return with_planes(piece, low, high, Planes(slope, constant))


def planes_of_part(network: Network, watch: Watch, weights: Array, low: Array, high: Array, tilt: Array | None) -> Planes:
    """The planes below the same functions (q, num_outputs) in some boxes."""

    def check() -> None:
        if watch.is_over():
            raise RunEnded(Status.TIME_LIMIT)

    return _planes(network, check, weights, low, high, tilt)


def _planes(network: Network, check: Callable[[], None], weights: Array, low: Array, high: Array, tilt: Array | None) -> Planes:
    of_boxes = np.broadcast_to(weights, (low.shape[0], *weights.shape))
    return lower_planes(network, of_boxes, low, high, steps=0 if tilt is None else STEPS, check=check, tilt=tilt)


def count_rows(network: Network) -> int:
    """Boxes of a part."""
    cost = sum(int(block.size) for layer in (*network.stages, network.output) for block in layer.weights.values())
    return int(np.ceil(PART_COST / (BOX_COST + cost)))
