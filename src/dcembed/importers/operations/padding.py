"""Padding and cropping."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcembed.importers.operations.values import Unsupported, Value, as_tensor, fold, pick
from dcembed.network.builder import NetworkBuilder

# What numpy calls the modes.
_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(builder: NetworkBuilder, value: Value, widths: Sequence[tuple[int, int]], mode: str = "constant", fill: float = 0.0) -> Value:
    """Entries put before and after, a pair of numbers of them for every axis; negative ones crop.

    `mode` is constant (`fill`), reflect, replicate or circular.
    """
    tensor = as_tensor(value)
    if mode != "constant" and mode not in _MODES:
        raise Unsupported(f"pads in the mode '{mode}'; accepted are constant, {', '.join(_MODES)}")
    entries = np.arange(tensor.affine.num_rows).reshape(tensor.shape)
    outside = [(max(before, 0), max(after, 0)) for before, after in widths]
    crop = tuple(slice(max(-before, 0), size - max(-after, 0)) for (before, after), size in zip(widths, tensor.shape, strict=True))
    if mode == "constant":
        return fold(pick(builder, tensor, np.pad(entries[crop], outside, constant_values=-1), fill))
    return fold(pick(builder, tensor, np.pad(entries[crop], outside, mode=_MODES[mode])))  # type: ignore[call-overload]
