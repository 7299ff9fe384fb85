"""Normalization."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .table import Table

ROWS = Table()

ROWS.add("BatchNorm1d", lambda: nn.BatchNorm1d(5))
ROWS.add("BatchNorm1d on channels", lambda: nn.BatchNorm1d(2), (2, 3))
ROWS.add("BatchNorm1d not affine", lambda: nn.BatchNorm1d(5, affine=False))
ROWS.add("BatchNorm2d", lambda: nn.BatchNorm2d(2, eps=0.125), (2, 3, 2))
ROWS.add("BatchNorm3d", lambda: nn.BatchNorm3d(2), (2, 2, 2, 2))
ROWS.apply("F.batch_norm", lambda m, x: F.batch_norm(x, m.mean, m.mean**2, eps=1.0), mean=lambda: torch.randn(5))
ROWS.add("InstanceNorm with statistics", lambda: nn.InstanceNorm1d(2, track_running_stats=True), (2, 4))
ROWS.smooth("InstanceNorm1d", lambda: nn.InstanceNorm1d(2), (2, 4))
ROWS.smooth("InstanceNorm2d", lambda: nn.InstanceNorm2d(2, affine=True), (2, 3, 2))
ROWS.smooth("InstanceNorm3d", lambda: nn.InstanceNorm3d(1), (1, 2, 2, 2))
ROWS.smooth("LayerNorm", lambda: nn.LayerNorm(5))
ROWS.smooth("LayerNorm over two axes", lambda: nn.LayerNorm((2, 3)), (2, 3))
ROWS.smooth("LayerNorm not affine", lambda: nn.LayerNorm(3, elementwise_affine=False), (2, 3))
ROWS.smooth("GroupNorm", lambda: nn.GroupNorm(2, 4), (4, 3))
ROWS.smooth("RMSNorm", lambda: nn.RMSNorm(5, eps=1e-5))
ROWS.smooth("LocalResponseNorm", lambda: nn.LocalResponseNorm(3, alpha=0.5), (4, 3))
ROWS.curved("F.layer_norm", lambda m, x: F.layer_norm(x, (5,)))
ROWS.curved("F.group_norm", lambda m, x: F.group_norm(x, 2), (4, 3))
ROWS.curved("F.normalize", lambda m, x: F.normalize(x + 0.125, dim=1))
ROWS.curved(
    "standardized by hand", lambda m, x: (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-3)
)
