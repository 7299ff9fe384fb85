"""One instance of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcembed import Embedding, Program


@dataclass(frozen=True, eq=False)
class Instance:
    """What every method gets: the problem and where to start."""

    name: str
    program: Program
    embeddings: tuple[Embedding, ...]
    starts: Sequence[np.ndarray]
