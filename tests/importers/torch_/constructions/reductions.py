"""Reductions, orders, and sums into places."""

from __future__ import annotations

import torch
from torch import nn

from .table import Table

ROWS = Table()

# Reductions.

ROWS.apply("sum", lambda m, x: x.sum(1) + torch.sum(x, dim=(1,), keepdim=False), (2, 3))
ROWS.apply("mean", lambda m, x: x.mean((1, 2), keepdim=True) + torch.mean(x, 2, keepdim=True), (2, 3))
ROWS.apply("max", lambda m, x: x.max(1).values + torch.max(x, 1)[0] + torch.amax(x, 1) - x.min(dim=1)[0] - x.amin(1), (2, 3))
ROWS.apply("cumsum", lambda m, x: torch.cumsum(x, 1))
ROWS.apply("norm 1", lambda m, x: torch.norm(x, p=1, dim=1, keepdim=True) + x.norm(float("inf"), 1, True))
ROWS.apply("diff", lambda m, x: torch.diff(x, dim=1))
ROWS.curved("norm 2", lambda m, x: torch.linalg.vector_norm(x, dim=1, keepdim=True) + x.norm(dim=1, keepdim=True))
ROWS.curved("prod", lambda m, x: x.prod(1, keepdim=True), (3,))
ROWS.curved("var and std", lambda m, x: x.var(1, keepdim=True) + (x + torch.arange(5.0)).std(1, keepdim=True))

ROWS.apply("sort", lambda m, x: torch.sort(x, 1).values - x.sort(dim=1, descending=True)[0])
ROWS.apply("topk", lambda m, x: torch.topk(x, 3, 1).values + x.topk(3, largest=False).values)
ROWS.apply("median", lambda m, x: x.median(1, keepdim=True).values + torch.kthvalue(x, 2, 1, True).values)
ROWS.apply("GroupSort", lambda m, x: m.linear(x).reshape(-1, 3, 2).sort(-1).values.flatten(1), linear=lambda: nn.Linear(5, 6))
ROWS.apply("running extremes", lambda m, x: x.cummax(1).values - torch.cummin(x, 1).values)
ROWS.curved("logcumsumexp", lambda m, x: torch.logcumsumexp(x, 1))
ROWS.curved("cumprod", lambda m, x: torch.cumprod(x, 1))
ROWS.curved("distances", lambda m, x: torch.cdist(x, m.centres), centres=lambda: torch.randn(3, 5))
ROWS.curved("radial basis", lambda m, x: torch.exp(-((x[:, None] - m.centres) ** 2).sum(-1)), centres=lambda: torch.randn(3, 5))

# Graphs: sums into places.

ROWS.apply(
    "scatter_add",
    lambda m, x: torch.zeros_like(x).scatter_add(1, m.place.expand(len(x), -1), x),
    place=lambda: torch.tensor([[0, 2, 2, 1, 0]]),
)
ROWS.apply("index_add", lambda m, x: torch.zeros_like(x).index_add(1, m.place, 2 * x), place=lambda: torch.tensor([0, 2, 2, 1, 0]))
ROWS.apply(
    "scatter", lambda m, x: torch.ones_like(x).scatter(1, m.place.expand(len(x), -1), x[:, :2]), place=lambda: torch.tensor([[4, 2]])
)
ROWS.apply(
    "sparse matrix", lambda m, x: torch.sparse.mm(m.matrix.to_sparse(), x.t()).t(), matrix=lambda: torch.eye(5) + torch.ones(5, 5).tril(-3)
)
