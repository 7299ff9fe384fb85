"""The cutting-plane model of the problem around a point: the components H by their tangents, the components G by their cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.embedded.measurements import Tangents
from dcembed.embedded.point import Point
from dcembed.engine.bundle.cuts import CutPool, Heights
from dcembed.engine.bundle.global_split import GlobalSplit
from dcembed.engine.bundle.local_split import LocalSplit
from dcembed.engine.bundle.region import GROWTH, LARGEST_RADIUS, Region
from dcembed.engine.penalty import Penalty
from dcembed.engine.run import Run
from dcembed.engine.subproblem import limit_columns, with_split

Array = np.ndarray

# A step that hits the box and brings at least the good share of the promise makes the next box larger, below the poor share smaller.
GOOD_SHARE, POOR_SHARE = 0.7, 0.3


@dataclass(eq=False)
class Model:
    """The cutting-plane model around the current point.

    Parameters
    ----------
    region, split, pool
        The box, the split that is valid on it, and the cuts of its components G.
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
    pool: CutPool
    tangents: Tangents
    heights: Heights
    gap: float
    looks: int = 0
    is_turned: bool = False


def build_model(run: Run, region: Region, point: Point, gap: float, penalty: Penalty) -> Model:
    """Split the networks on a box and begin with the cuts at the point."""
    if run.options.decomposition == "global":
        # Valid everywhere, so the box is the whole host's: for the master and for the M of its indicators.
        region = region.around(point.w, LARGEST_RADIUS)
        split: GlobalSplit | LocalSplit = GlobalSplit(run.embedded, region.lb, region.ub)
    else:
        split = LocalSplit(run.embedded, region.lb, region.ub)
    limit_to(run, region, penalty)
    run.subproblem = with_split(run.subproblem, split, region)
    pool = CutPool(point.w.size)
    heights = split.heights(point.w)
    pool.add(heights, point.w, np.full(heights.value.size, -np.inf))
    return Model(region, split, pool, split.tangents(point.w), heights, gap)


def limit_to(run: Run, region: Region, penalty: Penalty) -> None:
    """Keep the master inside the box where the split is valid."""
    limit_columns(run.subproblem, run.session, region.lb, region.ub, penalty.slack_ub)


def move(run: Run, model: Model, point: Point, share: float, penalty: Penalty) -> None:
    """Make `point` the middle of the model; a box that it hit is drawn anew around it."""
    if not model.region.is_hit(point.w):
        recenter(model, point)
        return
    factor = GROWTH if share >= GOOD_SHARE else 1.0 if share >= POOR_SHARE else 1.0 / GROWTH
    renewed = build_model(run, model.region.around(point.w, factor * model.region.radius), point, model.gap, penalty)
    model.__dict__.update(renewed.__dict__)


def turn(model: Model, point: Point) -> bool:
    """Count units at their kinks as off: on a kink the model may block what the other side allows. Whether that changes anything."""
    turned = model.split.tangents(point.w, on_at_kinks=False)
    differs = bool(abs(turned.slope - model.tangents.slope).max() > 0)
    model.tangents, model.is_turned = turned, True
    return differs


def recenter(model: Model, point: Point) -> None:
    """Linearize at `point`; split, box and cuts stay."""
    model.tangents, model.heights = model.split.tangents(point.w), model.split.heights(point.w)
    model.looks, model.is_turned = 0, False


def model_value(run: Run, model: Model, x: Array, penalty: Penalty) -> float:
    """The objective of the master at its solution."""
    host, num_parts = run.subproblem.host, run.subproblem.epigraph.num_columns
    w, theta, slack = np.split(x, [host.num_columns, host.num_columns + num_parts])
    on_host = run.subproblem.kept_slope[[0]] - model.tangents.slope[[0]]
    constant = run.subproblem.kept_constant[0] - model.tangents.constant[0]
    neural = float((on_host @ w)[0]) + constant + float((run.subproblem.epigraph.kept[[0]] @ theta)[0])
    return host.objective(w) + neural + penalty.value * float(slack.sum())


def learn(run: Run, model: Model, x: Array) -> bool:
    """Age the cuts at the master's solution and add those that it violates; whether there were any."""
    n, num_parts = run.embedded.host.num_columns, run.subproblem.epigraph.num_columns
    w, theta = np.where(run.embedded.host.integer, np.round(x[:n]), x[:n]), x[n : n + num_parts]
    model.pool.age(w, theta)
    return model.pool.add(model.split.heights(w), w, theta) > 0
