"""Which open units are worth a binary: those whose tangents may be wrong by most, from the input upwards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.open_block import OpenBlock
from dcembed.network.split import split_units

# A tangent that is wrong by less than this share of the largest mistake is good enough.
NEGLIGIBLE = 1e-6


def choose_units(blocks: Sequence[OpenBlock], w: Array, max_units: int) -> list[Array]:
    """A mask over the open units of each block, with at most `max_units` chosen; none of them depends on one that is not."""
    chosen = [np.zeros(block.num_units, dtype=bool) for block in blocks]
    largest, left = 0.0, max_units
    while left > 0:
        mistakes = [_mistakes(block, mask, w) for block, mask in zip(blocks, chosen, strict=True)]
        flat = np.concatenate([np.zeros(0), *mistakes])
        largest = max(largest, flat.max(initial=0.0))
        worst = np.argsort(-flat, kind="stable")[:left]
        worst = worst[flat[worst] > NEGLIGIBLE * largest]
        if worst.size == 0:
            break
        picked = np.zeros(flat.size, dtype=bool)
        picked[worst] = True
        edges = np.cumsum([0, *(block.num_units for block in blocks)])
        chosen = [mask | picked[a:b] for mask, a, b in zip(chosen, edges[:-1], edges[1:], strict=True)]
        left -= worst.size
    return chosen


def _mistakes(block: OpenBlock, chosen: Array, w: Array) -> Array:
    """By how much the tangent of each unit at w, and those of units above that wait for it, may lift the majorant on the box.

    Zero for chosen units, and for those that wait themselves.
    """
    scale, directions = block.weights
    is_bounded = np.isfinite(block.lb) & np.isfinite(block.ub)
    # What has no bounds cannot be exact, and its infinite mistake would be counted as none times infinity.
    largest = np.where(is_bounded & ~chosen, np.where(block.preactivations(w) >= 0, -block.lb, block.ub), 0.0)
    mistake = scale @ _concave_weights(block, chosen, directions) * largest
    waits_for = (block.links != 0) & ~chosen & ~chosen[:, None]
    for unit in range(block.num_units - 1, -1, -1):
        mistake[waits_for[unit]] += mistake[unit]
    return np.where(is_bounded & ~waits_for.any(axis=1), mistake, 0.0)


def _concave_weights(block: OpenBlock, chosen: Array, directions: Array) -> Array:
    """Weights of the units in H of each term, where chosen units are no units any more: shape (t, u)."""
    direct = np.where(chosen, 0.0, directions @ block.out_units)
    stages = [np.flatnonzero(block.stage == stage) for stage in np.unique(block.stage)]
    free = np.where(chosen, 0.0, block.links)
    links = ((slice(own[0], own[-1] + 1), slice(0, own[0]), free[own[0] : own[-1] + 1, : own[0]]) for own in reversed(stages) if own[0] > 0)
    _, concave = split_units(direct, links, lambda weights, matrix: weights @ matrix)
    return concave
