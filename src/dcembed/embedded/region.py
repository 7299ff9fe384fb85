"""What an embedding needs of a region that its inputs belong into. The room `support` makes such regions from data."""

from __future__ import annotations

from typing import Protocol, Self

from dcembed.arrays import Array


class Region(Protocol):
    """A set of inputs, with a measure of how far outside of it a point is."""

    @property
    def num_inputs(self) -> int:
        """Length of a point."""

    @property
    def weight(self) -> float | None:
        """What a unit outside costs; None where inputs must be inside, 0 where nothing is asked of them."""

    @property
    def label(self) -> str:
        """What messages call it, such as "hull of 40 points"."""

    def excess(self, points: Array) -> Array:
        """How far outside points (k, n_in) are, in scaled units, shape (k,); 0 inside."""

    def for_names(self, names: tuple[str, ...], /) -> Self:
        """The same for inputs in the order of these names; InputError where they are not those of the region."""
