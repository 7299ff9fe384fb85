"""Methods that write units as rows and binaries take ReLU units alone, and say so."""

from __future__ import annotations

from collections.abc import Iterable

from dcembed.errors import NetworkError
from dcembed.network.activations import RELU
from dcembed.network.network import Network


def require_relu(networks: Iterable[Network], method: str, instead: str) -> None:
    """NetworkError naming the first activation that is not a ReLU, and what takes it."""
    for number, network in enumerate(networks):
        for stage, activation in enumerate(network.activations, start=1):
            if activation != RELU:
                raise NetworkError(
                    f"{method} takes networks of ReLU units alone: network {number} has the activation {activation} in stage {stage}. {instead}"
                )
