"""One instance of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcembed import Embedding, Program


@dataclass(frozen=True, eq=False)
class Instance:
    """What every method gets: the problem and where to start.

    Parameters
    ----------
    name
        What a person calls it.
    program, embeddings
        The problem.
    starts
        Points that every method gets, all known at second zero.
    initial
        The point whose objective is J_0 of the normalized primal integral; the first start where nothing is said.
    """

    name: str
    program: Program
    embeddings: tuple[Embedding, ...]
    starts: Sequence[np.ndarray]
    initial: np.ndarray | None = None
