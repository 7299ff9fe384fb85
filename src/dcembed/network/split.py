"""The difference-of-convex split of linear measurements of a network (theorem 4.1, in skip form).

For a measurement nu' f = d'x + beta + sum_m nu_m' z_m with nu_m = C_m' nu,

    rho_m = |nu_m| + sum_{l>m} |A_lm|' rho_l,    c_m = sum_{l>m} (A_lm^-)' rho_l    (m = L..1)
    G = beta + d'x + sum_m (nu_m^+ + c_m)' z_m,   H = sum_m (nu_m^- + c_m)' z_m,    nu' f = G - H.

The units are convex, nondecreasing and nonnegative; those with slopes up to k instead of 1 pass on k rho_l instead of rho_l.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dcembed.errors import NetworkError
from dcembed.network.affine import Array, Matrix
from dcembed.network.network import Network

# Slopes beyond this are as good as infinite.
STEEPEST = 1e12

# Units of a stage, units of an earlier one, and the block that leads from these to those.
Link: TypeAlias = tuple[slice, slice, Any]


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
    """Split the measurements nu' f, one per row of `measurements` (D, num_outputs), of a network of convex units.

    NetworkError where units grow faster than any line: there is no split on the whole input space then.
    """
    measurements = np.atleast_2d(np.asarray(measurements, dtype=np.float64))
    direct, slope, constant = measure(network, measurements)
    edges = np.concatenate([[0], np.cumsum(network.widths, dtype=np.int64)])
    stages = [slice(int(low), int(high)) for low, high in itertools.pairwise(edges)]
    links = (
        (stage, stages[source - 1], block)
        for stage, affine in zip(reversed(stages), reversed(network.stages), strict=True)
        for source, block in affine.weights.items()
        if source > 0
    )
    flat = np.concatenate([np.zeros((measurements.shape[0], 0)), *direct], axis=1)
    convex, concave = split_units(flat, links, lambda weights, block: weights @ block, _steepest(network))
    return Split(
        convex=tuple(convex[:, stage] for stage in stages),
        concave=tuple(concave[:, stage] for stage in stages),
        slope=slope,
        constant=constant,
    )


def _steepest(network: Network) -> Array | None:
    """The largest slope of each unit; None if it is 1 for all of them, as in networks of ReLU units."""
    slopes = [activation.slopes_at_infinity[1] for activation in network.activations]
    for activation, slope in zip(network.activations, slopes, strict=True):
        if slope > STEEPEST:
            raise NetworkError(
                f"The activation {activation.name} grows faster than any line, so that the network has no split into convex functions on the "
                'whole input space. Use decomposition="local" (the default chooses it), and give the inputs bounds.'
            )
    return None if all(slope == 1.0 for slope in slopes) else np.repeat(slopes, network.widths)


def split_units(
    direct: Array, links: Iterable[Link], times: Callable[[Array, Any], Array], steepest: Array | None = None
) -> tuple[Array, Array]:
    """Unit weights of G and of H: the recursion of theorem 4.1, for whole networks and for networks reduced on boxes alike.

    Parameters
    ----------
    direct
        nu, the weights of all units in D measurements themselves, shape (D, num_hidden).
    links
        (units of a stage, units of an earlier one, the block A between them), the last stage first.
    times
        The product weights' A of each measurement, (D, rows of A) to (D, columns of A).
    steepest
        The largest slope of each unit, shape (num_hidden,) or (D, num_hidden); None if it is 1 for all.
    """
    rho, offsets = np.abs(direct), np.zeros_like(direct)
    for stage, source, block in links:
        passed = rho[:, stage] if steepest is None else rho[:, stage] * steepest[..., stage]
        # |A| = A + 2 A^-.
        negative = times(passed, negative_part(block))
        rho[:, source] += times(passed, block) + 2.0 * negative
        offsets[:, source] += negative
    return np.maximum(direct, 0.0) + offsets, np.maximum(-direct, 0.0) + offsets


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
    return np.maximum(block, 0.0) if isinstance(block, np.ndarray) else (abs(block) + block) * 0.5


def negative_part(block: Matrix) -> Matrix:
    """max(-block, 0), sparse if the block is."""
    return -np.minimum(block, 0.0) if isinstance(block, np.ndarray) else (abs(block) - block) * 0.5
