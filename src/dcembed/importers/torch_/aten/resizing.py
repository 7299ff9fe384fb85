"""Upsampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dcembed.importers import operations as ops
from dcembed.importers.operations import Value
from dcembed.network.builder import NetworkBuilder

Handler = Callable[..., Any]


def _targets(input: Value, count: int, output_size: Sequence[int] | None, scales: Sequence[float | None]) -> list[int]:
    if output_size is not None:
        return [int(size) for size in output_size]
    return [math.floor(size * float(scale or 1.0)) for size, scale in zip(ops.shape_of(input)[-count:], scales, strict=True)]


def _read_scales(rest: Sequence[Any], count: int) -> list[float | None]:
    """A list of all factors, or one argument each; none if the sizes alone count."""
    given = rest[0] if len(rest) == 1 and isinstance(rest[0], list | tuple) else rest
    factors = [None if factor is None else float(factor) for factor in given or ()]
    return factors + [None] * (count - len(factors))


def _nearest(count: int, exact: bool) -> Handler:
    """The factors count also where the sizes are given: torch divides by them."""

    def handler(builder: NetworkBuilder, input: Value, output_size: Sequence[int] | None, *rest: Any) -> Value:
        scales = _read_scales(rest, count)
        sizes = _targets(input, count, output_size, scales)
        coordinates, rounding = ("half_pixel", "round_prefer_ceil") if exact else ("asymmetric", "floor")
        return ops.resize(builder, input, sizes, mode="nearest", coordinates=coordinates, rounding=rounding, scales=scales)

    return handler


def _smooth(count: int, mode: str) -> Handler:
    def handler(builder: NetworkBuilder, input: Value, output_size: Sequence[int] | None, align_corners: bool, *rest: Any) -> Value:
        scales = _read_scales(rest, count)
        sizes = _targets(input, count, output_size, scales)
        coordinates = "align_corners" if align_corners else "half_pixel"
        return ops.resize(builder, input, sizes, mode=mode, coordinates=coordinates, scales=scales)

    return handler


RESIZING: dict[str, Handler] = {
    **{f"upsample_nearest{axes}d": _nearest(axes, exact=False) for axes in (1, 2, 3)},
    **{f"_upsample_nearest_exact{axes}d": _nearest(axes, exact=True) for axes in (1, 2, 3)},
    "upsample_linear1d": _smooth(1, "linear"),
    "upsample_bilinear2d": _smooth(2, "linear"),
    "upsample_trilinear3d": _smooth(3, "linear"),
    "upsample_bicubic2d": _smooth(2, "cubic"),
}
