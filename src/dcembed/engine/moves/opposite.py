"""The opposite: a good point with inputs mirrored, since what is far away from all that was tried is seldom looked at."""

from __future__ import annotations

import numpy as np

from dcembed.engine.moves.nearest import nearest
from dcembed.engine.moves.suggestion import Suggestion
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.moves.verified import Verified

NAME = "opposite"


def mirror(terrain: Terrain, verified: Verified, size: float, rng: np.random.Generator) -> Suggestion | None:
    """About this share of the continuous inputs of one of the best points, on the other side of the middle of their ranges."""
    columns, box = terrain.inputs, terrain.problem.box
    columns = columns[terrain.space.is_bounded[columns]]
    point = verified.pick(rng)
    if point is None or columns.size == 0:
        return None
    chosen = columns[rng.random(columns.size) < size]
    chosen = chosen if chosen.size else rng.choice(columns, 1)
    w = point.w.copy()
    w[chosen] = box.lb[chosen] + box.ub[chosen] - w[chosen]
    found = nearest(terrain, w, terrain.problem.embedded.integer)
    return None if found is None else Suggestion(found, NAME, is_on_foot=True)
