"""What every shape of a region can do. A new kind of region is a class with these three methods."""

from __future__ import annotations

from typing import Protocol

from dcembed.arrays import Array
from dcembed.support.piece import Piece


class Shape(Protocol):
    """A set of scaled inputs z."""

    @property
    def label(self) -> str:
        """What messages call it."""

    def excess(self, z: Array) -> Array:
        """How far outside points (k, d) are, shape (k,); 0 inside."""

    def piece(self, names: tuple[str, ...], is_soft: bool) -> Piece:
        """Rows and cones that say that z is inside, or, soft, that it is no further outside than a column says."""

    def complete(self, z: Array, is_soft: bool) -> Array:
        """The values of the columns of its piece at points (k, d), shape (k, p); the distance from the region comes last where it is soft."""
