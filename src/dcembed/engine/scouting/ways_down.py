"""Scores and descents of many points in parts, by whoever is there.

How the points are cut into parts depends on the problem alone, so that what comes of them does not depend on who does which part.
"""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from dcembed.arrays import Array
from dcembed.crew.crew import Crew
from dcembed.crew.parts import share_out
from dcembed.crew.task import Shared
from dcembed.crew.watch import Timer, Watch
from dcembed.embedded.points import Points, evaluation_cost, join_points
from dcembed.engine.problem import Problem
from dcembed.engine.scouting.descent import descend
from dcembed.engine.scouting.pool import Pool
from dcembed.engine.scouting.scoring import Open, find_open, score_points
from dcembed.run.space import Space

# Multiplications of a part at least, some hundredths of a second; each step takes so many passes of the networks.
PART_COST, STEP_PASSES = 4e8, 3
# The same where points are only measured, and more of them are sent.
SCORE_COST = 8e8
# Numbers that come back with the scores of all points at most: to send more takes longer than to compute them.
MAX_SCORED_ENTRIES = 2_000_000
# Numbers of the pool that are sent with every part at most.
MAX_POOL_ENTRIES = 200_000


def descend_in_parts(crew: Crew, shared: Shared, pool: Pool, w: Array, penalty: Array, num_steps: int, timer: Timer) -> Array:
    """The best points (k, n) on the ways down from `w`, each by its own penalty (k,)."""
    problem: Problem = shared.value
    rows = count_rows(problem, num_steps)
    is_small = sum(group.size for group in pool.groups) <= MAX_POOL_ENTRIES
    cuts = [slice(first, first + rows) for first in range(0, w.shape[0], rows)] if is_small else [slice(None)]
    parts = [(pool, w[cut], penalty[cut], num_steps) for cut in cuts]
    return np.vstack(share_out(crew, descend_part, shared, parts, timer))


def score_in_parts(crew: Crew, shared: Shared, w: Array, timer: Timer) -> Points:
    """The points (k, n) with predictions and followers in their place, and what their merits follow from."""
    problem: Problem = shared.value
    rows = max(1, int(np.ceil(SCORE_COST / max(1, evaluation_cost(problem.embedded)))))
    if w.shape[0] <= rows or w.size > MAX_SCORED_ENTRIES:
        return score_points(*_ground(problem), w)
    return join_points(share_out(crew, score_part, shared, [(w[first : first + rows],) for first in range(0, w.shape[0], rows)], timer))


def score_part(problem: Problem, watch: Watch, w: Array) -> Points:
    """Some of the points: their columns and merits, without what else was measured, which takes longer to send than to compute."""
    points = score_points(*_ground(problem), w)
    none = np.zeros((w.shape[0], 0))
    return replace(points, neural=none, excess=none, slack=points.slack.sum(axis=1, keepdims=True))


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
