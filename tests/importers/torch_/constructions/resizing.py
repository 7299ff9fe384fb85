"""Resizing, padding and shuffles."""

from __future__ import annotations

import torch.nn.functional as F
from torch import nn

from .table import Table

ROWS = Table()

for _mode in ("nearest", "nearest-exact", "linear"):
    ROWS.add(f"Upsample {_mode}", lambda mode=_mode: nn.Upsample(scale_factor=2.5, mode=mode), (2, 4))
ROWS.add("Upsample bilinear", lambda: nn.Upsample(size=(3, 7), mode="bilinear"), (1, 4, 3))
ROWS.add("Upsample bilinear corners", lambda: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), (1, 4, 3))
ROWS.add("Upsample bicubic", lambda: nn.Upsample(scale_factor=(2, 1.5), mode="bicubic"), (1, 4, 4))
ROWS.add("Upsample bicubic corners", lambda: nn.Upsample(size=(5, 6), mode="bicubic", align_corners=True), (1, 4, 4))
ROWS.add("Upsample trilinear", lambda: nn.Upsample(scale_factor=2, mode="trilinear"), (1, 2, 2, 3))
ROWS.add("UpsamplingNearest2d", lambda: nn.UpsamplingNearest2d(scale_factor=2), (2, 2, 3))
ROWS.add("UpsamplingBilinear2d", lambda: nn.UpsamplingBilinear2d(scale_factor=2), (2, 2, 3))
ROWS.apply("F.interpolate", lambda m, x: F.interpolate(x, scale_factor=1.7, mode="linear", recompute_scale_factor=True), (1, 5))
ROWS.apply("F.interpolate area", lambda m, x: F.interpolate(x, size=3, mode="area"), (1, 5))
for _axes in (1, 2, 3):
    _sizes = (4, 3, 3)[:_axes]
    ROWS.add(f"ZeroPad{_axes}d", lambda n=_axes: getattr(nn, f"ZeroPad{n}d")(1), (2, *_sizes))
    ROWS.add(f"ConstantPad{_axes}d", lambda n=_axes: getattr(nn, f"ConstantPad{n}d")(2, 1.5), (2, *_sizes))
    ROWS.add(f"ReflectionPad{_axes}d", lambda n=_axes: getattr(nn, f"ReflectionPad{n}d")(1), (2, *_sizes))
    ROWS.add(f"ReplicationPad{_axes}d", lambda n=_axes: getattr(nn, f"ReplicationPad{n}d")(2), (2, *_sizes))
    ROWS.add(f"CircularPad{_axes}d", lambda n=_axes: getattr(nn, f"CircularPad{n}d")(1), (2, *_sizes))
ROWS.apply("F.pad", lambda m, x: F.pad(x, (1, 2, 0, 1), value=0.3) + F.pad(x, (-1, 4, 1, 0)), (2, 3))
ROWS.add("PixelShuffle", lambda: nn.PixelShuffle(2), (8, 2, 3))
ROWS.add("PixelUnshuffle", lambda: nn.PixelUnshuffle(2), (2, 4, 2))
ROWS.add("ChannelShuffle", lambda: nn.ChannelShuffle(2), (4, 2, 2))
ROWS.add("Unfold", lambda: nn.Unfold(2, padding=1, stride=2), (2, 3, 4))
ROWS.add("Fold", lambda: nn.Fold((3, 4), 2, padding=1, stride=2), (8, 6))
