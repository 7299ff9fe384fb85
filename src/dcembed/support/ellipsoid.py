"""An ellipsoid around the data: Mahalanobis distance with a shrunk covariance, a second-order cone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.support.piece import Piece, build_piece, softened

# A variance below this share of the largest counts as this: data may lie in a plane.
FLAT = 1e-6


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """|whitening (z - center)| <= radius. How far outside is the length beyond the radius, in Mahalanobis units.

    Parameters
    ----------
    center, whitening, radius
        Shape (d,), (d, d) and a number.
    """

    center: Array
    whitening: Array
    radius: float

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"ellipsoid of the data (radius {self.radius:.3g})"

    def excess(self, z: Array) -> Array:
        """Shape (k,)."""
        return np.maximum(self.length(z) - self.radius, 0.0)

    def length(self, z: Array) -> Array:
        """The Mahalanobis distances of points (k, d) from the center, shape (k,)."""
        lengths: Array = np.linalg.norm((z - self.center) @ self.whitening.T, axis=1)
        return lengths

    def piece(self, names: tuple[str, ...], is_soft: bool) -> Piece:
        """One cone."""
        d = self.center.size
        cones = np.vstack([np.zeros((1, d)), self.whitening])
        offset = np.concatenate([[self.radius], -self.whitening @ self.center])
        hard = build_piece(d, cones=cones, cone_offset=offset, cone_sizes=[d + 1])
        return softened(hard) if is_soft else hard

    def complete(self, z: Array, is_soft: bool) -> Array:
        """The slack, if there is one."""
        return self.excess(z)[:, None] if is_soft else np.zeros((len(z), 0))


def fit_ellipsoid(z: Array, coverage: float) -> Ellipsoid:
    """The ellipsoid of points (N, d) in which at least this share of them is."""
    center = z.mean(axis=0)
    values, axes = np.linalg.eigh(shrunk_covariance(z))
    whitening = axes.T / np.sqrt(np.maximum(values, FLAT * max(float(values.max()), FLAT)))[:, None]
    length = np.sort(np.linalg.norm((z - center) @ whitening.T, axis=1))
    inside = min(max(int(np.ceil(coverage * len(z))), 1), len(z))
    return Ellipsoid(center, whitening, max(float(length[inside - 1]), FLAT))


def shrunk_covariance(z: Array) -> Array:
    """The covariance (d, d) of points (N, d), drawn towards a multiple of the identity as far as Ledoit and Wolf (2004) have it.

    Few points in many dimensions have a covariance that is nearly singular, and their ellipsoid would be flat where there is no data to
    say so.

    Examples
    --------
    >>> shrunk_covariance(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    centered = z - z.mean(axis=0)
    n, d = centered.shape
    sample = centered.T @ centered / n
    target = np.trace(sample) / d * np.eye(d)
    spread = float(((sample - target) ** 2).sum())
    # The mean of |x x' - S|^2 over the points, without a matrix for each of them.
    noise = (float(((centered**2).sum(axis=1) ** 2).sum()) / n - float((sample**2).sum())) / n
    share = 0.0 if spread == 0.0 else min(max(noise / spread, 0.0), 1.0)
    shrunk: Array = share * target + (1.0 - share) * sample
    return shrunk
