"""Activations: modules, functions and methods."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .table import Table

ROWS = Table()

# Activations as modules.

for _kind in (nn.ReLU, nn.ReLU6, nn.Hardtanh, nn.Hardsigmoid, nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.Softshrink):
    ROWS.add(_kind.__name__, _kind)
for _kind in (
    nn.ELU,
    nn.SELU,
    nn.CELU,
    nn.GELU,
    nn.SiLU,
    nn.Mish,
    nn.Softplus,
    nn.LogSigmoid,
    nn.Softsign,
    nn.Tanh,
    nn.Sigmoid,
    nn.Hardswish,
):
    ROWS.smooth(_kind.__name__, _kind)
ROWS.smooth("Tanhshrink", nn.Tanhshrink)
ROWS.smooth("GELU tanh", lambda: nn.GELU("tanh"))
ROWS.smooth("ELU alpha", lambda: nn.ELU(0.25))
ROWS.smooth("CELU alpha", lambda: nn.CELU(1.75))
ROWS.smooth("Softplus beta", lambda: nn.Softplus(3.0, 40.0))
ROWS.smooth("GLU", nn.GLU, (6,))
ROWS.smooth("GLU over channels", lambda: nn.GLU(1), (4, 3))
ROWS.add("LeakyReLU slope", lambda: nn.LeakyReLU(-0.25))
ROWS.add("PReLU per channel", lambda: nn.PReLU(5))
ROWS.add("PReLU over channels", lambda: nn.PReLU(2), (2, 3))
ROWS.add("Hardtanh limits", lambda: nn.Hardtanh(-0.25, 1.75))
ROWS.add("Threshold", lambda: nn.Threshold(0.5, 0.5))
ROWS.add("ReLU inplace", lambda: nn.Sequential(nn.Linear(5, 4), nn.ReLU(inplace=True), nn.Linear(4, 2)))
ROWS.add("Softshrink width", lambda: nn.Softshrink(1.25))
ROWS.smooth("Softmax", lambda: nn.Softmax(1))
ROWS.smooth("Softmax of two", lambda: nn.Sequential(nn.Linear(5, 2), nn.Softmax(-1)))
ROWS.smooth("Softmax2d", nn.Softmax2d, (3, 2, 2))
ROWS.smooth("Softmin", lambda: nn.Softmin(1))
ROWS.smooth("LogSoftmax", lambda: nn.LogSoftmax(-1))

# Activations as functions and methods.

ROWS.apply("F.relu", lambda m, x: F.relu(x))
ROWS.apply("Tensor.relu", lambda m, x: x.relu() + torch.relu(-x))
ROWS.apply("F.relu inplace", lambda m, x: F.relu(2 * x, inplace=True))
ROWS.apply("Tensor.relu_", lambda m, x: (x + 1).relu_())
ROWS.apply("F.relu6", lambda m, x: F.relu6(x))
ROWS.apply("F.leaky_relu", lambda m, x: F.leaky_relu(x, negative_slope=0.375))
ROWS.apply("F.prelu", lambda m, x: F.prelu(x, m.slope), slope=lambda: torch.tensor([0.3]))
ROWS.apply("F.rrelu", lambda m, x: F.rrelu(x, 0.1, 0.4))
ROWS.apply("F.hardtanh", lambda m, x: F.hardtanh(x, -2.0, 0.5))
ROWS.apply("F.hardsigmoid", lambda m, x: F.hardsigmoid(x))
ROWS.apply("F.softshrink", lambda m, x: F.softshrink(x, 0.2))
ROWS.apply("F.threshold", lambda m, x: F.threshold(x, -0.5, -0.5))
ROWS.apply("abs", lambda m, x: torch.abs(x) + x.abs() + abs(x))
ROWS.apply("clamp", lambda m, x: torch.clamp(x, -0.25, 0.375) + x.clamp(min=0.5) + x.clamp_max(0.25) + torch.clip(x, max=0.125))
ROWS.apply(
    "clamp by tensors", lambda m, x: torch.clamp(x, max=m.limit) + torch.clamp(x, m.limit - 1.0, m.limit), limit=lambda: torch.randn(5)
)
ROWS.apply("maximum and minimum", lambda m, x: torch.maximum(x, m.other) - torch.minimum(x, 2 * x), other=lambda: torch.randn(5))
ROWS.apply("maxout", lambda m, x: m.linear(x).reshape(-1, 4, 3).amax(2), linear=lambda: nn.Linear(5, 12))
for _name in ("elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "logsigmoid", "softsign", "hardswish", "tanhshrink"):
    ROWS.curved(f"F.{_name}", lambda m, x, name=_name: getattr(F, name)(x))
for _name in ("tanh", "sigmoid", "sin", "cos", "exp", "square", "erf", "atan", "sinh", "cosh", "expm1", "erfc", "exp2"):
    ROWS.curved(f"torch.{_name}", lambda m, x, name=_name: getattr(torch, name)(0.5 * x))
    ROWS.curved(f"Tensor.{_name}", lambda m, x, name=_name: getattr(0.5 * x, name)())
for _name in ("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal"):
    ROWS.curved(f"torch.{_name}", lambda m, x, name=_name: getattr(torch, name)(x.abs() + 0.5))
ROWS.curved("F.glu", lambda m, x: F.glu(x, 1), (6,))
ROWS.curved("F.softmax", lambda m, x: F.softmax(x, dim=-1))
ROWS.curved("Tensor.softmax", lambda m, x: x.softmax(1))
ROWS.curved("F.log_softmax", lambda m, x: F.log_softmax(x, dim=-1))
ROWS.curved("F.softmin", lambda m, x: F.softmin(x, dim=-1))
ROWS.curved("logit", lambda m, x: torch.logit(0.125 + 0.75 * torch.sigmoid(x)) + torch.logit(0.0625 * x + 0.5, eps=0.0078125))
ROWS.curved("logsumexp", lambda m, x: torch.logsumexp(x, 1, keepdim=True))
ROWS.curved("logaddexp", lambda m, x: torch.logaddexp(x[:, :2], x[:, 2:4]))
