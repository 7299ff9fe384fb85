"""Affine functions below predictions, over many boxes at a time.

The network is left from its output to its input: units with a positive weight are replaced by the line below them, units with a negative
weight by the line above. What remains is an affine function of the input that lies below the prediction on the whole box.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dcembed.arrays import Array, Matrix
from dcembed.errors import InputError
from dcembed.network.batched_products import chunks_of_boxes, times_each
from dcembed.network.bounds import go_on
from dcembed.network.going_back import Planes, Stage, added_up, lowest, magnitudes, read_stage, times_block
from dcembed.network.network import Network
from dcembed.network.rounding import rounding
from dcembed.network.safe_bounds import Bounds, bound_safely
from dcembed.network.slopes import climb_each

# So many arrays are in use at the same time.
ARRAYS = 4

__all__ = ["Planes", "lower_planes", "lowest", "planes_within"]


def lower_planes(
    network: Network,
    weights: npt.ArrayLike,
    lb: npt.ArrayLike,
    ub: npt.ArrayLike,
    bounds: Bounds | None = None,
    tight: bool = False,
    steps: int = 0,
    check: Callable[[], None] = go_on,
    tilt: Array | None = None,
) -> Planes:
    """Affine functions below F = weights' f over each of k boxes.

    They lie below F also in floating point: constants are lowered by more than what rounding does, here and in an evaluation of F.

    Parameters
    ----------
    weights
        Shape (k, num_outputs) for one function on each box, or (k, q, num_outputs) for q of them.
    lb, ub
        Finite boxes, shape (k, num_inputs).
    bounds
        Bounds of the pre-activations that hold already, as of larger boxes around these; a pair of arrays (k, width) for each stage.
    tight
        Whether units that stay open are bounded backward as well: tighter planes on wide boxes, at many times the cost.
    steps
        How often the lines of the units are chosen anew to lift each plane at its lowest, see `dcembed.network.slopes`. It pays almost
        always: on 3 stages of 64 units three steps take about half as long as the rest and lift the least value, on boxes of width 2, 0.5 and
        0.1, from -4.12 to -3.17, from -0.25 to -0.15 and from 0.1778 to 0.1804; more steps gain little more. With `tight` the backward
        bounds of open units are lifted as well, each by lines of its own: on wide boxes that gains most, at a hundred times the cost.
    check
        Called before every large product; what it raises ends the computation.
    tilt
        Shape (k, q, num_inputs): what is added to the slope of each plane before it is asked where it is lowest, and lifted there. For planes that
        are part of a sum: the slope of the rest.

    Returns
    -------
    slope (k, q, num_inputs) and constant (k, q) with slope'x + constant <= F(x) in the box; q is 1 where one function is given. A constant
    of -inf with a slope of zero says that nothing is known, after an overflow.

    Examples
    --------
    On [0, 4] the hat max(x, 0) - 2 max(x - 1, 0), which falls to -2 there, lies above the line between its ends.

    >>> from dcembed.network import build_mlp
    >>> hat = build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
    >>> planes = lower_planes(hat, [[1.0]], [[0.0]], [[4.0]])
    >>> planes.slope.round(6), lowest(planes, np.array([[0.0]]), np.array([[4.0]])).round(6)
    (array([[[-0.5]]]), array([[-2.]]))
    """
    lb, ub = np.atleast_2d(np.asarray(lb, dtype=np.float64)), np.atleast_2d(np.asarray(ub, dtype=np.float64))
    return planes_within(
        network, weights, lb, ub, bound_safely(network, lb, ub, bounds, tight, steps if tight else 0, check), steps, check, tilt
    )


def planes_within(
    network: Network,
    weights: npt.ArrayLike,
    lb: Array,
    ub: Array,
    bounds: Bounds,
    steps: int = 0,
    check: Callable[[], None] = go_on,
    tilt: Array | None = None,
) -> Planes:
    """The same where the bounds of the pre-activations over these boxes are known, from `bound_safely`."""
    measured = _read_weights(network, weights, lb.shape[0])
    k, q = measured.shape[:2]
    slope, constant = np.empty((k, q, network.num_inputs)), np.empty((k, q))
    sizes = [magnitudes(affine) for affine in (*network.stages, network.output)]
    with np.errstate(over="ignore", invalid="ignore"):
        for boxes in chunks_of_boxes(k, ARRAYS * q * max((network.num_inputs, *network.widths))):
            check()
            own = [(low[boxes], high[boxes]) for low, high in bounds]
            part = _from_output(network, sizes, measured[boxes], lb[boxes], ub[boxes], own, steps, None if tilt is None else tilt[boxes])
            slope[boxes], constant[boxes] = part.slope, part.constant
    return Planes(slope, constant)


def _from_output(
    network: Network, sizes: list[dict[int, Matrix]], weights: Array, lb: Array, ub: Array, bounds: Bounds, steps: int, tilt: Array | None
) -> Planes:
    """Go back from the output; what is rounded in weights' C_m does as much harm as |weights|' |C_m| times the largest unit."""
    output, share = network.output, rounding(network)
    stages = read_stages(network, sizes, bounds, lb, ub)
    sources = {source: times_block(weights, block) for source, block in output.weights.items()}
    constant = weights @ output.bias
    planes = climb_each(network, sources, constant, stages, lb, ub, share, steps, tilt)
    added = added_up(output, sizes[-1], [(lb, ub), *((stage.least, stage.most) for stage in stages)])
    return Planes(planes.slope, planes.constant - share * times_each(np.abs(weights), added))


def read_stages(network: Network, sizes: list[dict[int, Matrix]], bounds: Bounds, lb: Array, ub: Array) -> list[Stage]:
    """Lines around all units over boxes, given bounds of their pre-activations; `sizes` are the `magnitudes` of all stages."""
    stages: list[Stage] = []
    for affine, size, activation, (low, high) in zip(network.stages, sizes, network.activations, bounds, strict=False):
        ranges = [(lb, ub), *((stage.least, stage.most) for stage in stages)]
        stages.append(read_stage(affine, size, activation, low, high, ranges))
    return stages


def _read_weights(network: Network, weights: npt.ArrayLike, k: int) -> Array:
    measured = np.asarray(weights, dtype=np.float64)
    measured = measured[:, None, :] if measured.ndim == 2 else measured
    if measured.ndim != 3 or measured.shape[::2] != (k, network.num_outputs):
        raise InputError(
            f"lower_planes: weights has shape {np.shape(weights)}, but there are {k} boxes and the network has {network.num_outputs} outputs: "
            f"expected ({k}, {network.num_outputs}) or ({k}, q, {network.num_outputs})."
        )
    return measured
