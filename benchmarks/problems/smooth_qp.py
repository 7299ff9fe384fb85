"""The synthetic QPs with smooth networks: the hosts of `qp.py`, and networks trained like the others but for their activation."""

from __future__ import annotations

from benchmarks.problems.instance import Instance
from benchmarks.problems.qp import network_path, qp_instance, read_qp_size
from benchmarks.problems.trained import load_trained
from dcembed import Network

ACTIVATIONS, SIZES = ("tanh", "softplus", "gelu"), ("64x3", "256x3")


def build_smooth_qp(activation: str, size: str, trial: int) -> Instance:
    """The instance of an activation, a size and a trial."""
    width, depth, num_blocks = read_qp_size(size)
    return qp_instance(load_smooth_network(activation, width, depth, trial), trial, num_blocks=num_blocks)


def load_smooth_network(activation: str, width: int, depth: int, trial: int) -> Network:
    """A trained network; the error has the command that trains it."""
    command = f"train_qp {width}x{depth} --trials {trial} --activation {activation}"
    return load_trained(network_path(width, depth, trial, activation), command)
