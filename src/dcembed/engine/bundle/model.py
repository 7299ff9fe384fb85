"""The cutting-plane model of the problem around a point: the components H by their tangents, the components G by their cuts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.measurements import Tangents
from dcembed.embedded.point import Point
from dcembed.engine.bundle.global_split import GlobalSplit
from dcembed.engine.bundle.local_split import LocalSplit, split_on_box
from dcembed.engine.cuts import CutPool, Heights, empty_pool
from dcembed.engine.problem import Problem
from dcembed.engine.region import GROWTH, LARGEST_RADIUS, Region
from dcembed.engine.subproblem import Majorant, Reach, majorize
from dcembed.run.clock import Clock

# A step that hits the box and brings at least the good share of the promise makes the next box larger, below the poor share smaller.
GOOD_SHARE, POOR_SHARE = 0.7, 0.3


@dataclass(frozen=True, eq=False)
class Model:
    """The cutting-plane model around the current point.

    Parameters
    ----------
    region, split, pool
        The box, the split that is valid on it, and the cuts of its components G.
    reach
        How far the measurements go on the box, where restrictions are behind indicators.
    tangents, heights
        Of the components H and G at the current point.
    gap
        To which masters with integers are solved.
    looks
        How often the model has looked ahead from this point; its promises are without warrant then.
    is_turned
        Whether units at their kinks count as off in the tangents, not on.
    """

    region: Region
    split: GlobalSplit | LocalSplit
    reach: Reach | None
    pool: CutPool
    tangents: Tangents
    heights: Heights
    gap: float
    looks: int = 0
    is_turned: bool = False

    @cached_property
    def majorant(self) -> Majorant:
        """G - H^ of every measurement, without the unit part of G."""
        return majorize(*self.split.kept, self.tangents, self.reach)


@dataclass(frozen=True, eq=False)
class Learned:
    """What a model has learned at a point: itself with the cuts there, whether they were news, and the linearization there."""

    model: Model
    is_news: bool
    w: Array
    tangents: Tangents
    heights: Heights


def build_model(problem: Problem, region: Region, point: Point, gap: float, clock: Clock, num_cuts_made: int = 0) -> Model:
    """Split the networks on a box and begin with the cuts at the point; RunEnded if the time is up before."""
    embedded = problem.embedded
    if problem.options.decomposition == "global":
        # Valid everywhere, so the box is the whole host's: for the master and for the M of its indicators.
        region = region.around(point.w, LARGEST_RADIUS)
        split: GlobalSplit | LocalSplit = GlobalSplit(embedded, region.box)
    else:
        split = split_on_box(embedded, region.box, clock.check)
    reach = Reach(region.box, split.largest_kept()) if problem.has_switched_rows else None
    tangents, heights = split.linearize(point.w)
    pool = empty_pool(point.w.size, num_cuts_made).add(heights, point.w, np.full(heights.value.size, -np.inf))
    return Model(region, split, reach, pool, tangents, heights, gap)


def redraw(problem: Problem, model: Model, region: Region, point: Point, clock: Clock) -> Model:
    """A model on another box."""
    return build_model(problem, region, point, model.gap, clock, model.pool.num_made)


def learn(problem: Problem, model: Model, x: Array) -> Learned:
    """Age the cuts at the master's solution and add those that it violates."""
    w, theta, _ = problem.subproblem.split_columns(x)
    w = np.where(problem.embedded.host.integer, np.round(w), w)
    tangents, heights = model.split.linearize(w)
    aged = model.pool.aged(w, theta)
    pool = aged.add(heights, w, theta)
    return Learned(replace(model, pool=pool), pool is not aged, w, tangents, heights)


def move(problem: Problem, learned: Learned, point: Point, share: float, clock: Clock) -> Model:
    """Make `point`, which brought this share of the promise, the middle of the model; a box that it hit is drawn anew around it."""
    model = learned.model
    if model.region.is_hit(point.w):
        factor = GROWTH if share >= GOOD_SHARE else 1.0 if share >= POOR_SHARE else 1.0 / GROWTH
        return redraw(problem, model, model.region.around(point.w, factor * model.region.radius), point, clock)
    if np.array_equal(learned.w, point.w):
        # The networks have been linearized there already.
        return replace(model, tangents=learned.tangents, heights=learned.heights, looks=0, is_turned=False)
    return recenter(model, point)


def recenter(model: Model, point: Point) -> Model:
    """Linearize at `point`; split, box and cuts stay."""
    tangents, heights = model.split.linearize(point.w)
    return replace(model, tangents=tangents, heights=heights, looks=0, is_turned=False)


def turn(model: Model, point: Point) -> Model | None:
    """Count units at their kinks as off: on a kink the model may block what the other side allows. None if nothing changes."""
    turned = model.split.tangents(point.w, on_at_kinks=False)
    if not abs(turned.slope - model.tangents.slope).max() > 0:
        return None
    return replace(model, tangents=turned, is_turned=True)
