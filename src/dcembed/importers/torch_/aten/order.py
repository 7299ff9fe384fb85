"""Operators that sort, or that go along an axis step by step; and sums into places."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.lowering import UNKNOWN
from dcembed.importers.operations import Value
from dcembed.network.builder import NetworkBuilder

Handler = Callable[..., Any]


def _sort(builder: NetworkBuilder, input: Value, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> Any:
    return ops.sort(builder, input, dim, descending), UNKNOWN


def _top(builder: NetworkBuilder, input: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return ops.take(builder, ops.sort(builder, input, dim, largest), np.arange(k), dim), UNKNOWN


def _nth(builder: NetworkBuilder, input: Value, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    chosen = ops.take(builder, ops.sort(builder, input, dim), np.array([k - 1]), dim)
    return (chosen if keepdim else ops.rearrange(builder, chosen, lambda a: np.squeeze(a, dim))), UNKNOWN


def _median(builder: NetworkBuilder, input: Value, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower one of two in the middle."""
    if dim is None:
        flat = ops.reshape(builder, input, (-1,))
        return _nth(builder, flat, (ops.shape_of(flat)[0] + 1) // 2, 0)[0]
    return _nth(builder, input, (ops.shape_of(input)[dim] + 1) // 2, dim, keepdim)


def _running(operation: Callable[[NetworkBuilder, Value, Array], Value], sign: float = 1.0) -> Handler:
    """An operation on everything up to each entry."""

    def handler(builder: NetworkBuilder, input: Value, dim: int) -> Value:
        moved = ops.rearrange(builder, ops.scale(builder, input, sign), lambda a: np.moveaxis(a, dim, -1))
        numbers = np.arange(math.prod(ops.shape_of(moved))).reshape(ops.shape_of(moved))
        size = numbers.shape[-1]
        table = np.where(np.tri(size, dtype=bool), numbers[..., None, :], -1)
        found = ops.reshape(builder, operation(builder, moved, table.reshape(-1, size)), numbers.shape)
        return ops.scale(builder, ops.rearrange(builder, found, lambda a: np.moveaxis(a, -1, dim)), sign)

    return handler


def _with_places(handler: Handler) -> Handler:
    return lambda builder, input, dim: (handler(builder, input, dim), UNKNOWN)


def _scatter_add(builder: NetworkBuilder, input: Value, dim: int, index: Any, src: Value) -> Value:
    """Every entry of `src` is added to where its index says, along one axis."""
    chosen = ops.as_indices(index)
    places: list[Array] = list(np.indices(chosen.shape))
    source = np.ravel_multi_index(tuple(places), ops.shape_of(src)).reshape(-1)
    places[dim % chosen.ndim] = chosen
    target = np.ravel_multi_index(tuple(places), ops.shape_of(input)).reshape(-1)
    shape = ops.shape_of(input)
    matrix = sp.csr_array((np.ones(target.size), (target, source)), shape=(math.prod(shape), math.prod(ops.shape_of(src))))
    return ops.add(builder, input, ops.transform(builder, src, matrix, shape))


def _logit(builder: NetworkBuilder, input: Value, eps: float | None = None) -> Value:
    return ops.logit(builder, input, eps)


ORDER: dict[str, Handler] = {
    "sort": _sort,
    "msort": lambda builder, input: ops.sort(builder, input, 0),
    "topk": _top,
    "kthvalue": _nth,
    "median": _median,
    "cummax": _with_places(_running(ops.largest)),
    "cummin": _with_places(_running(ops.largest, -1.0)),
    "logcumsumexp": _running(ops.log_sum_exp_of),
    "scatter_add": _scatter_add,
    "logit": _logit,
    "special_logit": _logit,
}
