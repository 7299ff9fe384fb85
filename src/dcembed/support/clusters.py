"""Several clouds: a union of ellipsoids or boxes, with one binary each.

For every cluster c a copy z_c of the inputs, which is 0 unless the binary b_c is 1:

    z = sum_c z_c,   sum_c b_c = 1,   |W_c (z_c - m_c b_c)| <= r_c b_c     (or  lb_c b_c <= z_c <= ub_c b_c  for boxes)

Without integrality this is the convex hull of the union: nothing of the kind needs a large constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.support.box import Box, fit_box
from dcembed.support.ellipsoid import Ellipsoid, fit_ellipsoid
from dcembed.support.piece import Piece, build_piece

# A soft region reaches as far as this, in the units of its clusters: the binaries need a limit.
FARTHEST = 1e4
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
        """A binary and a copy of the inputs for each cluster; where it is soft, a distance for each, and their sum."""
        d, c = len(names), len(self.parts)
        copies = [(f"{name} in cluster {i}", -np.inf, np.inf) for i in range(c) for name in names]
        columns = [*copies, *((f"cluster {i}", 0.0, 1.0) for i in range(c))]
        columns += [(f"distance from cluster {i}", 0.0, FARTHEST) for i in range(c)] if is_soft else []
        columns += [("distance", 0.0, np.inf)] if is_soft else []
        rows = _Rows(d, len(columns), c)
        rows.add(np.eye(d), {**{i: -np.eye(d) for i in range(c)}}, 0.0, 0.0, [f"clusters of {name}" for name in names])
        rows.add(None, {("b", i): np.ones((1, 1)) for i in range(c)}, 1.0, 1.0, ["one cluster"])
        if is_soft:
            for i in range(c):
                rows.add(
                    None, {("s", i): np.ones((1, 1)), ("b", i): np.full((1, 1), -FARTHEST)}, -np.inf, 0.0, [f"distance of cluster {i}"]
                )
            total: dict[object, Array] = {("s", i): -np.ones((1, 1)) for i in range(c)}
            rows.add(None, {**total, "total": np.ones((1, 1))}, 0.0, np.inf, ["distance from the nearest cluster"])
        cones, offset, sizes = sp.csr_array((0, len(columns))), np.zeros(0), list[int]()
        if isinstance(self.parts[0], Box):
            self._bound(rows, names, is_soft)
        else:
            cones, offset, sizes = self._cones(rows, is_soft)
        return build_piece(
            d,
            columns=columns,
            rows=rows.of_inputs(),
            own_rows=rows.of_columns(),
            row_lb=np.concatenate(rows.lb),
            row_ub=np.concatenate(rows.ub),
            row_names=rows.names,
            cones=sp.csr_array((len(offset), d)),
            own_cones=cones,
            cone_offset=offset,
            cone_sizes=sizes,
            integer=range(c * d, c * d + c),
            slack=len(columns) - 1 if is_soft else (),
        )

    def complete(self, z: Array, is_soft: bool) -> Array:
        """The inputs in the nearest cluster, and nothing in the others."""
        k, d = z.shape
        distance = np.array([part.excess(z) for part in self.parts]).T
        nearest, each = distance.argmin(axis=1), np.arange(k)
        copies, chosen, slack = np.zeros((k, len(self.parts), d)), np.zeros((k, len(self.parts))), np.zeros((k, len(self.parts)))
        copies[each, nearest], chosen[each, nearest], slack[each, nearest] = z, 1.0, distance[each, nearest]
        found = [copies.reshape(k, -1), chosen]
        return np.hstack([*found, slack, slack.sum(axis=1, keepdims=True)] if is_soft else found)

    def _bound(self, rows: _Rows, names: tuple[str, ...], is_soft: bool) -> None:
        d = len(names)
        for i, part in enumerate(self.parts):
            assert isinstance(part, Box)
            labels = [f"range of {name} in cluster {i}" for name in names]
            slack: dict[object, Array] = {("s", i): np.ones((d, 1))} if is_soft else {}
            rows.add(None, {i: np.eye(d), ("b", i): -part.lb[:, None], **slack}, 0.0, np.inf, labels)
            less = {key: -block for key, block in slack.items()}
            rows.add(None, {i: np.eye(d), ("b", i): -part.ub[:, None], **less}, -np.inf, 0.0, labels)

    def _cones(self, rows: _Rows, is_soft: bool) -> tuple[sp.csr_array, Array, list[int]]:
        blocks = []
        for i, part in enumerate(self.parts):
            assert isinstance(part, Ellipsoid)
            head: dict[object, Array] = {("b", i): np.full((1, 1), part.radius)}
            head |= {("s", i): np.ones((1, 1))} if is_soft else {}
            blocks.append(rows.block(head, 1))
            blocks.append(rows.block({i: part.whitening, ("b", i): -(part.whitening @ part.center)[:, None]}, part.center.size))
        cones = sp.csr_array(sp.vstack(blocks))
        return cones, np.zeros(cones.shape[0]), [part.center.size + 1 for part in self.parts if isinstance(part, Ellipsoid)]


class _Rows:
    """Rows over inputs and columns, by the names of groups of columns: i for copy i, ("b", i) for its binary, ("s", i) for its slack."""

    def __init__(self, d: int, width: int, num_parts: int) -> None:
        self.d, self.width, self.c = d, width, num_parts
        self._inputs: list[sp.csr_array] = []
        self._columns: list[sp.csr_array] = []
        self.lb: list[Array] = []
        self.ub: list[Array] = []
        self.names: list[str] = []

    def add(self, inputs: Array | None, groups: dict[object, Array], lb: float, ub: float, names: Sequence[str]) -> None:
        """So many rows as there are names."""
        m = len(names)
        self._inputs.append(sp.csr_array((m, self.d)) if inputs is None else sp.csr_array(inputs))
        self._columns.append(self.block(groups, m))
        self.lb.append(np.full(m, lb))
        self.ub.append(np.full(m, ub))
        self.names += names

    def block(self, groups: dict[object, Array], num_rows: int) -> sp.csr_array:
        """Blocks of groups in rows of all columns."""
        found = sp.lil_array((num_rows, self.width))
        for group, block in groups.items():
            first = self._first(group)
            found[:, first : first + block.shape[1]] = block
        return sp.csr_array(found)

    def of_inputs(self) -> sp.csr_array:
        return sp.csr_array(sp.vstack(self._inputs))

    def of_columns(self) -> sp.csr_array:
        return sp.csr_array(sp.vstack(self._columns))

    def _first(self, group: object) -> int:
        if isinstance(group, int):
            return group * self.d
        if group == "total":
            return self.width - 1
        assert isinstance(group, tuple)
        return self.c * self.d + int(group[1]) + (0 if group[0] == "b" else self.c)


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
