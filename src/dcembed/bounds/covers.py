"""Covers of pieces by what they cover, so that pieces of one kind share one, and proofs of one problem after the other do.

A cover is about the network, the box of its inputs and the restrictions that are the piece's own, and about no price: where another proof
has the same piece it goes on with the boxes that were halved before.
"""

from __future__ import annotations

from dcembed.bounds.box_parts import Builder
from dcembed.bounds.cover import Cover
from dcembed.bounds.pieces import Piece

# By which a cover is known: whether the restrictions count, and the key of the piece.
Key = tuple[object, ...]


class Covers:
    """The covers of a run, and those of the last one that had any, where it is given to one run after the other."""

    def __init__(self) -> None:
        self._known: dict[Key, Cover] = {}
        self._used: dict[Key, Cover] = {}
        self.num_taken = 0

    def find(self, piece: Piece, is_restricted: bool, builder: Builder) -> Cover:
        """The cover of the set of a piece, or of its inputs alone, as it was left, or a new one; `builder` makes its boxes from now on."""
        key = (is_restricted, *piece.key)
        if (used := self._used.get(key)) is not None:
            used.builder = builder
            return used
        known = self._known.get(key)
        if known is not None:
            known.builder = builder
            self.num_taken += 1
        self._used[key] = Cover(piece, is_restricted, builder) if known is None else known
        return self._used[key]

    @property
    def num_boxes(self) -> int:
        """Boxes that were made for the covers of this run, by this run or before."""
        return sum(cover.num_boxes for cover in self._used.values())

    @property
    def num_made(self) -> int:
        """Covers of this run that were made anew while there were others."""
        return len(self._used) - self.num_taken if self._known else 0

    def next_run(self) -> None:
        """What the last run has used is known; what it has not used is forgotten, unless it had no use for any."""
        self._known = self._used or self._known
        self._used, self.num_taken = {}, 0
