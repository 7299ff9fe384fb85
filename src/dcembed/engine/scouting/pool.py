"""Points of the host to combine: a few that a solver finds, and what is met on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dcembed.arrays import Array
from dcembed.program.derive import without_objective
from dcembed.run.clock import Clock
from dcembed.run.room import room_for
from dcembed.run.space import Space
from dcembed.run.starts import random_cost
from dcembed.solvers.base import Limits
from dcembed.solvers.failover import LastingSession, Solver

# Corners for one choice of integers, at first and each time more are asked for.
NUM_FIRST_CORNERS = 4
NUM_MORE_CORNERS = 2
# Points of equal integers that are kept, the latest; and how many choices of integers are.
MAX_POINTS = 24
MAX_GROUPS = 16
# A random objective need not be optimal: any point of the host will do. None may take more than this share of the time that is left.
CORNER_GAP = 0.5
CORNER_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Pool:
    """Points of the host in groups (p, n), oldest first; those of a group agree in the integers that rows tie to other columns."""

    groups: tuple[Array, ...] = ()

    def with_point(self, space: Space, w: Array) -> Pool:
        """The pool with one point more."""
        fixed, room = held(space), room_for(w.size, MAX_POINTS * MAX_GROUPS)
        for number, group in enumerate(self.groups):
            if np.array_equal(group[0][fixed], w[fixed]):
                grown = np.vstack([group, w])[-min(MAX_POINTS, room) :]
                return replace(self, groups=_within((*self.groups[:number], grown, *self.groups[number + 1 :]), room))
        return replace(self, groups=_within((*self.groups, w[None])[-MAX_GROUPS:], room))


def _within(groups: tuple[Array, ...], room: int) -> tuple[Array, ...]:
    """The groups without the oldest ones that there is no room for."""
    while len(groups) > 1 and sum(map(len, groups)) > room:
        groups = groups[1:]
    return groups


def held(space: Space) -> Array:
    """Mask of the integers that are the same in all points that are combined."""
    mask: Array = space.host.integer & space.tied
    return mask


class Corners:
    """The host without its objective inside a solver; random objectives find corners of it."""

    def __init__(self, space: Space, solver: Solver) -> None:
        program = without_objective(space.embedded.bounded_host)
        self._space, self._session = space, LastingSession(program, solver)
        self._num_rounds = 0

    def enlarge(self, pool: Pool, rng: np.random.Generator, clock: Clock) -> Pool:
        """The pool with a few corners more; with the same ones where every column is free inside its bounds, or the solver finds none."""
        if not self._space.tied.any():
            return pool
        number = NUM_MORE_CORNERS if self._num_rounds else NUM_FIRST_CORNERS
        self._num_rounds += 1
        # Random objectives go as far as predictions that stay columns can.
        host, fixed = self._space.embedded.bounded_host, held(self._space)
        # Only these differ between points of equal integers.
        continuous = self._space.tied & ~host.integer & self._space.is_bounded
        self._session.set_bounds(host.lb, host.ub)
        for _ in range(number):
            w = self._find(rng, clock.limits())
            if w is None:
                break
            pool = pool.with_point(self._space, w)
            if fixed.any() and continuous.any():
                self._session.set_bounds(np.where(fixed, w, host.lb), np.where(fixed, w, host.ub))
                fixed = np.zeros_like(fixed)
        return pool

    def close(self) -> None:
        """Release what the solver holds."""
        self._session.close()

    def _find(self, rng: np.random.Generator, limits: Limits) -> Array | None:
        """Where an objective with random coefficients is best. Columns without bounds have none, so that it is bounded."""
        space = self._space
        self._session.set_cost(random_cost(space, rng), 0.0)
        w = self._session.solve(replace(limits, gap=CORNER_GAP, seconds=CORNER_SHARE * limits.seconds)).x
        if w is None or not np.isfinite(w).all():
            return None
        return np.clip(np.where(space.host.integer, np.round(w), w), space.host.lb, space.host.ub)
