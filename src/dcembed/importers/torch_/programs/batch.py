"""Graphs made for a batch of fixed size, read for one point.

A graph that torch.export made without `dynamic_shapes` has the size of the batch in its reshapes and in the constants that it makes. The
values here are those of one point, so that size has to go out of them again. What this leads to is compared with the program itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from dcembed.importers.torch_.programs.program import recorded_sizes
from dcembed.importers.torch_.recording.names import operator_name

# Operators with sizes among their arguments, and which argument it is.
_RESHAPES = {"view": 1, "_unsafe_view": 1, "reshape": 1, "_reshape_alias": 1, "view_copy": 1}
_EXPANSIONS = {"expand": 1, "expand_copy": 1}
_MAKERS = dict.fromkeys(("full", "zeros", "ones", "empty"), 0) | dict.fromkeys(("new_full", "new_zeros", "new_ones", "new_empty"), 1)
_PLACES = _RESHAPES | _EXPANSIONS | _MAKERS


class FixedBatch:
    """Where the points of a batch are in the values of a graph.

    Parameters
    ----------
    size
        Of the batch with which the graph was made, None if it is not in the graph.
    depends
        Whether a tensor depends on the input.
    """

    def __init__(self, size: int | None, depends: Callable[[torch.Tensor], bool]) -> None:
        self._size = size
        self._depends = depends
        # How many blocks of a value are before the step from one point to the next, in all axes and in the axis where the points are.
        # The first number stays when a value is reshaped, the second one when axes are moved.
        self._position: dict[fx.Node, tuple[int, int]] = {}

    def for_one_point(self, node: fx.Node, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments of a node as they are for one point."""
        name = operator_name(node.target)
        place = _PLACES.get(name, len(args))
        if self._size is None or place >= len(args):
            return args
        sizes = list(args[place])
        if name in _MAKERS:
            sizes = _shrink(sizes, self._size, [1] * len(sizes))
        elif not self._depends(args[0]):
            sizes = sizes if name in _RESHAPES else _shrink(sizes, self._size, args[0].shape)
        elif name in _EXPANSIONS:
            sizes = self._expand(node.all_input_nodes[0], args[0].shape, sizes)
        else:
            sizes = self._reshape(node.all_input_nodes[0], args[0].shape, sizes)
        return [*args[:place], sizes, *args[place + 1 :]]

    def note(self, node: fx.Node, value: Any) -> None:
        """Remember where the points are in the value of a node."""
        sizes = recorded_sizes(node)
        if self._size is None or sizes is None or not isinstance(value, torch.Tensor) or not self._depends(value):
            return
        axis = _batch_axis(value.shape, sizes)
        if axis is None:
            return
        outside = math.prod(size or 1 for size in sizes[:axis])
        known = [self._position[source] for source in node.all_input_nodes if source in self._position]
        if known and operator_name(node.target) in _RESHAPES:
            before, inside = known[0][0], known[0][0] // outside
        else:
            # Within a longer axis the points are where they were before.
            inside = known[0][1] if known and value.shape[axis] > 1 else 1
            before = outside * inside
        self._position[node] = (before, inside)

    def _expand(self, source: fx.Node, shape: Sequence[int], sizes: list[Any]) -> list[Any]:
        axis = _batch_axis(shape, recorded_sizes(source))
        if axis is not None:
            sizes[len(sizes) - len(shape) + axis] = shape[axis]
        return sizes

    def _reshape(self, source: fx.Node, shape: Sequence[int], sizes: list[Any]) -> list[Any]:
        """The new axis that has the step from point to point in it is as many times shorter."""
        batch, (before, _) = self._size or 1, self._position.get(source, (None, 1))
        whole = math.prod(shape) * batch
        full = [whole // -math.prod(sizes) if size == -1 else size for size in sizes]
        if before is None or math.prod(full) != whole:
            return sizes
        for axis, size in enumerate(full):
            start = math.prod(full[:axis])
            if size % batch == 0 and start <= before and before * batch <= start * size:
                return [*full[:axis], size // batch, *full[axis + 1 :]]
        return sizes


def _shrink(sizes: list[Any], batch: int, own: Sequence[int]) -> list[Any]:
    """Of a constant: the first axis that is as long as the batch, and that its numbers are repeated along."""
    padded = [1] * (len(sizes) - len(own)) + list(own)
    for axis, size in enumerate(sizes):
        if size == batch and padded[axis] == 1:
            return [*sizes[:axis], 1, *sizes[axis + 1 :]]
    return sizes


def _batch_axis(shape: Sequence[int], sizes: Sequence[int | None] | None) -> int | None:
    """Where the shape of one point differs from that of the batch."""
    if sizes is None or len(sizes) != len(shape):
        return None
    return next((axis for axis, (one, whole) in enumerate(zip(shape, sizes, strict=True)) if one != whole), None)
