"""Stages side by side: those of the same activation that do not need one another become one.

The parts of an ensemble are walked one after the other, each with stages of its own; as many stages as the deepest part has are enough.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.network.affine import Affine
from dcembed.network.network import Network


def join_stages(network: Network) -> Network:
    """The same network with as few stages as its depth and its activations allow.

    Examples
    --------
    >>> from dcembed.network.builder import NetworkBuilder
    >>> builder = NetworkBuilder((1,))
    >>> up, down = builder.relu(builder.input), builder.relu(builder.scale(builder.input, -1.0))
    >>> network = builder.finish(builder.add(up, down))
    >>> network, join_stages(network)
    (Network(1 inputs -> 1 -> 1 -> 1 outputs), Network(1 inputs -> 2 -> 1 outputs))
    """
    groups = _groups(network)
    if len(groups) == len(network.stages):
        return network
    sizes = [network.num_inputs, *network.widths]
    # Every source of the old network as a place in the new one: which source, and from where on.
    places = {0: (0, 0)}
    for number, members in enumerate(groups, start=1):
        starts = np.cumsum([0, *(sizes[member] for member in members)]).tolist()
        places |= {member: (number, start) for member, start in zip(members, starts, strict=False)}
    new_sizes = [network.num_inputs, *(sum(sizes[member] for member in members) for members in groups)]
    stages = tuple(_join([network.stages[member - 1] for member in members], places, new_sizes) for members in groups)
    activations = tuple(network.activations[members[0] - 1] for members in groups)
    return Network(network.num_inputs, stages, _join([network.output], places, new_sizes), network.input_names, activations)


def _groups(network: Network) -> list[list[int]]:
    """Numbers of the stages that go together, from 1 on, in an order in which each finds its sources before it."""
    depths = [0]
    groups: dict[tuple[int, object], list[int]] = {}
    for number, (stage, activation) in enumerate(zip(network.stages, network.activations, strict=True), start=1):
        depths.append(1 + max((depths[source] for source in stage.weights), default=0))
        groups.setdefault((depths[-1], activation), []).append(number)
    return [groups[key] for key in sorted(groups, key=lambda key: key[0])]


def _join(parts: list[Affine], places: dict[int, tuple[int, int]], sizes: list[int]) -> Affine:
    """The rows of all parts, one below the other, over the new sources."""
    rows = sum(part.num_rows for part in parts)
    entries: dict[int, list[sp.coo_array]] = {}
    top = 0
    for part in parts:
        for source, block in part.weights.items():
            number, left = places[source]
            found = sp.coo_array(block)
            entries.setdefault(number, []).append(
                sp.coo_array((found.data, (found.row + top, found.col + left)), shape=(rows, sizes[number]))
            )
        top += part.num_rows
    weights = {number: _together(blocks) for number, blocks in sorted(entries.items())}
    return Affine(weights, np.concatenate([part.bias for part in parts]))


def _together(blocks: list[sp.coo_array]) -> sp.csr_array:
    """Blocks that do not overlap, in one matrix."""
    data, rows, columns = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("data", "row", "col"))
    return sp.csr_array((data, (rows, columns)), shape=blocks[0].shape)
