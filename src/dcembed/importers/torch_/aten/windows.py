"""Windows of images as columns and back, parts of matrices, and sums of products of three values."""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Value
from dcembed.network.builder import NetworkBuilder, Tensor

Handler = Callable[..., Any]


def _numbers(shape: Sequence[int], operator: Callable[[torch.Tensor], torch.Tensor]) -> Array:
    """Which entry of a value of this shape an operator that moves entries, and puts in zeros, takes where; -1 for a zero."""
    marked = torch.arange(1, math.prod(shape) + 1, dtype=torch.float64).reshape(tuple(shape))
    numbers: Array = operator(marked).numpy().astype(np.int64) - 1
    return numbers


def _moving(name: str) -> Handler:
    """An operator that moves entries and puts in zeros."""
    target = getattr(torch.ops.aten, name)

    def handler(builder: NetworkBuilder, input: Tensor, *args: Any, **kwargs: Any) -> Value:
        return ops.fold(ops.pick(builder, input, _numbers(input.shape, lambda marked: target(marked, *args, **kwargs))))

    return handler


def _columns_to_image(
    builder: NetworkBuilder, input: Tensor, output_size: Sequence[int], kernel: Sequence[int], dilation: Any, padding: Any, stride: Any
) -> Value:
    """Every entry of a column is added to where it came from."""
    kernel_size = math.prod(kernel)
    shape = (*input.shape[:-2], input.shape[-2] // kernel_size, *output_size)
    to = _numbers(shape, lambda marked: torch.ops.aten.im2col(marked, list(kernel), dilation, padding, stride)).reshape(-1)
    inside = to >= 0
    matrix = sp.csr_array((np.ones(inside.sum()), (to[inside], np.flatnonzero(inside))), shape=(math.prod(shape), to.size))
    return ops.transform(builder, input, matrix, shape)


def _trilinear(
    builder: NetworkBuilder,
    first: Value,
    second: Value,
    third: Value,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Value:
    """The sum over some axes of the products of three values, each without some of the axes."""
    letters = string.ascii_lowercase[: len(ops.shape_of(first)) + len(expand1)]
    labels = ["".join(letter for axis, letter in enumerate(letters) if axis not in left) for left in (expand1, expand2, expand3, sumdim)]
    return ops.einsum(builder, f"{','.join(labels[:3])}->{labels[3]}", first, second, third)


WINDOWS: dict[str, Handler] = {
    **{name: _moving(name) for name in ("im2col", "tril", "triu", "diag_embed", "diag")},
    "col2im": _columns_to_image,
    "_trilinear": _trilinear,
}
