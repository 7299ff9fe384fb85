"""What became of a step."""

from __future__ import annotations

from dataclasses import dataclass

from dcembed.embedded.point import Point
from dcembed.engine.tangent.memory import TangentModel
from dcembed.engine.tangent.state import State
from dcembed.run.penalty import Penalty
from dcembed.solvers.base import Solution


@dataclass(frozen=True, eq=False)
class Tried:
    """A step that was tried: what the solver said, the candidate, what was promised and what it brings, at a penalty.

    `state` is where it was tried, and `model` what was believed there. `is_funnelled` says that it was judged in a funnel.
    """

    solution: Solution
    candidate: Point | None
    penalty: Penalty
    promise: float
    improvement: float
    state: State
    model: TangentModel
    is_funnelled: bool = False
