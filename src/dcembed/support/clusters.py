"""Several clouds: a union of ellipsoids or boxes, with one binary each, of which one is chosen.

    boxes        sum_c b_c lb_c <= z <= sum_c b_c ub_c
    ellipsoids   |W_c (z - m_c)| <= r_c + M_c (1 - b_c)   for each c

M_c is how much longer than r_c that length can be in any of the other ellipsoids, so nothing is cut off. Copies of z for each cluster would do without it, but
need cones that shrink to a point where their binary is 0, which solvers keep to the root of their tolerance only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.support.box import Box, fit_box
from dcembed.support.ellipsoid import Ellipsoid, fit_ellipsoid
from dcembed.support.piece import Piece, build_piece, softened

# A point that is outside of all clusters is no further from any than this, in the units of the others: the binaries need a limit.
FARTHEST = 1e3
# Times that clusters are looked for, from other centers; the tightest is taken.
TRIES = 5


@dataclass(frozen=True, eq=False)
class Clusters:
    """z is in one of the parts, all boxes or all ellipsoids. How far outside is what the nearest of them says."""

    parts: tuple[Box, ...] | tuple[Ellipsoid, ...]

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"union of {len(self.parts)} clusters of the data ({'boxes' if isinstance(self.parts[0], Box) else 'ellipsoids'})"

    def excess(self, z: Array) -> Array:
        """Shape (k,)."""
        least: Array = np.min([part.excess(z) for part in self.parts], axis=0)
        return least

    def piece(self, names: tuple[str, ...], is_soft: bool) -> Piece:
        """A binary for each cluster, one of which is chosen; what it chooses as rows or cones."""
        c, chosen = len(self.parts), [(f"cluster {i}", 0.0, 1.0) for i in range(len(self.parts))]
        one = np.ones((1, c))
        if not isinstance(self.parts[0], Ellipsoid):
            hard = self._boxes(names, chosen, one)
        else:
            blocks = [np.vstack([np.zeros((1, len(names))), part.whitening]) for part in self._ellipsoids]
            reach = self._reach(is_soft)
            heads = [np.vstack([-reach[i] * np.eye(c)[i], np.zeros((len(names), c))]) for i in range(c)]
            offset = [np.append(part.radius + reach[i], -part.whitening @ part.center) for i, part in enumerate(self._ellipsoids)]
            hard = build_piece(
                len(names),
                columns=chosen,
                rows=np.zeros((1, len(names))),
                own_rows=one,
                row_lb=np.ones(1),
                row_ub=np.ones(1),
                row_names=["one cluster"],
                cones=np.vstack(blocks),
                own_cones=np.vstack(heads),
                cone_offset=np.concatenate(offset),
                cone_sizes=[len(names) + 1] * c,
                integer=range(c),
            )
        return softened(hard) if is_soft else hard

    def complete(self, z: Array, is_soft: bool) -> Array:
        """The nearest cluster, and the distance from it where it is soft."""
        distance = np.array([part.excess(z) for part in self.parts]).T
        chosen = np.eye(len(self.parts))[distance.argmin(axis=1)]
        return np.column_stack([chosen, distance.min(axis=1)]) if is_soft else chosen

    @property
    def _ellipsoids(self) -> list[Ellipsoid]:
        return [part for part in self.parts if isinstance(part, Ellipsoid)]

    def _boxes(self, names: tuple[str, ...], chosen: Sequence[tuple[str, float, float]], one: Array) -> Piece:
        boxes, d = [part for part in self.parts if isinstance(part, Box)], len(names)
        low, high = (np.column_stack([getattr(box, side) for box in boxes]) for side in ("lb", "ub"))
        return build_piece(
            d,
            columns=chosen,
            rows=np.vstack([np.eye(d), np.eye(d), np.zeros((1, d))]),
            own_rows=np.vstack([-low, -high, one]),
            row_lb=np.concatenate([np.zeros(d), np.full(d, -np.inf), [1.0]]),
            row_ub=np.concatenate([np.full(d, np.inf), np.zeros(d), [1.0]]),
            row_names=[
                *(f"range of {name} in its cluster" for name in names),
                *(f"range of {name} in its cluster" for name in names),
                "one cluster",
            ],
            integer=range(len(boxes)),
        )

    def _reach(self, is_soft: bool) -> list[float]:
        """M_c: by how much a point of another ellipsoid, or one that is outside of all, can exceed the radius of each."""
        parts = self._ellipsoids
        inverse = [np.linalg.inv(part.whitening) for part in parts]
        longest = [
            max(
                float(np.linalg.norm(one.whitening @ (other.center - one.center)) + other.radius * np.linalg.norm(one.whitening @ turn, 2))
                for other, turn in zip(parts, inverse, strict=True)
            )
            for one in parts
        ]
        return [max(length - part.radius, 0.0) + (FARTHEST if is_soft else 0.0) for length, part in zip(longest, parts, strict=True)]


def fit_clusters(z: Array, number: int, is_boxes: bool, coverage: float, seed: int) -> Clusters:
    """So many clusters of points (N, d), each with an ellipsoid or a box in which at least this share of its points is."""
    groups = [z[place] for place in _assign(z, number, seed)]
    if is_boxes:
        return Clusters(tuple(fit_box(group, coverage) for group in groups))
    return Clusters(tuple(fit_ellipsoid(group, coverage) for group in groups))


def _assign(z: Array, number: int, seed: int) -> list[Array]:
    """The points of each cluster, by the best of some runs of k-means; clusters without points are not there."""
    from scipy.cluster.vq import kmeans2

    best, least = np.zeros(len(z), dtype=np.int64), np.inf
    for attempt in range(TRIES if number > 1 else 0):
        centers, label = kmeans2(z, number, minit="++", seed=seed + attempt, missing="warn")
        total = float(((z - centers[label]) ** 2).sum())
        if total < least:
            best, least = label, total
    return [place for i in range(number) if (place := np.flatnonzero(best == i)).size]
