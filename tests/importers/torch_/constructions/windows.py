"""Convolutions and pooling."""

from __future__ import annotations

import torch.nn.functional as F
from torch import nn

from .table import Table, parameter

ROWS = Table()

# Convolutions.

ROWS.add("Conv1d", lambda: nn.Conv1d(2, 3, 3, stride=2, padding=1), (2, 7))
ROWS.add("Conv1d same", lambda: nn.Conv1d(2, 3, 4, padding="same", dilation=2), (2, 7))
ROWS.add("Conv2d", lambda: nn.Conv2d(2, 4, (3, 2), stride=(1, 2), padding=(1, 0), dilation=(2, 1), groups=2), (2, 6, 5))
ROWS.add("Conv2d valid", lambda: nn.Conv2d(1, 2, 3, padding="valid", bias=False), (1, 5, 4))
ROWS.add("Conv2d depthwise", lambda: nn.Conv2d(3, 6, 3, groups=3, padding=1), (3, 4, 4))
ROWS.add("Conv3d", lambda: nn.Conv3d(1, 2, 2, padding=1), (1, 3, 2, 3))
for _mode in ("reflect", "replicate", "circular"):
    ROWS.add(f"Conv1d {_mode}", lambda mode=_mode: nn.Conv1d(2, 2, 3, padding=2, padding_mode=mode), (2, 5))
    ROWS.add(f"Conv2d {_mode}", lambda mode=_mode: nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode=mode), (1, 4, 5))
ROWS.add("Conv3d circular", lambda: nn.Conv3d(1, 2, 3, padding=1, padding_mode="circular"), (1, 3, 3, 3))
ROWS.add("ConvTranspose1d", lambda: nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1, output_padding=1), (2, 4))
ROWS.add("ConvTranspose2d", lambda: nn.ConvTranspose2d(2, 4, (3, 2), stride=2, groups=2, dilation=(1, 2)), (2, 3, 3))
ROWS.add("ConvTranspose3d", lambda: nn.ConvTranspose3d(1, 2, 2, stride=2, bias=False), (1, 2, 2, 2))
ROWS.apply("F.conv1d", lambda m, x: F.conv1d(x, m.weight, stride=2), (2, 6), weight=parameter(3, 2, 2))
ROWS.apply(
    "F.conv2d", lambda m, x: F.conv2d(x, m.weight, m.bias, padding="same"), (2, 4, 4), weight=parameter(3, 2, 3, 3), bias=parameter(3)
)
ROWS.apply("F.conv_transpose2d", lambda m, x: F.conv_transpose2d(x, m.weight, stride=3), (2, 2, 2), weight=parameter(2, 1, 2, 2))
ROWS.add(
    "CNN",
    lambda: nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(3, 4, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 2),
    ),
    (1, 8, 8),
)

# Pooling.

ROWS.add("MaxPool1d", lambda: nn.MaxPool1d(3, stride=2, padding=1), (2, 7))
ROWS.add("MaxPool2d", lambda: nn.MaxPool2d((2, 3), stride=(1, 2), padding=(0, 1), ceil_mode=True), (2, 4, 6))
ROWS.add("MaxPool2d dilated", lambda: nn.MaxPool2d(2, stride=1, dilation=2), (1, 4, 5))
ROWS.add("MaxPool3d", lambda: nn.MaxPool3d(2), (1, 4, 2, 2))
ROWS.add("AvgPool1d", lambda: nn.AvgPool1d(3, stride=2, padding=1, count_include_pad=False), (2, 7))
ROWS.add("AvgPool2d", lambda: nn.AvgPool2d((2, 3), stride=2, padding=1, ceil_mode=True), (2, 4, 5))
ROWS.add("AvgPool2d divisor", lambda: nn.AvgPool2d(2, divisor_override=3), (1, 4, 4))
ROWS.add("AvgPool3d", lambda: nn.AvgPool3d(2), (1, 2, 4, 2))
for _axes, _sizes in ((1, (5,)), (2, (5, 4)), (3, (3, 4, 2))):
    ROWS.add(f"AdaptiveAvgPool{_axes}d", lambda n=_axes: getattr(nn, f"AdaptiveAvgPool{n}d")((2,) * n), (2, *_sizes))
    ROWS.add(f"AdaptiveMaxPool{_axes}d", lambda n=_axes: getattr(nn, f"AdaptiveMaxPool{n}d")((2,) * n), (2, *_sizes))
ROWS.add("AdaptiveAvgPool2d kept", lambda: nn.AdaptiveAvgPool2d((None, 2)), (1, 3, 5))
ROWS.add("global average", lambda: nn.AdaptiveAvgPool2d(1), (2, 3, 4))
ROWS.apply("F.max_pool2d", lambda m, x: F.max_pool2d(x, 2), (2, 4, 4))
ROWS.apply("F.avg_pool2d", lambda m, x: F.avg_pool2d(x, 2, padding=1), (2, 4, 4))
ROWS.apply("F.adaptive_avg_pool2d", lambda m, x: F.adaptive_avg_pool2d(x, (1, 2)), (2, 4, 4))
ROWS.apply("F.adaptive_max_pool2d", lambda m, x: F.adaptive_max_pool2d(x, (1, 2)), (2, 4, 4))

ROWS.smooth("LPPool1d", lambda: nn.LPPool1d(2, 3), (2, 6))
ROWS.smooth("LPPool2d", lambda: nn.LPPool2d(2, 2), (1, 4, 4))
