"""Values of a computation graph: computed ones (`Tensor`) and constants (`ndarray`), and sparse maps of their entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.growth import num_stored

Value = Tensor | Array


class Unsupported(Exception):
    """Raised by an operation that has no form here; the message is the reason, and says what would help where something would."""


def as_constant(value: Any, what: str) -> Array:
    """`value` as float64, or `Unsupported` when it is computed from the input."""
    if isinstance(value, Tensor):
        raise Unsupported(f"{what} is computed from the input; it must be a constant")
    return np.asarray(value, dtype=np.float64)


def as_tensor(value: Value | float) -> Tensor:
    """`value` as a Tensor; a constant becomes one that uses no source."""
    if isinstance(value, Tensor):
        return value
    array = np.asarray(value, dtype=np.float64)
    return Tensor(Affine({}, array.reshape(-1)), array.shape)


def fold(value: Tensor) -> Value:
    """`value`, as an array if it uses no source: what is made of constants alone is one."""
    return value if value.affine.weights else value.affine.bias.reshape(value.shape)


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a computed value, an array or a number."""
    return value.shape if isinstance(value, Tensor) else np.shape(value)


def flat(builder: NetworkBuilder, value: Tensor) -> Tensor:
    """All entries in one axis."""
    return builder.reshape(value, (value.affine.num_rows,))


def transform(builder: NetworkBuilder, value: Value, matrix: Matrix, shape: Sequence[int]) -> Value:
    """A sparse map (new entries, old entries) of all entries, in a new shape."""
    return fold(builder.reshape(builder.linear(flat(builder, as_tensor(value)), matrix), shape))


def pick(builder: NetworkBuilder, value: Tensor, entries: Array, fill: float = 0.0) -> Tensor:
    """The entries of `value` with these numbers (row-major order), in the shape of `entries`; `fill` where a number is negative."""
    size = value.affine.num_rows
    # Before they are copied: what is repeated takes no room until then.
    builder.growth.check(np.size(entries), f"A value of shape {np.shape(entries)}")
    numbers = np.asarray(entries).reshape(-1)
    if numbers.size == size and np.array_equal(numbers, np.arange(size)):
        return builder.reshape(value, np.shape(entries))
    taken = numbers >= 0
    ends = np.concatenate([[0], np.cumsum(taken)])
    picks = sp.csr_array((np.ones(ends[-1]), numbers[taken], ends), shape=(numbers.size, size))
    result = builder.linear(flat(builder, value), picks)
    if fill and not taken.all():
        result = builder.shift(result, np.where(taken, 0.0, fill))
    return builder.reshape(result, np.shape(entries))


def select(builder: NetworkBuilder, value: Tensor, choose: Callable[[Array], Array]) -> Tensor:
    """Rearrange, repeat or drop entries: `choose` is what numpy would do to an array of this shape."""
    return pick(builder, value, np.asarray(choose(np.arange(value.affine.num_rows).reshape(value.shape))))


def rearrange(builder: NetworkBuilder, value: Value, choose: Callable[[Array], Array]) -> Value:
    """The same for values that may be constant."""
    return select(builder, value, choose) if isinstance(value, Tensor) else np.asarray(choose(np.asarray(value)))


def broadcast(builder: NetworkBuilder, left: Value, right: Value) -> tuple[Tensor, Tensor]:
    """Both values, repeated to their common shape."""
    left, right = as_tensor(left), as_tensor(right)
    shape = np.broadcast_shapes(left.shape, right.shape)
    spread = [value if value.shape == shape else select(builder, value, lambda a: np.broadcast_to(a, shape)) for value in (left, right)]
    return spread[0], spread[1]


def map_last_axes(builder: NetworkBuilder, value: Value, matrices: Sequence[Matrix]) -> Value:
    """One sparse matrix (new size, old size) along each of the last axes.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> builder = NetworkBuilder((1, 2, 4))
    >>> halves = sp.kron(sp.eye_array(2), np.array([[0.5, 0.5]]), format="csr")
    >>> map_last_axes(builder, builder.input, [halves]).shape
    (1, 2, 2)
    """
    tensor = as_tensor(value)
    lead = tensor.shape[: len(tensor.shape) - len(matrices)]
    # Few numbers along each axis are many together.
    count = math.prod(lead) * math.prod(map(num_stored, matrices))
    builder.growth.check(count, f"A map of the last {len(matrices)} axes of a value of shape {tensor.shape}")
    whole: Matrix = sp.csr_array(matrices[0])
    for matrix in matrices[1:]:
        whole = sp.kron(whole, matrix, format="csr")
    together = builder.reshape(tensor, (math.prod(lead), whole.shape[1]))
    return fold(builder.reshape(builder.linear(together, whole), (*lead, *(matrix.shape[0] for matrix in matrices))))


def along_axis(vector: Any, axis: int, num_axes: int) -> Array:
    """A vector with one entry per channel, shaped to broadcast along `axis` of a value with `num_axes` axes.

    Examples
    --------
    >>> along_axis([1.0, 2.0, 3.0], axis=1, num_axes=3).shape
    (1, 3, 1)
    """
    array = np.asarray(vector, dtype=np.float64).reshape(-1)
    shape = [1] * num_axes
    shape[axis] = array.size
    return array.reshape(shape)
