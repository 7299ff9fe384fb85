"""Scenarios of one design taken together: terms whose inputs differ by little in their constants have one plane over a box around them all.

Bounds of a thousand scenarios then cost as much as those of a few, as long as the decisions leave more open than the scenarios differ by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.grouping import distinct_pairs
from dcembed.embedded.measured_network import MeasuredNetwork

# Halvings of the terms of one part and direction, coarse to fine; each cluster keeps so many terms on average at least.
DEPTHS, MIN_TERMS = (4, 6, 8), 4
# A clustering is fine enough if its constants move the first stage by no more than this share of what the decisions do.
FINE = 0.5


@dataclass(frozen=True, eq=False)
class Clusters:
    """Terms of one part and one direction together.

    Parameters
    ----------
    part, direction
        Of each cluster, shapes (c,).
    mass
        The sum of the scales of its terms, shape (c,).
    moment
        The sum of their scaled constants, shape (c, n_in).
    low, high
        The least and the largest constants, shapes (c, n_in).
    spread
        How far the constants of a cluster move the first stage, on average.
    """

    part: Array
    direction: Array
    mass: Array
    moment: Array
    low: Array
    high: Array
    spread: float


def find_clusterings(measured: MeasuredNetwork) -> list[Clusters]:
    """Clusterings from coarse to fine; in the last every term is on its own."""
    terms = measured.terms
    _, _, group = distinct_pairs(terms.part, terms.direction)
    reach, offset = sensitivity(measured), measured.offset[terms.block]
    most = terms.part.size / (MIN_TERMS * (int(group.max(initial=-1)) + 1))
    labels = [_halved(offset * reach, group, depth) for depth in DEPTHS if 2**depth <= most]
    return [_gathered(measured, offset, label, reach) for label in (*labels, np.arange(terms.part.size))]


def sensitivity(measured: MeasuredNetwork) -> Array:
    """How far each input moves the first stage, shape (n_in,)."""
    stages = measured.network.stages
    block = stages[0].weights.get(0) if stages else None
    if block is None:
        return np.ones(measured.network.num_inputs)
    return np.asarray(abs(block).sum(axis=0)).reshape(-1)


def fine_enough(clusterings: list[Clusters], moved: float) -> Clusters:
    """The coarsest clustering for decisions that move the first stage so far."""
    return next((clusters for clusters in clusterings if clusters.spread <= FINE * moved), clusterings[-1])


def _halved(places: Array, group: Array, depth: int) -> Array:
    """The number of its cluster for each term: groups halved so many times, each across its longest side."""
    parts = [np.flatnonzero(group == number) for number in range(int(group.max(initial=-1)) + 1)]
    for _ in range(depth):
        parts = [half for part in parts for half in _halves(places, part)]
    label = np.empty(group.size, dtype=np.int64)
    for number, part in enumerate(parts):
        label[part] = number
    return label


def _halves(places: Array, part: Array) -> list[Array]:
    if part.size < 2:
        return [part]
    here = places[part]
    order = np.argsort(here[:, int(np.ptp(here, axis=0).argmax())], kind="stable")
    return [part[order[: part.size // 2]], part[order[part.size // 2 :]]]


def _gathered(measured: MeasuredNetwork, offset: Array, label: Array, reach: Array) -> Clusters:
    terms, size = measured.terms, int(label.max(initial=-1)) + 1
    first = np.zeros(size, dtype=np.int64)
    first[label] = np.arange(label.size)
    low, high = np.full((size, offset.shape[1]), np.inf), np.full((size, offset.shape[1]), -np.inf)
    np.minimum.at(low, label, offset)
    np.maximum.at(high, label, offset)
    moment = np.zeros_like(low)
    np.add.at(moment, label, terms.scale[:, None] * offset)
    spread = float(((high - low) @ reach).mean()) if size else 0.0
    mass = np.bincount(label, terms.scale, minlength=size)
    return Clusters(terms.part[first], terms.direction[first], mass, moment, low, high, spread)
