"""Exchange: a descent along chains of changes, many of them measured in one pass of the networks.

From a good point the best of many chains is taken as long as there is a better one; where there is none, a few are taken whatever they cost, and
the descent begins anew from there. A start has the rest to do with the integers that were found.
"""

from __future__ import annotations

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.point import Point
from dcembed.embedded.points import Points, evaluation_cost
from dcembed.engine.moves.narrowing import hold_others
from dcembed.engine.moves.suggestion import Suggestion
from dcembed.engine.moves.terrain import Terrain
from dcembed.engine.moves.verified import Verified
from dcembed.engine.scouting.sampling import rows_hold
from dcembed.engine.scouting.scoring import score_points
from dcembed.run.penalty import estimate_penalty

NAME = "exchange"
# Rounds of a descent, all kicks included, and rounds in a row that bring nothing before the next kick.
NUM_ROUNDS, NUM_IDLE = 40, 1
# How often a kick goes out from where the last descent ended, rather than from the best.
ONWARDS = 0.5
# Chains in a round: so many for each integer, as far as so many numbers in columns and rows, and so many multiplications, allow.
CHAINS_EACH, MAX_CHAINS, MIN_CHAINS, MAX_ENTRIES, MAX_COST = 8, 512, 16, 200_000, 50_000_000
# Numbers in columns and rows of chains that take as long as a step.
STEP_ENTRIES = 600_000
# Neural rows count as in the scout's firm merit: what is found should be feasible.
FIRMNESS = 100.0
# What counts as better, in relation to max(1, |merit|).
BETTER = 1e-9
# Chains of a kick at most: how far the next valley is differs from one to the other, so any number is as good as the next.
MOST_KICKS = 7


def exchange(terrain: Terrain, verified: Verified, size: float, rng: np.random.Generator) -> Suggestion | None:
    """The best point of a descent with kicks, other than the one it began at; kicks of all sizes are tried, whatever `size` says."""
    point, columns = verified.pick(rng), terrain.integers
    if point is None or columns.size < 2 or terrain.space.host.has_curves:
        return None
    found = _descend(terrain, point, rng)
    if found is None:
        return None
    nothing = np.zeros(found.size, dtype=bool)
    return Suggestion(
        found, NAME, hold_others(terrain.problem, np.where(terrain.problem.embedded.integer, np.round(found), found), nothing)
    )


def effort(terrain: Terrain) -> float:
    """What it takes, in steps: a round draws chains through all columns and rows."""
    host = terrain.space.host
    return 1.0 + NUM_ROUNDS * _num_chains(terrain) * (host.num_columns + host.num_rows) / STEP_ENTRIES


def _descend(terrain: Terrain, point: Point, rng: np.random.Generator) -> Array | None:
    penalty = FIRMNESS * (terrain.problem.options.initial_penalty or estimate_penalty(terrain.problem.embedded, point))
    base, best_merit = point.w, np.inf
    best: Array | None = None
    merit, num_idle = point.merit(penalty), 0
    for _ in range(NUM_ROUNDS):
        if terrain.limits().seconds <= 0 or terrain.limits().interrupted():
            break
        if num_idle >= NUM_IDLE:
            origin = base if best is None or rng.random() < ONWARDS else best
            base, merit, num_idle = _kicked(terrain, origin, rng), np.inf, 0
        tried = _tried(terrain, base, rng)
        if tried is None:
            num_idle += 1
            continue
        merits = tried.merit(penalty)
        first = int(np.argmin(merits))
        if np.isinf(merit) or merits[first] < merit - BETTER * max(1.0, abs(merit)):
            base, merit, num_idle = tried.w[first], float(merits[first]), 0
            if merit < best_merit and not _same(terrain, base, point.w):
                best, best_merit = base, merit
        else:
            num_idle += 1
    return best


def _kicked(terrain: Terrain, w: Array, rng: np.random.Generator) -> Array:
    """A point some chains away; the same where none was found."""
    for _ in range(int(rng.integers(1, 1 + MOST_KICKS))):
        drawn, holds = terrain.chains.draw(np.tile(w, (MIN_CHAINS, 1)), terrain.integers, rng)
        kept = np.flatnonzero(holds)
        w = drawn[kept[int(rng.integers(kept.size))]] if kept.size else w
    return w


def _tried(terrain: Terrain, w: Array, rng: np.random.Generator) -> Points | None:
    """The points at the ends of many chains that keep the host; None where there are none."""
    drawn, holds = terrain.chains.draw(np.tile(w, (_num_chains(terrain), 1)), terrain.integers, rng)
    # A second chain from some of them: two changes that are of no use alone.
    again = rng.random(holds.size) < 0.5
    twice, still = terrain.chains.draw(drawn[again & holds], terrain.integers, rng)
    kept = np.vstack([drawn[holds], twice[still]])
    kept = kept[rows_hold(terrain.space, kept, terrain.chains.tolerance)] if kept.size else kept
    return score_points(terrain.space, terrain.open, terrain.chains.slide(np.unique(kept, axis=0))) if kept.size else None


def _num_chains(terrain: Terrain) -> int:
    host = terrain.space.host
    affordable = min(MAX_ENTRIES // (host.num_columns + host.num_rows), MAX_COST // max(1, evaluation_cost(terrain.problem.embedded)))
    return int(np.clip(min(affordable, CHAINS_EACH * terrain.integers.size), MIN_CHAINS, MAX_CHAINS))


def _same(terrain: Terrain, w: Array, other: Array) -> bool:
    integer = terrain.problem.embedded.integer
    return bool(np.array_equal(np.round(w[integer]), np.round(other[integer])))
