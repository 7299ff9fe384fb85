"""What belongs together: sections and rows of the page, with the names of each framework.

A handler that is new is given its place here; the page cannot be written, and the tests fail, before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

FRAMEWORKS = {"torch": "PyTorch", "onnx": "ONNX", "keras": "Keras", "sklearn": "scikit-learn", "weights": "files of weights"}


@dataclass(frozen=True)
class Row:
    """Layers and functions that do the same, by the names that frameworks give them, with spaces between.

    Parameters
    ----------
    title
        What they do.
    note
        What is accepted of it, where that is not all.
    """

    title: str
    torch: str = ""
    onnx: str = ""
    keras: str = ""
    sklearn: str = ""
    weights: str = ""
    note: str = ""

    def names(self, framework: str) -> list[str]:
        """Those of one framework."""
        return str(getattr(self, framework)).split()


@dataclass(frozen=True)
class Section:
    """Rows under one heading."""

    heading: str
    rows: tuple[Row, ...]
    words: str = ""


def check_places(sections: tuple[Section, ...], known: Mapping[str, set[str]]) -> None:
    """LookupError naming handlers that have no place in a row, names in rows that have no handler, and names that are there twice."""
    problems = []
    for framework, names in known.items():
        placed = [name for section in sections for row in section.rows for name in row.names(framework)]
        problems += [f"{framework}: {name} has a handler and no row" for name in sorted(names - set(placed))]
        problems += [f"{framework}: {name} has a row and no handler" for name in sorted(set(placed) - names)]
        problems += [f"{framework}: {name} is in two rows" for name in sorted({name for name in placed if placed.count(name) > 1})]
    if problems:
        listed = "\n  ".join(problems)
        raise LookupError(f"The rows of docs/what_goes_in/ (activations.py, layers.py, estimators.py) do not fit the handlers:\n  {listed}")
