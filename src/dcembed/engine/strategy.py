"""Which model leads when.

Tangents go first: their steps are the cheapest. Where they stall, the bundle settles the point or gets past a kink; when it has moved to
other integers, or to a clearly better point than tangents have reached, they go on from there with the integers held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.copies import replace
from dcembed.embedded.point import Point
from dcembed.embedded.points import evaluation_cost
from dcembed.engine.bundle.loop import run_bundle
from dcembed.engine.outcome import Outcome, Walk
from dcembed.engine.problem import Problem
from dcembed.engine.tangent.loop import run_tangents
from dcembed.engine.workshop import Workshop
from dcembed.run.completion import complete
from dcembed.status import Status

# Tangents go on where the bundle has improved the objective of their best point by this, relative to it,
# or has left this share of their least violation.
WORTH_A_WALK, LESS_VIOLATION = 1e-4, 0.5
# How much larger the first box of a further walk is than the one in which the walk before took its last step.
WIDER = 4.0
# Multiplications in a pass of the networks from which on a bundle step, with its bounds, takes as long as many tangent steps.
DEAR_COST = 700_000


def run_strategy(problem: Problem, workshop: Workshop, start: Point, settled: Sequence[Array]) -> Outcome:
    """Run from a point until it is settled."""
    if not problem.has_tangents:
        return run_bundle(problem, workshop, Walk(start, None), settled)
    walk, guide = Guide(problem, workshop).walk(start)
    if status := walk.status or workshop.journal.clock.ended():
        return Outcome(status, walk.point, walk.best)
    if workshop.steps.is_on_foot or (workshop.steps.is_probe and _bundle_is_dear(problem)):
        return Outcome(Status.ITERATION_LIMIT, walk.point, walk.best)
    return run_bundle(problem, workshop, walk, settled, guide)


def _bundle_is_dear(problem: Problem) -> bool:
    """Whether the bundle is left for the best start alone; where integers are held, it is what moves them."""
    return evaluation_cost(problem.embedded) > DEAR_COST and not problem.embedded.integer.any()


@dataclass(frozen=True, eq=False)
class Guide:
    """Takes a start further by tangents where that is worth it, which is so finitely often.

    Parameters
    ----------
    problem, workshop
        Of the start.
    objective, violation
        The best objective of a feasible point that a walk has reached, and the least violation.
    integers
        The integers that walks have held.
    radius
        Of the last box in which the last walk took a step.
    """

    problem: Problem
    workshop: Workshop
    objective: float = np.inf
    violation: float = np.inf
    integers: frozenset[bytes] = frozenset()
    radius: float = np.inf

    def follow(self, point: Point) -> tuple[Walk, Guide] | None:
        """The walk from a point that another model has moved to, if it has got somewhere that walks have not."""
        if self._integers(point) not in self.integers:
            return self.walk(point)
        return self.walk(point, WIDER * self.radius) if self._is_better(point) else None

    def walk(self, point: Point, radius: float = np.inf) -> tuple[Walk, Guide]:
        """The walk from a point, with a first box of this radius at most, and the guide that knows of it."""
        walk = _completed(self.problem, self.workshop, run_tangents(self.problem, self.workshop, point, radius))
        known = replace(
            self,
            objective=min(self.objective, walk.best.objective if walk.best is not None else np.inf),
            violation=min(self.violation, point.violation, walk.point.violation),
            integers=self.integers | {self._integers(point)},
            radius=walk.radius,
        )
        return walk, known

    def _is_better(self, point: Point) -> bool:
        if np.isinf(self.objective):
            return point.violation < LESS_VIOLATION * self.violation
        return point.is_feasible(self.problem.options.feasibility_tol) and (
            point.objective < self.objective - WORTH_A_WALK * abs(self.objective)
        )

    def _integers(self, point: Point) -> bytes:
        return point.w[self.problem.embedded.integer].tobytes()


def _completed(problem: Problem, workshop: Workshop, walk: Walk) -> Walk:
    """A walk that met nothing feasible with its integers held may have done so with others behind the same network inputs."""
    if walk.best is not None or not problem.embedded.integer.any():
        return walk
    found = complete(workshop.host, walk.point, workshop.journal.clock.limits(), problem.options.feasibility_tol)
    if found is None:
        return walk
    workshop.journal.offer(found)
    return replace(walk, best=found if found.is_feasible(problem.options.feasibility_tol) else None)
