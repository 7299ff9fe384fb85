"""What is too large to be written down: said with its sizes, and what to do instead, before memory is gone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.errors import InputError
from dcembed.network.network import Network

# What those do who asked for every unit as a column.
LAZY_INSTEAD = 'Use formulation="lazy", the default, which adds one column for each evaluation.'
# Coefficients of the units of all evaluations, or of the tangents of all of them, that one program may have: about 2 GB with a solver's copies.
MAX_COEFFICIENTS = 50_000_000


def num_weights(network: Network) -> int:
    """Coefficients of one evaluation whose units are columns."""
    layers = (*network.stages, network.output)
    return sum(int(block.nnz if hasattr(block, "nnz") else block.size) for layer in layers for block in layer.weights.values())


def require_room_for_units(evaluated: Iterable[tuple[Network, int]], who: str, instead: str) -> None:
    """InputError if writing every unit of so many evaluations of each network as a column takes too much."""
    listed = list(evaluated)
    coefficients, units = (
        sum(count(network) * number for network, number in listed) for count in (num_weights, lambda network: network.num_hidden)
    )
    if coefficients > MAX_COEFFICIENTS:
        number = sum(number for _, number in listed)
        raise InputError(
            f"{who} makes a column of every hidden unit of every evaluation: {units:,} columns with about {coefficients:,} coefficients for "
            f"{number:,} evaluation{'' if number == 1 else 's'}, and {MAX_COEFFICIENTS:,} are accepted. {instead}"
        )


def require_room_for_tangents(embedded: EmbeddedProgram) -> None:
    """InputError if the tangents of all evaluations, which every subproblem has in it, take too much."""
    counts = [int(np.diff(measured.maps.indptr)[measured.rows_of(measured.parts.map)].sum()) for measured in embedded.networks]
    if sum(counts) > MAX_COEFFICIENTS:
        measured = embedded.networks[int(np.argmax(counts))]
        raise InputError(
            f"solve: the problem is too large: the tangents of all evaluations have {sum(counts):,} coefficients, and {MAX_COEFFICIENTS:,} are "
            f"accepted. Most are of embedding {measured.number}, {measured.num_blocks:,} evaluations of a network with "
            f"{measured.network.num_inputs:,} inputs. Solve for fewer evaluations at a time, or let fewer columns move their inputs."
        )
