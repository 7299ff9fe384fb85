"""Tensors as files of torch keep them: bytes, and the sizes and strides of a view of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from dcembed.errors import NetworkError

# Of pickles, by the names of their classes.
STORAGES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}

# Entries of a tensor that repeats its numbers by strides of zero.
MOST_REPEATED = 1_000_000
MOST_AXES = 64


@dataclass(frozen=True)
class Storage:
    """Numbers in a row, of which tensors are views."""

    content: bytes
    dtype: torch.dtype


def tensor_from_bytes(storage: Storage, sizes: Sequence[int], strides: Sequence[int], offset: int) -> torch.Tensor:
    """A tensor of its own memory; sizes and strides that reach beyond the bytes are refused."""
    if max(len(sizes), len(strides)) > MOST_AXES:
        raise NetworkError(f"A tensor of {len(sizes)} axes is not read. At most {MOST_AXES} are accepted.")
    if min((*sizes, *strides, offset), default=0) < 0:
        raise NetworkError(f"A tensor of sizes {tuple(sizes)} and strides {tuple(strides)} cannot be.")
    if 0 in sizes:
        return torch.empty(tuple(sizes), dtype=storage.dtype)
    # A view of few bytes can claim any size by strides of zero: its entries are counted before they are copied.
    end = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + 1
    width = storage.dtype.itemsize
    stored = len(storage.content) // width
    if end > stored or math.prod(sizes) > max(stored, MOST_REPEATED):
        raise NetworkError(f"A tensor of sizes {tuple(sizes)} does not fit the {len(storage.content)} bytes that are stored for it.")
    flat = torch.frombuffer(bytearray(storage.content[offset * width : end * width]), dtype=storage.dtype)
    return torch.as_strided(flat, tuple(sizes), tuple(strides)).clone()
