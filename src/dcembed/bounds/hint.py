"""What a search has learned that makes a proof quicker. None of it has to be right."""

from __future__ import annotations

from dataclasses import dataclass

from dcembed.arrays import Array


@dataclass(frozen=True, eq=False)
class Hint:
    """Prices and points.

    Parameters
    ----------
    prices
        What the rows of the host and then the restrictions are worth, shape (m + s,).
    points
        Points of the host, good in parts of it at these prices, shape (k, n).
    """

    prices: Array
    points: Array
