"""Graphs made for a batch of fixed size, read for one point.

A graph that torch.export made without `dynamic_shapes` has the size of the batch in its reshapes and in the constants that it makes. The
values here are those of one point, so that size has to go out of them again. What this leads to is compared with the program itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from dcembed.importers.torch_program import operator_name
from dcembed.network.builder import Tensor

# Operators with sizes among their arguments, and which argument it is.
_RESHAPES = {"view": 1, "_unsafe_view": 1, "reshape": 1, "_reshape_alias": 1, "view_copy": 1, "reshape_copy": 1}
_EXPANSIONS = {"expand": 1, "expand_copy": 1}
_MAKERS = dict.fromkeys(("full", "zeros", "ones", "empty", "rand", "randn"), 0)
_MAKERS |= dict.fromkeys(("new_full", "new_zeros", "new_ones", "new_empty"), 1)


def for_one_point(node: fx.Node, args: Sequence[Any], batch: int | None) -> Sequence[Any]:
    """The arguments of a node as they are for one point of a batch of this size; None if the size is not in the graph."""
    name = operator_name(node.target)
    place = (_RESHAPES | _EXPANSIONS | _MAKERS).get(name)
    if batch is None or place is None or place >= len(args):
        return args
    if name in _MAKERS or not isinstance(args[0], Tensor):
        sizes = _without_batch(list(args[place]), batch) if name in _MAKERS or name in _EXPANSIONS else args[place]
    elif name in _EXPANSIONS:
        sizes = _expand_one(args[0].shape, recorded_sizes(node.all_input_nodes[0]), list(args[place]))
    else:
        sizes = _reshape_one(args[0].shape, recorded_sizes(node.all_input_nodes[0]), list(args[place]), batch)
    return [*args[:place], sizes, *args[place + 1 :]]


def recorded_sizes(node: fx.Node) -> tuple[int | None, ...] | None:
    """The shape that a value had when the graph was made; None where nothing says it."""
    if "sizes" in node.meta:
        return tuple(node.meta["sizes"])
    value = node.meta.get("val")
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def _without_batch(sizes: list[Any], batch: int) -> list[Any]:
    """Of a constant: the first axis that is as long as the batch."""
    if batch in sizes:
        sizes[sizes.index(batch)] = 1
    return sizes


def _batch_axis(shape: Sequence[int], sizes: Sequence[int | None] | None) -> int | None:
    """Where the shape of one point differs from that of the batch."""
    if sizes is None or len(sizes) != len(shape):
        return None
    return next((axis for axis, (one, whole) in enumerate(zip(shape, sizes, strict=True)) if one != whole), None)


def _expand_one(shape: Sequence[int], recorded: Sequence[int | None] | None, sizes: list[Any]) -> list[Any]:
    axis = _batch_axis(shape, recorded)
    if axis is not None:
        sizes[len(sizes) - len(shape) + axis] = shape[axis]
    return sizes


def _reshape_one(shape: Sequence[int], recorded: Sequence[int | None] | None, sizes: list[Any], batch: int) -> list[Any]:
    """The batch stays where it is in memory: in the new axis that begins with as many entries before it, or that is as long."""
    axis = _batch_axis(shape, recorded)
    if axis is None or math.prod(shape) == math.prod(size for size in sizes) or recorded is None:
        return sizes
    before = math.prod(size or 1 for size in recorded[:axis])
    places = [index for index, size in enumerate(sizes) if size > 0 and size % batch == 0]
    places.sort(key=lambda index: (sizes[index] != batch, abs(math.prod(sizes[:index]) - before)))
    if places:
        sizes[places[0]] //= batch
    return sizes
