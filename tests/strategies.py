"""Random networks for property tests: skip blocks, zero rows, dead units, extreme scales."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dcembed.network import Affine, Network

SCALES = (1e-6, 1e-2, 1.0, 1e2, 1e6)


@st.composite
def networks(draw, max_inputs: int = 4, max_stages: int = 4, max_width: int = 6, max_outputs: int = 3, scales=SCALES) -> Network:
    """A network in skip form whose weights come from a drawn seed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    num_inputs = draw(st.integers(1, max_inputs))
    widths = draw(st.lists(st.integers(1, max_width), min_size=0, max_size=max_stages))
    num_outputs = draw(st.integers(1, max_outputs))
    with_skips = draw(st.booleans())
    sizes = [num_inputs, *widths]
    scale = draw(st.sampled_from(scales))

    def affine(rows: int, index: int) -> Affine:
        last = index - 1
        sources = [last] + [source for source in range(last) if with_skips and rng.random() < 0.5]
        weights = {source: rng.normal(size=(rows, sizes[source])) * scale ** rng.choice([0, 1]) for source in sources}
        for block in weights.values():
            block[rng.random(rows) < 0.15] = 0.0  # zero rows
            block[rng.random(block.shape) < 0.2] = 0.0
        bias = rng.normal(size=rows)
        bias[rng.random(rows) < 0.15] = -1e9  # dead units
        bias[rng.random(rows) < 0.15] = 0.0  # kinks at the origin
        return Affine(weights, bias)

    stages = tuple(affine(width, index) for index, width in enumerate(widths, start=1))
    output = affine(num_outputs, len(sizes))
    output.bias[:] = rng.normal(size=num_outputs)
    return Network(num_inputs, stages, output)


def points(network: Network, seed: int, k: int = 6) -> np.ndarray:
    """Points of several sizes, the origin (a kink of many units) among them."""
    rng = np.random.default_rng(seed)
    batch = rng.normal(size=(k, network.num_inputs)) * rng.choice([0.1, 1.0, 10.0], size=(k, 1))
    batch[0] = 0.0
    return batch


def seeds() -> st.SearchStrategy[int]:
    return st.integers(0, 2**32 - 1)
