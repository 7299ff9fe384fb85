"""The largest of several entries, and the logarithm of the sum of their exponentials, by balanced trees.

max(a, b) = b + relu(a - b), log(exp(a) + exp(b)) = b + softplus(a - b). Nothing overflows in either of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import scipy.special

from dcembed.arrays import Array
from dcembed.importers.operations.arithmetic import negate
from dcembed.importers.operations.values import Unsupported, Value, as_tensor, flat, pick
from dcembed.network.activations import RELU, Activation, smooth
from dcembed.network.builder import NetworkBuilder, Tensor


def largest(builder: NetworkBuilder, value: Value, table: Array) -> Value:
    """The largest entry of every row of `table`, a matrix of entry numbers (row-major order); -1 stands for none.

    All rows go through one stage per level together, and pairs that several rows have in common are one unit.
    """
    return _tree(builder, value, table, RELU, lambda rows: np.max(rows, axis=1))


def log_sum_exp_of(builder: NetworkBuilder, value: Value, table: Array) -> Value:
    """The logarithm of the sum of the exponentials of every row of `table`; an entry is in a row once."""
    return _tree(builder, value, table, smooth.softplus(), lambda rows: np.asarray(scipy.special.logsumexp(rows, axis=1)))


def _tree(builder: NetworkBuilder, value: Value, table: Array, activation: Activation, of_constants: Callable[[Array], Array]) -> Value:
    """Every row joined by b + phi(a - b)."""
    if table.shape[1] == 0 or (table < 0).all(axis=1).any():
        raise Unsupported("takes the largest or smallest, or a sum of exponentials, of no entries")
    if not isinstance(value, Tensor):
        return of_constants(np.append(np.asarray(value, dtype=np.float64).reshape(-1), -np.inf)[table])
    current = flat(builder, value)
    # Missing entries go to the end of their rows, where the tree has its shorter branches.
    table = np.take_along_axis(table, np.argsort(table < 0, axis=1, kind="stable"), axis=1)
    while table.shape[1] > 1:
        current, table = _level(builder, current, table, activation)
    return pick(builder, current, table[:, 0])


def _level(builder: NetworkBuilder, current: Tensor, table: Array, activation: Activation) -> tuple[Tensor, Array]:
    """Every two neighbours joined, and the table of what is left to join."""
    if table.shape[1] % 2:
        table = np.hstack([table, np.full((len(table), 1), -1)])
    left, right = table[:, 0::2], table[:, 1::2]
    paired = right >= 0
    # Large constants cancel unless the entry with the larger one is b.
    swapped = paired & (current.affine.bias[left] > current.affine.bias[right])
    left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    # Overlapping windows share pairs.
    pairs, numbers = np.unique(np.stack([left[paired], right[paired]], axis=1), axis=0, return_inverse=True)
    alone, places = np.unique(left[~paired & (left >= 0)], return_inverse=True)
    following = np.full(left.shape, -1)
    following[paired] = numbers.reshape(-1)
    following[~paired & (left >= 0)] = len(pairs) + places.reshape(-1)
    kept = pick(builder, current, np.concatenate([pairs[:, 1], alone]))
    if not len(pairs):
        return kept, following
    units = builder.activate(builder.linear(current, _differences(pairs, current.affine.num_rows)), activation)
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
    others = math.prod(tensor.shape[:axis]) * math.prod(tensor.shape[axis + 1 :])
    builder.growth.check(others * windows.size, f"The largest entries of {len(windows)} windows of {windows.shape[1]} places")
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
