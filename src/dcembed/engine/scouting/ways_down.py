"""Descents of many points in parts, by whoever is there.

How the points are cut into parts depends on the problem alone, so that what comes of them does not depend on who does which part.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from dcembed.arrays import Array
from dcembed.crew.crew import Crew
from dcembed.crew.task import Shared
from dcembed.crew.watch import Timer, Watch
from dcembed.embedded.points import evaluation_cost
from dcembed.engine.problem import Problem
from dcembed.engine.scouting.descent import descend
from dcembed.engine.scouting.pool import Pool
from dcembed.engine.scouting.scoring import Open, find_open
from dcembed.run.space import Space

# Multiplications of a part at least, some hundredths of a second; each step takes so many passes of the networks.
PART_COST, STEP_PASSES = 2e8, 3
# Numbers of the pool that are sent with every part at most.
MAX_POOL_ENTRIES = 200_000


def descend_in_parts(crew: Crew, shared: Shared, pool: Pool, w: Array, penalty: Array, num_steps: int, timer: Timer) -> Array:
    """The best points (k, n) on the ways down from `w`, each by its own penalty (k,)."""
    problem: Problem = shared.value
    rows = count_rows(problem, num_steps)
    is_small = sum(group.size for group in pool.groups) <= MAX_POOL_ENTRIES
    cuts = [slice(first, first + rows) for first in range(0, w.shape[0], rows)] if is_small else [slice(None)]
    parts = [(pool, w[cut], penalty[cut], num_steps) for cut in cuts]
    return np.vstack(crew.map(descend_part, shared, parts, timer))


def descend_part(problem: Problem, watch: Watch, pool: Pool, w: Array, penalty: Array, num_steps: int) -> Array:
    """The ways of some points."""
    space, open_ = _ground(problem)
    return descend(space, pool, open_, w, penalty, num_steps, watch.is_over)


def count_rows(problem: Problem, num_steps: int) -> int:
    """Points of a part: an even number, since every other one goes its own way."""
    cost = evaluation_cost(problem.embedded) * STEP_PASSES * num_steps
    return 2 * int(np.ceil(PART_COST / (2.0 * max(1, cost))))


def _ground(problem: Problem) -> tuple[Space, Open]:
    """What descents go over, kept as long as the problem is."""
    if problem not in _grounds:
        space = Space(problem.embedded, problem.box)
        _grounds[problem] = space, find_open(space)
    return _grounds[problem]


_grounds: WeakKeyDictionary[Problem, tuple[Space, Open]] = WeakKeyDictionary()
