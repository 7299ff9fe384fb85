"""Operators that move, repeat, join or drop entries, and those that read a shape or make a constant of it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch.utils import _pytree as pytree

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor

Handler = Callable[..., Any]


def _moving(name: str, *places: int) -> Handler:
    """An operator that does nothing but moving entries: it is given their numbers, and says which of them go where.

    `places` are the arguments that it takes entries from.
    """
    target = getattr(torch.ops.aten, name)

    def handler(builder: NetworkBuilder, *args: Any, **kwargs: Any) -> Any:
        indices = [argument for place, argument in enumerate(args) if place not in places]
        if any(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(indices)):
            raise Unsupported("picks entries by a value that is computed from the input; it has to be a constant")
        contents = [ops.as_tensor(leaf) for place in places for leaf in _leaves(args, place)]
        numbers = iter(_number(contents))
        marked = [
            pytree.tree_map(lambda leaf: next(numbers), args[place]) if place in places else pytree.tree_map(_as_index, args[place])
            for place in range(len(args))
        ]
        moved = target(*marked, **{key: value for key, value in kwargs.items() if key not in _IGNORED})
        pick = functools.partial(_pick, builder, contents)
        return pick(moved) if isinstance(moved, torch.Tensor) else tuple(pick(part) for part in moved)

    return handler


# They say where and how numbers are stored.
_IGNORED = frozenset({"dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking", "copy"})


def _leaves(args: Sequence[Any], place: int) -> list[Any]:
    return list(pytree.tree_leaves(args[place])) if place < len(args) else []


def _number(contents: Sequence[Tensor]) -> list[torch.Tensor]:
    """The entries of all values, numbered one after the other."""
    sizes = [value.affine.num_rows for value in contents]
    starts = np.cumsum([0, *sizes])[:-1]
    return [torch.arange(size).reshape(value.shape) + int(start) for size, value, start in zip(sizes, contents, starts, strict=True)]


def _as_index(value: Any) -> Any:
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray | np.generic) else value


def _pick(builder: NetworkBuilder, contents: Sequence[Tensor], numbers: torch.Tensor) -> Value:
    entries = numbers.numpy()
    if len(contents) == 1:
        return ops.fold(ops.pick(builder, contents[0], entries))
    together = builder.concat([builder.reshape(value, (value.affine.num_rows,)) for value in contents])
    return ops.fold(ops.pick(builder, together, entries))


def _index_put(builder: NetworkBuilder, input: Value, indices: Sequence[Any], values: Value, accumulate: bool = False) -> Value:
    """Entries put at constant places, or added to what is there."""
    if not accumulate:
        replaced: Value = _put(builder, input, indices, values)
        return replaced
    shape = ops.shape_of(input)
    key = tuple(slice(None) if item is None else np.asarray(item) for item in indices)
    places = np.arange(math.prod(shape)).reshape(shape)[key]
    spread = ops.as_tensor(ops.expand(builder, values, places.shape))
    matrix = sp.csr_array((np.ones(places.size), (places.reshape(-1), np.arange(places.size))), shape=(math.prod(shape), places.size))
    return ops.add(builder, input, ops.transform(builder, spread, matrix, shape))


_put = _moving("index_put", 0, 2)


def _broadcast_all(builder: NetworkBuilder, values: Sequence[Value]) -> list[Value]:
    shape = np.broadcast_shapes(*(ops.shape_of(value) for value in values))
    return [ops.expand(builder, value, shape) for value in values]


def _same(builder: NetworkBuilder, input: Value, *args: Any, **kwargs: Any) -> Value:
    """Copies, and where and how numbers are stored."""
    types = [item for item in (*args, *kwargs.values()) if isinstance(item, torch.dtype)]
    if any(not item.is_floating_point for item in types):
        raise Unsupported(f"converts to {types[0]}, which rounds")
    return input


def _squeeze(builder: NetworkBuilder, input: Tensor, dim: Any = None) -> Value:
    """The first axis stays unless it is named: it has size 1 only because one point is looked at."""
    chosen = range(1, len(input.shape)) if dim is None else ops.as_axes(dim, len(input.shape))
    return ops.reshape(builder, input, [size for axis, size in enumerate(input.shape) if axis not in chosen or size != 1])


def _dropout(builder: NetworkBuilder, input: Value, p: float, train: bool) -> Value:
    if train and p > 0:
        raise Unsupported("drops entries at random also at inference; export the model in evaluation mode (model.eval())")
    return input


def _pad(builder: NetworkBuilder, input: Value, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Value:
    """Pairs for the last axes, the last one first."""
    pairs = [(int(pad[index]), int(pad[index + 1])) for index in range(0, len(pad), 2)]
    widths = [(0, 0)] * (len(ops.shape_of(input)) - len(pairs)) + pairs[::-1]
    return ops.pad(builder, input, widths, mode, 0.0 if value is None else float(value))


def _constant_pad(builder: NetworkBuilder, input: Value, pad: Sequence[int], value: float = 0.0) -> Value:
    return _pad(builder, input, pad, "constant", value)


def _padding(mode: str) -> Handler:
    return lambda builder, input, padding: _pad(builder, input, padding, mode)


def _filled(fill: float) -> Handler:
    """A constant of the shape of a value."""
    return lambda builder, input, **kwargs: np.full(ops.shape_of(input), fill)


def _full_like(builder: NetworkBuilder, input: Value, value: Any, **kwargs: Any) -> Value:
    return ops.expand(builder, np.asarray(value, dtype=np.float64) if not isinstance(value, Tensor) else value, ops.shape_of(input))


def _new(fill: float) -> Handler:
    return lambda builder, input, size, **kwargs: np.full(tuple(size), fill)


def _new_full(builder: NetworkBuilder, input: Value, size: Sequence[int], value: Any, **kwargs: Any) -> Array:
    return np.full(tuple(size), float(value))


def _size(builder: NetworkBuilder, input: Value, dim: int | None = None) -> Any:
    return list(ops.shape_of(input)) if dim is None else ops.shape_of(input)[dim]


def _as(name: str) -> Handler:
    """An operator that takes the shape of another value."""
    handler = _moving(name, 0)
    return lambda builder, input, other: handler(builder, input, list(ops.shape_of(other)))


_FROM_ONE = """
    _reshape_alias _unsafe_view as_strided broadcast_to channel_shuffle diagonal expand flatten flip fliplr flipud gather index _unsafe_index index_select
    movedim moveaxis narrow numpy_T permute pixel_shuffle pixel_unshuffle ravel repeat repeat_interleave reshape roll rot90 select slice
    swapaxes swapdims t take take_along_dim tile transpose unflatten unfold unsqueeze view
    chunk split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split unsafe_split_with_sizes hsplit vsplit dsplit
"""
_FROM_TWO = {"copy": (0, 1), "select_scatter": (0, 1), "slice_scatter": (0, 1), "diagonal_scatter": (0, 1), "scatter": (0, 3)}
_FROM_LISTS = "cat concat concatenate stack hstack vstack dstack column_stack"
_UNCHANGED = """
    _to_copy alias clone contiguous cpu cuda detach detach_ requires_grad_ double fill_diagonal float lift lift_fresh lift_fresh_copy positive resolve_conj
    resolve_neg to type_as view_of
"""

ENTRIES: dict[str, Handler] = {
    **{name: _moving(name, 0) for name in _FROM_ONE.split() if hasattr(torch.ops.aten, name)},
    **{
        name: _moving(name, 0)
        for name in ("view_copy", "permute_copy", "slice_copy", "select_copy", "unsqueeze_copy", "expand_copy", "t_copy")
    },
    **{name: _moving(name, *places) for name, places in _FROM_TWO.items()},
    **{name: _moving(name, 0) for name in _FROM_LISTS.split()},
    **dict.fromkeys(_UNCHANGED.split(), _same),
    **dict.fromkeys(("dropout", "native_dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"), _dropout),
    **dict.fromkeys(("zeros_like", "empty_like", "zero"), _filled(0.0)),
    **dict.fromkeys(("new_zeros", "new_empty"), _new(0.0)),
    **{f"reflection_pad{axes}d": _padding("reflect") for axes in (1, 2, 3)},
    **{f"replication_pad{axes}d": _padding("replicate") for axes in (1, 2, 3)},
    "ones_like": _filled(1.0),
    "new_ones": _new(1.0),
    "new_full": _new_full,
    "full_like": _full_like,
    "fill": _full_like,
    **dict.fromkeys(("index_put", "_unsafe_index_put"), _index_put),
    "broadcast_tensors": _broadcast_all,
    "squeeze": _squeeze,
    "squeeze_copy": _squeeze,
    "expand_as": _as("expand"),
    "reshape_as": _as("reshape"),
    "view_as": _as("view"),
    "pad": _pad,
    "constant_pad_nd": _constant_pad,
    "embedding": lambda builder, weight, indices, *args: ops.embedding(builder, indices, weight),
    "sym_size": _size,
    "size": _size,
    "sym_numel": lambda builder, input: math.prod(ops.shape_of(input)),
    "numel": lambda builder, input: math.prod(ops.shape_of(input)),
    "dim": lambda builder, input: len(ops.shape_of(input)),
}
