"""What one run of a solver comes to, whichever it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class SolverRun:
    """How it ended.

    Parameters
    ----------
    status
        The solver's own word.
    points
        (seconds, values of the columns that were asked for) of each new best point.
    seconds
        How long it took.
    bound
        What the solver says that no feasible point is below; None if it has none.
    num_columns, num_rows
        The size of the model, as the solver has read it.
    """

    status: str
    points: list[tuple[float, np.ndarray]]
    seconds: float
    bound: float | None
    num_columns: int
    num_rows: int
