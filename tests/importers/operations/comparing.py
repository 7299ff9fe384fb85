"""Compare an operation with what torch does, on computed values and on constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from dcembed.importers.operations import as_tensor, reshape, split
from dcembed.network.builder import NetworkBuilder
from dcembed.network.network import Network

POINTS = 6


def compare(
    ours: Callable[..., Any], theirs: Callable[..., Any], *shapes: tuple[int, ...], scale: float = 2.0, shift: float = 0.0, seed: int = 0
) -> Network:
    """ours(builder, *values) against theirs(*tensors), at random points; values have these whole shapes. The network is returned."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    rng = np.random.default_rng(seed)
    points = shift + scale * rng.normal(size=(POINTS, sum(sizes)))
    if shift == 0.0:
        points[0] = 0.0
    builder = NetworkBuilder((sum(sizes),))
    values = [reshape(builder, piece, shape) for piece, shape in zip(split(builder, builder.input, sizes, 0), shapes, strict=True)]
    result = as_tensor(ours(builder, *values))
    network = builder.finish(result)
    for point in points:
        pieces = [piece.reshape(shape) for piece, shape in zip(np.split(point, np.cumsum(sizes)[:-1]), shapes, strict=True)]
        expected = theirs(*(torch.tensor(piece, dtype=torch.float64) for piece in pieces)).detach().numpy()
        assert result.shape == expected.shape
        np.testing.assert_allclose(network(point), expected.reshape(-1), rtol=1e-9, atol=1e-9)
        constant = ours(builder, *pieces)
        assert isinstance(constant, np.ndarray | np.generic)
        np.testing.assert_allclose(constant, expected, rtol=1e-9, atol=1e-9)
    return network


def names(network: Network) -> set[str]:
    """The activations of a network."""
    return {activation.name for activation in network.activations}


def num_nonzeros(network: Network) -> int:
    """Numbers that all blocks are made of."""
    blocks = [block for affine in (*network.stages, network.output) for block in affine.weights.values()]
    return sum(int(block.nnz) if hasattr(block, "nnz") else int(np.count_nonzero(block)) for block in blocks)
