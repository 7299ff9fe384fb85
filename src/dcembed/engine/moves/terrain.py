"""What moves know of a problem beside the points: how its columns may be drawn, and which belong together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcembed.arrays import Array
from dcembed.engine.moves.chains import Chains
from dcembed.engine.moves.companies import Companies, find_companies
from dcembed.engine.problem import Problem
from dcembed.engine.scouting.scoring import Open, find_open
from dcembed.run.space import Space
from dcembed.solvers.base import Limits

# Integers of the smallest and of the largest neighbourhood: a solver finds little in larger ones.
FEWEST, MOST = 4, 200


@dataclass(frozen=True, eq=False)
class Terrain:
    """A problem as moves see it.

    Parameters
    ----------
    problem, space
        The problem, and how points of its host are drawn.
    limits
        The time that is left, for those moves that ask a solver; what it does is limited by nodes besides.
    """

    problem: Problem
    space: Space
    limits: Callable[[], Limits]

    @cached_property
    def integers(self) -> Array:
        """Numbers of the integer columns that have several values."""
        box = self.problem.box
        return np.flatnonzero(self.problem.embedded.integer & (box.ub > box.lb))

    @cached_property
    def inputs(self) -> Array:
        """Numbers of the continuous columns that network inputs depend on, and that can move."""
        embedded, box = self.problem.embedded, self.problem.box
        columns = embedded.input_columns
        return columns[~embedded.integer[columns] & (box.ub[columns] > box.lb[columns])]

    def num_open(self, size: float) -> int:
        """How many integers a neighbourhood has that is to have such a share of them."""
        return int(np.clip(size * self.integers.size, FEWEST, MOST))

    @cached_property
    def companies(self) -> Companies:
        """Which columns rows, evaluations and indicators bring together."""
        return find_companies(self.problem.embedded)

    @cached_property
    def chains(self) -> Chains:
        """Changes of integers that keep the rows."""
        return Chains(self.space, self.problem.options.feasibility_tol)

    @cached_property
    def open(self) -> Open:
        """What points leave open."""
        return find_open(self.space)

    @property
    def has_tangents(self) -> bool:
        """Whether a start with its integers held gets anywhere."""
        return self.problem.has_tangents
