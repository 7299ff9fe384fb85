"""Where a start is to begin, what it comes from, and where it may go."""

from __future__ import annotations

from dataclasses import dataclass

from dcembed.arrays import Array
from dcembed.program.tightening import Box


@dataclass(frozen=True, eq=False)
class Suggestion:
    """A start that has not been made: plain data.

    Parameters
    ----------
    w
        Where it begins, by its kept columns.
    origin
        What it comes from: "given", "host", "scout", "columns", or the name of a move.
    box
        Bounds of the columns inside which it stays, most integers being held by them; None where all are free.
    is_on_foot
        Whether tangents alone are to look whether the place is worth more.
    missed
        The kinds of starts that were asked before, and had nothing to suggest.
    """

    w: Array
    origin: str
    box: Box | None = None
    is_on_foot: bool = False
    missed: tuple[str, ...] = ()
