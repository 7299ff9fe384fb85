"""What is made of the predictions of all members, with ReLU units alone and without an error.

    max(a, b) = b + relu(a - b),    min(a, b) = a - relu(a - b),    sum_m w_m |f_m - mean| = 2 sum_m w_m relu(f_m - mean)

The last one holds because the weighted distances from a weighted mean add up to zero: as much lies above it as below.
"""

from __future__ import annotations

from collections.abc import Sequence

from dcembed.arrays import Array
from dcembed.ensembles.joint import Joint, stacked, weighted
from dcembed.ensembles.selection import select
from dcembed.network.affine import Affine


def combine_members(joint: Joint, values: Sequence[Affine], weights: Array, combination: str, parameter: float) -> Affine:
    """The output of an ensemble, given the predictions of its members; the stages that it needs are added.

    Parameters
    ----------
    joint
        Has the stages of the members.
    values
        Predictions of each member.
    weights
        Of the members in their mean.
    combination, parameter
        As of an `Ensemble`.
    """
    if combination == "members":
        return stacked(values)
    if combination == "mean":
        return mean(values, weights)
    if combination == "mean_deviation":
        return mean_and_deviation(joint, values, weights, parameter)
    rank = round(parameter)
    places = {"max": len(values) - 1, "min": 0, "at_most": rank - 1, "at_least": len(values) - rank}
    return ranked(joint, values, places[combination])


def mean(values: Sequence[Affine], weights: Array) -> Affine:
    """sum_m w_m f_m."""
    return weighted(zip(weights.tolist(), values, strict=True))


def mean_and_deviation(joint: Joint, values: Sequence[Affine], weights: Array, factor: float) -> Affine:
    """mean + factor * sum_m w_m |f_m - mean|: one stage, of a unit for each member and output."""
    middle, size = mean(values, weights), values[0].num_rows
    if len(values) == 1 or factor == 0:
        return middle
    above = joint.relu(stacked([weighted([(1.0, value), (-1.0, middle)]) for value in values]))
    share = weighted((2.0 * factor * weight, _rows_of(above, number * size, size)) for number, weight in enumerate(weights.tolist()))
    return weighted([(1.0, middle), (1.0, share)])


def _rows_of(value: Affine, start: int, size: int) -> Affine:
    """Some rows of a value."""
    return Affine({source: block[start : start + size] for source, block in value.weights.items()}, value.bias[start : start + size])


def ranked(joint: Joint, values: Sequence[Affine], place: int) -> Affine:
    """The value at a place of the sorted order of each output, from the smallest (0) to the largest (M - 1): a tree of comparisons for these two."""
    kept = list(values)
    pairs, wanted = select(len(kept), place)
    for low, high in pairs:
        kept[low], kept[high] = compare(joint, kept[low], kept[high])
    return kept[wanted]


def compare(joint: Joint, one: Affine, other: Affine) -> tuple[Affine, Affine]:
    """The smaller and the larger of two values, with one unit for each output."""
    excess = joint.relu(weighted([(1.0, one), (-1.0, other)]))
    return weighted([(1.0, one), (-1.0, excess)]), weighted([(1.0, other), (1.0, excess)])
