"""How much there is in a value of the code of TorchScript: lists that stand in each other again and again make a few lines endless."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dcembed.errors import NetworkError

# Values in each other, and characters, that one step may look at.
MOST_VALUES = 1_000_000


def count_values(values: Sequence[Any]) -> int:
    """How many values and characters are in these; NetworkError if there are more than are accepted.

    Examples
    --------
    >>> count_values([[1, 2], ("abc", {"x": 3})])
    12
    """
    waiting, count = list(values), 0
    while waiting:
        value = waiting.pop()
        count += 1 + (len(value) if isinstance(value, str | range) else 0)
        inside = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        if count + len(waiting) + len(inside) > MOST_VALUES:
            raise NetworkError(
                f"The code of the TorchScript model makes lists or texts of more than {MOST_VALUES:,} values. Is the file damaged?"
            )
        waiting += inside
    return count
