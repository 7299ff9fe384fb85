"""What a point of the host is worth as a start, for many points in one batched pass.

The worth is the merit. Columns that only neural rows hold, like the t of t >= f_k(x), follow the networks: they are put where the
merit is best, since a start is not worse for a value that the first subproblem mends. Linked outputs are predicted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.points import Points, evaluate_points, gradient_of_points, weigh_points
from dcembed.engine.scouting.linked import LinkedRows, find_linked_rows
from dcembed.network.network import evaluate
from dcembed.run.space import Space

# A follower lies on a row that it meets up to rounding.
ON_ROW = 1e-9


@dataclass(frozen=True, eq=False)
class Followers:
    """Columns that nothing but neural rows holds, and those rows that have exactly one of them in it.

    Parameters
    ----------
    columns
        Shape (f,).
    row, position, coefficient
        Of each entry: the restriction, which of `columns` it has, and its coefficient there.
    """

    columns: Array
    row: Array
    position: Array
    coefficient: Array


def find_followers(space: Space) -> Followers:
    """The columns that a point leaves open."""
    embedded, host = space.embedded, space.host
    open_ = ~space.tied & ~space.is_input & ~host.integer & ~host.curved_columns
    open_[embedded.linked] = False
    columns = np.flatnonzero(open_)
    entries = sp.coo_array(embedded.restrictions.linear[:, columns])
    used = entries.data != 0
    row, position, coefficient = entries.row[used], entries.col[used], entries.data[used]
    alone = (np.bincount(row, minlength=embedded.restrictions.num_restrictions) == 1)[row]
    plain = alone & (embedded.restrictions.indicator[row] < 0)
    return Followers(columns, row[plain], position[plain], coefficient[plain])


@dataclass(frozen=True, eq=False)
class Open:
    """What a point leaves open: columns that follow the networks, and what the host says of predictions (None for nothing)."""

    followers: Followers
    linked: LinkedRows | None


def find_open(space: Space) -> Open:
    """What points of the host leave open."""
    return Open(find_followers(space), find_linked_rows(space))


def score_points(space: Space, open_: Open, w: Array) -> Points:
    """The points measured, with predictions and followers in their place."""
    followers = open_.followers
    embedded = space.embedded
    w = _predicted(space, w)
    neural = evaluate_points(embedded, w)
    if followers.row.size:
        w = _follow(space, followers, w, neural)
    points = weigh_points(embedded, w, neural)
    return points if open_.linked is None else replace(points, outside=open_.linked.violation(points.w))


def merit_gradient(space: Space, open_: Open, points: Points, penalty: Array) -> Array:
    """Gradient in the columns of the merit of each point, with a penalty of its own (k,); followers go along. Shape (k, n)."""
    followers, linked = open_.followers, open_.linked
    embedded, host, restrictions = space.embedded, space.host, space.embedded.restrictions
    weights = np.hstack([np.ones((points.w.shape[0], 1)), penalty[:, None] * (points.excess > 0)])
    if followers.row.size:
        weights[:, 1:] += _pull_of_followers(space, followers, points)
    linear = host.cost + (restrictions.linear.T @ weights[:, 1:].T).T
    if host.quadratic is not None:
        linear = linear + (host.quadratic @ points.w.T).T
    if embedded.concave is not None:
        linear = linear - (embedded.concave @ points.w.T).T
    if linked is not None:
        linear = linear + penalty[:, None] * (linked.matrix.T @ (linked.outside(points.w) > 0).T).T
        # What a prediction is worth goes on to the inputs of its network.
        known = np.flatnonzero(linked.tie >= 0)
        weights[:, 1 + linked.tie[known]] += linear[:, embedded.linked[known]]
    gradient: Array = linear + gradient_of_points(embedded, points.w, weights)
    return gradient


def _pull_of_followers(space: Space, followers: Followers, points: Points) -> Array:
    """What each row is worth that a follower with a cost lies on, shape (k, s)."""
    restrictions = space.embedded.restrictions
    column = followers.columns[followers.position]
    price = -space.host.cost[column] / followers.coefficient
    value = (restrictions.linear @ points.w.T).T + points.neural[:, 1:] - restrictions.rhs
    on_row = np.abs(value[:, followers.row]) <= ON_ROW * np.maximum(1.0, np.abs(points.w[:, column]))
    pull = np.zeros_like(points.excess)
    pull[:, followers.row] = np.where(on_row & (price > 0), price, 0.0)
    return pull


def _predicted(space: Space, w: Array) -> Array:
    """Linked outputs at their predictions, network after network."""
    embedded = space.embedded
    if embedded.linked.size == 0:
        return w
    x = np.zeros((w.shape[0], embedded.program.num_columns))
    x[:, embedded.kept] = w
    for embedding in embedded.embeddings:
        affine = embedding.affine_inputs(x.shape[1])
        inputs = (affine.matrix @ x.T).T + affine.offset.reshape(1, -1)
        outputs = evaluate(embedding.network, inputs.reshape(-1, embedding.network.num_inputs))
        x[:, embedding.outputs.reshape(-1)] = outputs.reshape(x.shape[0], embedding.outputs.size)
    return x[:, embedded.kept]


def _follow(space: Space, followers: Followers, w: Array, neural: Array) -> Array:
    """Followers as good as their rows allow: at the limit that their cost pushes them to, else the nearest value inside."""
    embedded, columns = space.embedded, followers.columns
    restrictions = embedded.restrictions
    rest = w.copy()
    rest[:, columns] = 0.0
    room = restrictions.rhs - (restrictions.linear @ rest.T).T - neural[:, 1:]
    limit = (room[:, followers.row] / followers.coefficient).T
    up = followers.coefficient > 0
    low = np.repeat(space.host.lb[columns][:, None], w.shape[0], axis=1)
    high = np.repeat(space.host.ub[columns][:, None], w.shape[0], axis=1)
    np.maximum.at(low, followers.position[~up], limit[~up])
    np.minimum.at(high, followers.position[up], limit[up])
    cost = space.host.cost[columns][:, None]
    value = np.where(cost > 0, low, np.where(cost < 0, high, w[:, columns].T))
    value = np.where(np.isfinite(value), value, w[:, columns].T)
    w = w.copy()
    w[:, columns] = np.clip(np.minimum(np.maximum(value, low), np.maximum(high, low)).T, space.host.lb[columns], space.host.ub[columns])
    return w
