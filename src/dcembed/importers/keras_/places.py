"""Axes of places (height, width, time) and of channels in Keras: their order, and how much is padded.

The operations have channels before places; Keras has them last unless `data_format` says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcembed.importers import operations as ops
from dcembed.importers.keras_.backend import keras
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder

Pairs = list[tuple[int, int]]


def is_last(data_format: Any) -> bool:
    """Whether channels are the last axis; None stands for the setting of Keras."""
    return str(data_format or keras.config.image_data_format()) == "channels_last"


def channels_first(builder: NetworkBuilder, value: Value, data_format: Any) -> Value:
    """The value with its channels as axis 1."""
    return ops.rearrange(builder, value, lambda a: np.moveaxis(a, -1, 1)) if is_last(data_format) else value


def channels_back(builder: NetworkBuilder, value: Value, data_format: Any) -> Value:
    """The inverse of `channels_first`."""
    return ops.rearrange(builder, value, lambda a: np.moveaxis(a, 1, -1)) if is_last(data_format) else value


def per_axis(number: Any, count: int) -> list[int]:
    """One number for each axis of places."""
    return [int(number)] * count if np.ndim(number) == 0 else [int(one) for one in number]


def padding_of(kind: str, sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Pairs:
    """What "valid", "same" and "causal" put before and after the places.

    Examples
    --------
    >>> padding_of("same", [5], [3], [2], [1]), padding_of("same", [6], [3], [2], [1]), padding_of("causal", [5], [3], [1], [2])
    ([(1, 1)], [(0, 1)], [(4, 0)])
    """
    if kind == "valid":
        return [(0, 0)] * len(sizes)
    reach = [step * (length - 1) for length, step in zip(kernel, dilation, strict=True)]
    if kind == "causal":
        return [(before, 0) for before in reach]
    if kind != "same":
        raise Unsupported(f"padding='{kind}'; accepted are valid, same and causal")
    # Each window begins a stride after the one before, and the last one has to find its entries.
    needed = [max((-(-size // step) - 1) * step + more + 1 - size, 0) for size, step, more in zip(sizes, stride, reach, strict=True)]
    return [(total // 2, total - total // 2) for total in needed]
