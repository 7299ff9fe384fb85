"""Normalization, in the forms before and after torch takes them apart; the latter give their statistics too, which nothing uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder

Handler = Callable[..., Any]


def _batch_norm(
    builder: NetworkBuilder,
    input: Value,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    training: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> Value:
    if training or mean is None:
        raise Unsupported("normalizes with the batch itself; export the model in evaluation mode (model.eval()), with running statistics")
    return ops.batch_norm(builder, input, mean, variance, weight, bias, eps)


def _native_batch_norm(builder: NetworkBuilder, input: Value, weight: Any, bias: Any, mean: Any, variance: Any, *rest: Any) -> Any:
    """Without statistics it is what torch makes of an instance normalization: all points are in the channels there."""
    training, _, eps = rest[:3]
    if mean is None:
        return ops.group_norm(builder, input, ops.shape_of(input)[1], weight, bias, eps), None, None
    return _batch_norm(builder, input, weight, bias, mean, variance, training, 0.0, eps), None, None


def _at_inference(
    builder: NetworkBuilder, input: Value, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float, eps: float
) -> Any:
    return ops.batch_norm(builder, input, mean, variance, weight, bias, eps), None, None


def _without_statistics(builder: NetworkBuilder, input: Value, *rest: Any) -> Any:
    """(weight, bias, training, momentum, eps) or, with running statistics, two more."""
    if len(rest) == 5:
        return _native_batch_norm(builder, input, rest[0], rest[1], None, None, *rest[2:])
    return _native_batch_norm(builder, input, *rest)


def _instance_norm(
    builder: NetworkBuilder,
    input: Value,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    use_input: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> Value:
    if not use_input:
        return ops.batch_norm(builder, input, mean, variance, weight, bias, eps)
    return ops.group_norm(builder, input, ops.shape_of(input)[1], weight, bias, eps)


def _last_axes(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(range(-len(shape), 0))


def _layer_norm(
    builder: NetworkBuilder, input: Value, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Value:
    return ops.layer_norm(builder, input, _last_axes(shape), weight, bias, eps)


def _rms_norm(builder: NetworkBuilder, input: Value, shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Value:
    """Without an epsilon torch takes that of double precision."""
    return ops.rms_norm(builder, input, _last_axes(shape), weight, 2.220446049250313e-16 if eps is None else eps)


def _group_norm(
    builder: NetworkBuilder, input: Value, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Value:
    return ops.group_norm(builder, input, num_groups, weight, bias, eps)


def _native_group_norm(
    builder: NetworkBuilder, input: Value, weight: Any, bias: Any, count: int, channels: int, places: int, groups: int, eps: float
) -> Any:
    return ops.group_norm(builder, input, groups, weight, bias, eps), None, None


def _with_statistics(handler: Handler, count: int) -> Handler:
    return lambda *args: (handler(*args), *([None] * count))


NORMALIZATIONS: dict[str, Handler] = {
    "batch_norm": _batch_norm,
    "native_batch_norm": _native_batch_norm,
    "_native_batch_norm_legit": _without_statistics,
    "_native_batch_norm_legit_functional": _without_statistics,
    "_native_batch_norm_legit_no_training": _at_inference,
    "_batch_norm_no_update": lambda *args: (*_at_inference(*args), None),
    "instance_norm": _instance_norm,
    "layer_norm": _layer_norm,
    "native_layer_norm": _with_statistics(_layer_norm, 2),
    "rms_norm": _rms_norm,
    "_fused_rms_norm": _with_statistics(_rms_norm, 1),
    "group_norm": _group_norm,
    "native_group_norm": _native_group_norm,
}
