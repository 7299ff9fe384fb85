"""Functions that are written out, arithmetic, and linear maps."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from .table import Table, parameter

ROWS = Table()

# Written out.

ROWS.curved("swish written out", lambda m, x: x * torch.sigmoid(x))
ROWS.curved("swish as a quotient", lambda m, x: x / (1 + torch.exp(-x)))
ROWS.curved("quick GELU", lambda m, x: x * torch.sigmoid(1.702 * x))
ROWS.curved("GELU written out", lambda m, x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))))
ROWS.curved("GELU tanh written out", lambda m, x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3)))))
ROWS.curved("Mish written out", lambda m, x: x * torch.tanh(F.softplus(x)))
ROWS.curved("hardswish written out", lambda m, x: x * F.relu6(x + 3) / 6)
ROWS.curved("softsign written out", lambda m, x: x / (1 + x.abs()))
ROWS.curved("logistic written out", lambda m, x: 1 / (1 + torch.exp(-x)))
ROWS.curved("softplus written out", lambda m, x: torch.log(1 + torch.exp(x)))
ROWS.curved("learned swish", lambda m, x: x * torch.sigmoid(m.beta * x), beta=lambda: nn.Parameter(torch.tensor(1.3)))

ROWS.apply("rectifier by where", lambda m, x: torch.where(x > 0, x, 0.1 * x) + torch.where(x < 1.0, 1.0, x))
ROWS.apply("rectifier by a mask", lambda m, x: x * (x > 0) + (x > 0).to(x.dtype) * x)
ROWS.apply("masked_fill by a comparison", lambda m, x: x.masked_fill(x < 0, 0.0))
ROWS.curved("ELU by where", lambda m, x: torch.where(x > 0, x, torch.exp(x) - 1))

# Arithmetic.

ROWS.apply("arithmetic", lambda m, x: (3 - 2 * x + x / 4) * m.vector - m.vector / 2, vector=parameter(5))
ROWS.apply("alpha", lambda m, x: torch.add(x, m.vector, alpha=2) - torch.sub(x, m.vector, alpha=3) + torch.rsub(x, 1), vector=parameter(5))
ROWS.apply("addcmul with constants", lambda m, x: torch.addcmul(x, m.vector, m.vector, value=0.5), vector=parameter(5))
ROWS.apply("row of a constant", lambda m, x: x + m.row, row=parameter(1, 5))
ROWS.apply("one column with all", lambda m, x: x[:, :1] + F.relu(x))
ROWS.apply("conversions", lambda m, x: x.to(torch.float64).double().contiguous().detach())
ROWS.apply("lerp", lambda m, x: torch.lerp(x, 2 * x + 1, 0.375))
ROWS.curved("product", lambda m, x: x[:, :2] * x[:, 2:4])
ROWS.curved("quotient", lambda m, x: x[:, :2] / (1 + x[:, 2:4] ** 2))
ROWS.curved("powers", lambda m, x: x**2 + torch.pow(0.5 * x, 3) + x.pow(4) / 10 + 2**x)
ROWS.curved("fractional power", lambda m, x: (x.abs() + 0.1) ** 0.7)
ROWS.curved("gating", lambda m, x: torch.tanh(m.one(x)) * torch.sigmoid(m.two(x)), one=lambda: nn.Linear(5, 3), two=lambda: nn.Linear(5, 3))
ROWS.curved("addcmul", lambda m, x: torch.addcmul(x, x, m.linear(x)), linear=lambda: nn.Linear(5, 5))

# Linear maps.

ROWS.add("Linear", lambda: nn.Linear(5, 3))
ROWS.add("Linear without bias", lambda: nn.Linear(5, 3, bias=False))
ROWS.add("Linear inside", lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Linear(3, 4), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)), (6,))
ROWS.add("Sequential", lambda: nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Dropout(), nn.Linear(4, 2)))
ROWS.apply("F.linear", lambda m, x: F.linear(x, m.weight, m.bias), weight=parameter(3, 5), bias=parameter(3))
ROWS.apply("matmul", lambda m, x: x @ m.weight + torch.matmul(x, m.weight) + torch.mm(x, m.weight), weight=parameter(5, 3))
ROWS.apply("matmul from the left", lambda m, x: torch.matmul(m.weight, x), (3, 2), weight=parameter(4, 3))
ROWS.apply("batches of matrices", lambda m, x: torch.matmul(x, m.weight), (2, 2, 3), weight=parameter(2, 3, 4))
ROWS.apply("addmm", lambda m, x: torch.addmm(m.bias, x, m.weight, beta=2, alpha=0.5), weight=parameter(5, 3), bias=parameter(3))
ROWS.apply(
    "baddbmm",
    lambda m, x: torch.baddbmm(m.bias, x, m.weight.expand(x.shape[0], 3, 4)),
    (2, 3),
    weight=parameter(3, 4),
    bias=parameter(2, 4),
)
ROWS.apply("bmm", lambda m, x: torch.bmm(x, m.weight.expand(x.shape[0], -1, -1)), (2, 3), weight=parameter(3, 4))
ROWS.apply("einsum", lambda m, x: torch.einsum("bij,jk->bik", x, m.weight), (2, 3), weight=parameter(3, 4))
ROWS.apply("einsum with an ellipsis", lambda m, x: torch.einsum("...j,kj->...k", x, m.weight), (2, 3), weight=parameter(4, 3))
ROWS.apply("tensordot", lambda m, x: torch.tensordot(x, m.weight, dims=([1, 2], [0, 1])), (2, 3), weight=parameter(2, 3, 4))
ROWS.apply("mv and outer", lambda m, x: (x @ m.vector)[:, None] * m.vector, vector=parameter(5))
ROWS.curved("bmm of two values", lambda m, x: torch.bmm(x, x.transpose(1, 2)), (2, 3))
ROWS.curved("einsum of two values", lambda m, x: torch.einsum("bi,bj->bij", x[:, :2], x[:, 2:]))
ROWS.curved("dot of two values", lambda m, x: (x[:, :2] * x[:, 2:4]).sum(-1, keepdim=True))
ROWS.curved("Bilinear", lambda m, x: m.layer(x[:, :2], x[:, 2:]), layer=lambda: nn.Bilinear(2, 3, 4))
ROWS.curved("F.bilinear without bias", lambda m, x: F.bilinear(x[:, :2], x[:, 2:], m.weight), weight=parameter(4, 2, 3))
