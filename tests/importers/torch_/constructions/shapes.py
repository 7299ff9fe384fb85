"""Shapes and entries, and changes in place."""

from __future__ import annotations

import torch
from torch import nn

from .table import Table, parameter

ROWS = Table()

ROWS.add("Flatten", lambda: nn.Sequential(nn.Flatten(), nn.Linear(6, 2)), (2, 3))
ROWS.add("Flatten some axes", lambda: nn.Flatten(2, 3), (2, 3, 2))
ROWS.add("Unflatten", lambda: nn.Sequential(nn.Unflatten(1, (2, -1)), nn.Linear(3, 2)), (6,))
ROWS.apply("reshape", lambda m, x: x.reshape(x.shape[0], 3, -1) + x.view(-1, 3, 2) + torch.reshape(x, (x.size(0), 3, 2)), (6,))
ROWS.apply("flatten", lambda m, x: torch.flatten(x, 1) + x.flatten(start_dim=1), (2, 3))
ROWS.apply(
    "permute", lambda m, x: x.permute(0, 2, 1) + x.transpose(1, 2) + x.mT + torch.movedim(x, 1, 2) + torch.swapaxes(x, 1, -1), (2, 3)
)
ROWS.apply("to a sequence and back", lambda m, x: m.linear(x.permute(1, 0, 2)).transpose(0, 1), (2, 3), linear=lambda: nn.Linear(3, 2))
ROWS.apply("squeeze", lambda m, x: x.unsqueeze(1).squeeze(1) + torch.squeeze(x[..., None], -1))
ROWS.apply("slices", lambda m, x: x[:, 1:4:2] + x[:, -2:] + x[..., :2] - x[:, [0, 3]])
ROWS.apply("integer and None", lambda m, x: x[:, 1] + x[:, None, -1][:, 0], (3, 2))
ROWS.apply("fancy index", lambda m, x: x[:, m.index] + x[:, [1, 0], [0, 1]][:, :, None], (2, 2), index=lambda: torch.tensor([1, 0]))
ROWS.apply("mask", lambda m, x: x[:, m.mask], mask=lambda: torch.tensor([True, False, True, True, False]))
ROWS.apply("index_select", lambda m, x: torch.index_select(x, 1, m.index), index=lambda: torch.tensor([4, 0, 0]))
ROWS.apply("gather", lambda m, x: torch.gather(x, 1, m.index.expand(x.shape[0], -1)), index=lambda: torch.tensor([[2, 2, 0]]))
ROWS.apply("take_along_dim", lambda m, x: torch.take_along_dim(x, m.index, 1), index=lambda: torch.tensor([[2, 2, 0]]))
ROWS.apply("split", lambda m, x: x.split([2, 3], 1)[1] + torch.split(x, 3, 1)[0])
ROWS.apply("chunk", lambda m, x: sum(x.chunk(2, dim=1)) + torch.chunk(x, 2, 1)[0], (6,))
ROWS.apply("unbind", lambda m, x: x.unbind(1)[0] - torch.unbind(x, 1)[1], (2, 3))
ROWS.apply("narrow and select", lambda m, x: x.narrow(1, 1, 2)[:, 0] + x.select(1, 2), (3, 2))
ROWS.apply("cat", lambda m, x: torch.cat([x, m.linear(x), torch.ones(x.shape[0], 1).to(x)], 1), linear=lambda: nn.Linear(5, 2))
ROWS.apply("stack", lambda m, x: torch.stack([x, 2 * x], 1) + torch.stack((x, x), dim=-1).transpose(1, 2))
ROWS.apply("hstack", lambda m, x: torch.hstack([x, -x]))
ROWS.apply("expand", lambda m, x: x.unsqueeze(1).expand(-1, 3, -1) * m.weight, weight=parameter(3, 5))
ROWS.apply("repeat", lambda m, x: x.repeat(1, 2) + torch.tile(x, (1, 2)) + x.repeat_interleave(2, 1))
ROWS.apply("flip and roll", lambda m, x: torch.flip(x, [1]) + torch.roll(x, 2, 1) + torch.fliplr(x))
ROWS.apply(
    "where", lambda m, x: torch.where(m.mask, x, 0.5 * x) + torch.where(m.mask, x, 3.0), mask=lambda: torch.tensor([1, 0, 1, 0, 0]) > 0
)
ROWS.apply("masked_fill", lambda m, x: x.masked_fill(m.mask, -2.0), mask=lambda: torch.tensor([1, 0, 1, 0, 0]) > 0)
ROWS.apply("tril", lambda m, x: torch.tril(x) + torch.triu(x, 1), (3, 3))
ROWS.apply("diagonal", lambda m, x: torch.diagonal(x, dim1=1, dim2=2), (3, 3))
ROWS.apply("zeros_like", lambda m, x: torch.relu(x - torch.zeros_like(x)) + torch.full_like(x, 2.0) + x.new_ones(5))
ROWS.apply("write into zeros", lambda m, x: _write_into_zeros(x))
ROWS.apply("change in place", lambda m, x: _change_in_place(x))
ROWS.apply("change a part in place", lambda m, x: _change_part(x))


def _write_into_zeros(x: torch.Tensor) -> torch.Tensor:
    result = torch.zeros(x.shape[0], 4, dtype=x.dtype)
    result[:, 0] = x[:, 1]
    result[:, 1:3] = 2 * x[:, :2]
    return result


def _change_in_place(x: torch.Tensor) -> torch.Tensor:
    y = 2 * x
    z = y.view(-1, 1, 5)
    y += 1
    y.relu_()
    return z[:, 0] + y


def _change_part(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    part = y[:, 1:3]
    part.mul_(-3.0)
    y[:, 0] += x[:, 4]
    return torch.cat([y, part], 1)
