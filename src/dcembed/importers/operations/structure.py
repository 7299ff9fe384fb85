"""What an affine value is made of: multiples of units, of other values, of cubes.

Everything that a unit computes can be read back from the builder, so nothing has to be remembered when values are reshaped, picked or scaled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.network.activations import Activation
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder

# Two rows are taken for multiples of each other up to this, relative to their largest entries.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Units:
    """Entries factor * phi(before) + shift, one unit each.

    Parameters
    ----------
    activation
        phi.
    before
        The pre-activations, as many rows as there are entries.
    factor, shift
        One of each per entry.
    """

    activation: Activation
    before: Affine
    factor: Array
    shift: Array


def blocks(affine: Affine) -> dict[int, sp.csr_array]:
    """The blocks that are not zero, sparse."""
    stored = {source: sp.csr_array(block) for source, block in affine.weights.items()}
    for block in stored.values():
        block.sum_duplicates()
        block.eliminate_zeros()
    return {source: block for source, block in stored.items() if block.nnz}


def take_rows(affine: Affine, rows: Array) -> Affine:
    """Some rows of an affine map."""
    return Affine({source: block[rows] for source, block in affine.weights.items()}, affine.bias[rows])


def combine(left: Affine, right: Affine, factor: float) -> Affine:
    """left + factor * right."""
    mine, other = blocks(left), blocks(right)
    weights = {source: mine[source] for source in mine}
    for source, block in other.items():
        weights[source] = weights[source] + factor * block if source in weights else factor * block
    return Affine(weights, left.bias + factor * right.bias)


def read_units(builder: NetworkBuilder, affine: Affine) -> Units | None:
    """The units of one stage that the entries are multiples of, one each; None if they are something else."""
    found = blocks(affine)
    if len(found) != 1:
        return None
    source, block = next(iter(found.items()))
    if source == 0 or not (np.diff(block.indptr) == 1).all():
        return None
    stage, activation = builder.stage(source)
    return Units(activation, take_rows(stage, block.indices), block.data, affine.bias)


def ratio(left: Affine, right: Affine) -> Array | None:
    """Numbers s with left = s * right row by row, biases aside; None if there are none."""
    mine, other = blocks(left), blocks(right)
    if mine.keys() != other.keys() or not mine:
        return None
    across = sum(mine[source].multiply(other[source]).sum(axis=1) for source in mine)
    square = sum(other[source].multiply(other[source]).sum(axis=1) for source in mine)
    if (square == 0).any():
        return None
    factor: Array = across / square
    gaps = [block - sp.diags_array(factor) @ other[source] for source, block in mine.items()]
    return factor if (_largest(gaps) <= ROUNDING * _largest(mine.values())).all() else None


def _largest(rows: Iterable[sp.csr_array]) -> Array:
    """The largest absolute entry of every row of several matrices together."""
    largest: Array = np.max([abs(block).max(axis=1).toarray().reshape(-1) for block in rows], axis=0)
    return largest


def read_cube(builder: NetworkBuilder, affine: Affine) -> tuple[Affine, Array, Affine] | None:
    """A value, and what the entries are made of beside multiples of its cube: (value, factors of the cube, the rest)."""
    found = blocks(affine)
    source = max(found, default=0)
    if source == 0 or builder.stage(source)[1].name != "square" or not (np.diff(found[source].indptr) == 2).all():
        return None
    pairs, factors = found[source].indices.reshape(-1, 2), found[source].data.reshape(-1, 2)
    order = np.argsort(pairs, axis=1)
    pairs, factors = np.take_along_axis(pairs, order, axis=1), np.take_along_axis(factors, order, axis=1)
    stage = builder.stage(source)[0]
    if not (factors[:, 0] == -factors[:, 1]).all() or not (pairs[:, 1] - pairs[:, 0] == stage.num_rows // 2).all():
        return None
    total, gap = take_rows(stage, pairs[:, 0]), take_rows(stage, pairs[:, 1])
    base, squared = combine(total, gap, 1.0), read_units(builder, combine(total, gap, -1.0))
    base = Affine({source: 0.5 * block for source, block in blocks(base).items()}, 0.5 * base.bias)
    if squared is None or squared.activation.name != "square" or not (squared.factor == 2.0).all() or squared.shift.any():
        return None
    if not equal(base, squared.before):
        return None
    rest = Affine({other: block for other, block in found.items() if other != source}, affine.bias)
    return base, 4.0 * factors[:, 0], rest


def read_clip(builder: NetworkBuilder, affine: Affine) -> tuple[Affine, Array, Array] | None:
    """Entries factor * clip(before, 0, width) + bias: (before, factor, width)."""
    found = blocks(affine)
    if len(found) != 2 or 0 in found:
        return None
    first, second = (read_units(builder, Affine({source: found[source]}, affine.bias)) for source in sorted(found))
    if first is None or second is None or first.activation.name != "relu" or second.activation.name != "relu":
        return None
    same = ratio(first.before, second.before)
    width = first.before.bias - second.before.bias
    if same is None or not np.allclose(same, 1.0, rtol=0, atol=ROUNDING) or (width <= 0).any():
        return None
    return (first.before, first.factor, width) if np.allclose(first.factor, -second.factor, rtol=ROUNDING, atol=0) else None


def read_absolute(builder: NetworkBuilder, affine: Affine) -> tuple[Affine, Array, Array] | None:
    """Entries factor * |value| + shift: (value, factor, shift)."""
    found = blocks(affine)
    source = max(found, default=0)
    units = read_units(builder, Affine({source: found[source]}, np.zeros(affine.num_rows))) if source else None
    if units is None or units.activation.name != "relu":
        return None
    rest = Affine({other: block for other, block in found.items() if other != source}, np.zeros(affine.num_rows))
    share = ratio(rest, units.before)
    if share is None or not np.allclose(share, -0.5 * units.factor, rtol=ROUNDING, atol=0):
        return None
    # |a| = 2 relu(a) - a, so the bias of a is in that of the entries.
    return units.before, 0.5 * units.factor, affine.bias + 0.5 * units.factor * units.before.bias


def equal(left: Affine, right: Affine) -> bool:
    """Whether two maps are the same up to rounding."""
    same = ratio(left, right)
    size = max(1.0, np.abs(right.bias).max(initial=0.0))
    return (
        same is not None and np.allclose(same, 1.0, rtol=0, atol=ROUNDING) and bool(np.abs(left.bias - right.bias).max() <= ROUNDING * size)
    )
