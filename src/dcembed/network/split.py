"""The difference-of-convex split of linear measurements of a network (theorem 4.1, in skip form).

For a measurement nu' f = d'x + beta + sum_m nu_m' z_m with nu_m = C_m' nu,

    rho_m = |nu_m| + sum_{l>m} |A_lm|' rho_l,    c_m = sum_{l>m} (A_lm^-)' rho_l    (m = L..1)
    G = beta + d'x + sum_m (nu_m^+ + c_m)' z_m,   H = sum_m (nu_m^- + c_m)' z_m,    nu' f = G - H.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcembed.network.affine import Array, Matrix
from dcembed.network.network import Network


@dataclass(frozen=True, eq=False)
class Split:
    """Unit weights of the convex components of D measurements of one network.

    Parameters
    ----------
    convex
        For each stage the weights of its units in G, shape (D, width), nonnegative.
    concave
        The same for H.
    slope
        d, the weights of the input; part of G. Shape (D, num_inputs).
    constant
        beta; part of G. Shape (D,).
    """

    convex: tuple[Array, ...]
    concave: tuple[Array, ...]
    slope: Array
    constant: Array


def split(network: Network, measurements: Array) -> Split:
    """Split the measurements nu' f, one per row of `measurements` (D, num_outputs)."""
    measurements = np.atleast_2d(np.asarray(measurements, dtype=np.float64))
    direct, slope, constant = measure(network, measurements)
    rho = [np.abs(nu) for nu in direct]
    offsets = [np.zeros_like(nu) for nu in direct]
    for index in range(len(network.stages) - 1, -1, -1):
        for source, block in network.stages[index].weights.items():
            if source > 0:
                rho[source - 1] += rho[index] @ abs(block)
                offsets[source - 1] += rho[index] @ negative_part(block)
    return Split(
        convex=tuple(np.maximum(nu, 0.0) + c for nu, c in zip(direct, offsets, strict=True)),
        concave=tuple(np.maximum(-nu, 0.0) + c for nu, c in zip(direct, offsets, strict=True)),
        slope=slope,
        constant=constant,
    )


def measure(network: Network, measurements: Array) -> tuple[list[Array], Array, Array]:
    """The weights nu_m of the units, d of the input and beta in each measurement."""
    direct = [np.zeros((measurements.shape[0], width)) for width in network.widths]
    slope = np.zeros((measurements.shape[0], network.num_inputs))
    for source, block in network.output.weights.items():
        if source == 0:
            slope += measurements @ block
        else:
            direct[source - 1] += measurements @ block
    return direct, slope, measurements @ network.output.bias


def positive_part(block: Matrix) -> Matrix:
    """max(block, 0), sparse if the block is."""
    return (abs(block) + block) * 0.5


def negative_part(block: Matrix) -> Matrix:
    """max(-block, 0), sparse if the block is."""
    return (abs(block) - block) * 0.5
