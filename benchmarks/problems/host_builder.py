"""A host that is written column by column and row by row."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dcembed import Program


@dataclass
class HostBuilder:
    """Columns and rows in the order in which they were added."""

    lb: list[float] = field(default_factory=list)
    ub: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    rows: list[tuple[np.ndarray, np.ndarray, float, float]] = field(default_factory=list)

    def columns(self, *shape: int, lb: float = 0.0, ub: float = 1.0, integer: bool = False, cost: ArrayLike = 0.0) -> np.ndarray:
        """Numbers of new columns, in the shape asked for; one number without a shape."""
        size = int(np.prod(shape))
        numbers = len(self.lb) + np.arange(size).reshape(shape)
        self.lb += [lb] * size
        self.ub += [ub] * size
        self.cost += np.broadcast_to(np.asarray(cost, dtype=np.float64), shape).reshape(-1).tolist()
        self.integer += [integer] * size
        return numbers

    def row(self, *terms: tuple[ArrayLike, ArrayLike], lb: float = -np.inf, ub: float = np.inf) -> None:
        """lb <= the sum of coefficients @ columns over the terms (coefficients, columns) <= ub."""
        columns = [np.asarray(column).reshape(-1) for _, column in terms]
        values = [np.broadcast_to(np.asarray(value, dtype=np.float64), np.shape(column)).reshape(-1) for value, column in terms]
        self.rows.append((np.concatenate(columns), np.concatenate(values), lb, ub))

    def build(self) -> Program:
        """The program."""
        matrix = sp.csr_array(
            (
                np.concatenate([values for _, values, _, _ in self.rows]),
                (np.repeat(np.arange(len(self.rows)), [row[0].size for row in self.rows]), np.concatenate([row[0] for row in self.rows])),
            ),
            shape=(len(self.rows), len(self.lb)),
        )
        return Program(
            cost=np.array(self.cost),
            rows=matrix,
            row_lb=np.array([low for _, _, low, _ in self.rows]),
            row_ub=np.array([high for _, _, _, high in self.rows]),
            lb=np.array(self.lb),
            ub=np.array(self.ub),
            integer=np.flatnonzero(self.integer),
        )
