"""The largest and the smallest of several entries, by balanced trees of max(a, b) = b + relu(a - b)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.operations.arithmetic import negate
from dcembed.importers.operations.values import Unsupported, Value, as_tensor, flat, pick
from dcembed.network.builder import NetworkBuilder, Tensor


def largest(builder: NetworkBuilder, value: Value, table: Array) -> Value:
    """The largest entry of every row of `table`, a matrix of entry numbers (row-major order); -1 stands for none.

    All rows go through one stage per level together, and pairs that several rows have in common are one unit.
    """
    if table.shape[1] == 0 or (table < 0).all(axis=1).any():
        raise Unsupported("takes the largest or smallest of no entries")
    if not isinstance(value, Tensor):
        entries = np.append(np.asarray(value, dtype=np.float64).reshape(-1), -np.inf)
        highest: Array = entries[table].max(axis=1)
        return highest
    current = flat(builder, value)
    # Missing entries go to the end of their rows, where the tree has its shorter branches.
    table = np.take_along_axis(table, np.argsort(table < 0, axis=1, kind="stable"), axis=1)
    while table.shape[1] > 1:
        current, table = _level(builder, current, table)
    return pick(builder, current, table[:, 0])


def _level(builder: NetworkBuilder, current: Tensor, table: Array) -> tuple[Tensor, Array]:
    """The larger of every two neighbours, and the table of what is left to compare."""
    if table.shape[1] % 2:
        table = np.hstack([table, np.full((len(table), 1), -1)])
    left, right = table[:, 0::2], table[:, 1::2]
    paired = right >= 0
    # Overlapping windows share pairs; a pair of an entry with itself is that entry.
    pairs, numbers = np.unique(np.stack([left[paired], right[paired]], axis=1), axis=0, return_inverse=True)
    alone, places = np.unique(left[~paired & (left >= 0)], return_inverse=True)
    following = np.full(left.shape, -1)
    following[paired] = numbers.reshape(-1)
    following[~paired & (left >= 0)] = len(pairs) + places.reshape(-1)
    kept = pick(builder, current, np.concatenate([pairs[:, 1], alone]))
    if not len(pairs):
        return kept, following
    units = builder.relu(builder.linear(current, _differences(pairs, current.affine.num_rows)))
    spread = sp.csr_array(sp.eye_array(len(pairs) + len(alone), len(pairs)))
    return builder.add(kept, builder.linear(units, spread)), following


def _differences(pairs: Array, size: int) -> sp.csr_array:
    """First minus second entry of every pair."""
    rows = np.repeat(np.arange(len(pairs)), 2)
    signs = np.tile([1.0, -1.0], len(pairs))
    return sp.csr_array((signs, (rows, pairs.reshape(-1))), shape=(len(pairs), size))


def largest_along(builder: NetworkBuilder, value: Value, axis: int, windows: Array) -> Value:
    """The largest entries along one axis, of several windows: a matrix of positions on that axis, -1 for none; one new position per row."""
    tensor = as_tensor(value)
    axis %= len(tensor.shape)
    entries = np.moveaxis(np.arange(tensor.affine.num_rows).reshape(tensor.shape), axis, -1)
    chosen = np.where(windows >= 0, entries[..., np.maximum(windows, 0)], -1)
    found = largest(builder, value, chosen.reshape(-1, windows.shape[1]))
    return _move_back(builder, found, chosen.shape[:-1], axis)


def _move_back(builder: NetworkBuilder, found: Value, shape: tuple[int, ...], axis: int) -> Value:
    if not isinstance(found, Tensor):
        return np.moveaxis(np.reshape(found, shape), -1, axis)
    numbers = np.arange(found.affine.num_rows).reshape(shape)
    return pick(builder, found, np.moveaxis(numbers, -1, axis))


def smallest(builder: NetworkBuilder, value: Value, table: Array) -> Value:
    """The smallest entry of every row of `table`."""
    return negate(builder, largest(builder, negate(builder, value), table))
