"""Compare an imported network with the framework's own predictions, at every load."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import DcembedError, ImportMismatchError, NetworkError
from dcembed.importers.domain import is_inside, is_partial
from dcembed.network.activations import Activation
from dcembed.network.affine import Affine, apply_affine
from dcembed.network.network import Network, preactivations, units

# The points are the same at every load, so that a mismatch can be reproduced.
SEED = 20240501
# Random points are drawn at each of these standard deviations: some kinks are only met far from the origin.
SCALES = (0.1, 1.0, 10.0)
POINTS_PER_SCALE = 6
# As many points are moved onto kinks of the first stage: with unscaled data no kink need be near the origin.
KINK_POINTS = 12
# Allowed difference relative to the sum of absolute terms carried through all active units, by the framework's floating-point type.
# It leaves a factor of about 100 above rounding in a single sum, for wide layers and for constants folded together in another order.
TOLERANCE = {"float64": 1e-11, "float32": 1e-5, "float16": 1e-2, "bfloat16": 8e-2}
# That sum explodes with depth, and the allowance with it, so it is capped: this many times TOLERANCE, relative to the largest sum of
# absolute terms that a single layer adds up.
CAP = 100.0
# Constants that are folded together here may cancel where the framework adds them up one after the other, with the rounding of each. So no
# point counts for less than this part of what the largest counts for, which is what one of the middle scale does.
FLOOR = 0.1
# Logistic and softmax values carry an absolute rounding error of their own.
LINK_TOLERANCE = 1e-12
# Where something in the network is outside of its domain, it is something else than the framework: nothing is carried through it then, and the
# values themselves have to agree to this, relative to their size, or the framework gives none.
OUTSIDE_TOLERANCE = 1e-8
# Points that have to be left.
FEWEST_INSIDE = 3

Forward = Callable[[Array], Array]


def check(
    network: Network,
    forward: Forward,
    source: str,
    *,
    precision: str = "float64",
    link: Forward | None = None,
    points: Array | None = None,
    rounding: Array | float = 0.0,
    advice: str | None = None,
    continued: bool = False,
) -> Network:
    """Return `network` if it reproduces `forward`, raise `ImportMismatchError` otherwise.

    Parameters
    ----------
    forward
        The framework's own forward pass: points (k, num_inputs) -> values whose first axis is k.
    source
        What was imported, for messages.
    precision
        The floating-point type in which the framework computes.
    link
        Applied to our predictions (k, num_outputs) before the comparison, for frameworks that show the predictions only through
        a function such as the logistic one.
    points
        Where to compare, shape (k, num_inputs); drawn if None.
    rounding
        What the framework's own values are off by, where that is known; one number, or one for each point.
    advice
        What a mismatch may come from and what to do; None for what holds for all frameworks.
    continued
        Whether `forward` continues logarithms, roots, quotients and exponentials outside of their domains as networks here do.
    """
    advice = (_ADVICE if not is_partial(network) else _ADVICE + _PARTIAL) if advice is None else advice
    points = draw_points(network, precision) if points is None else points
    with np.errstate(all="ignore"):
        ours = network(points)
        tolerance = TOLERANCE[precision] * magnitude(network, points) + (0.0 if link is None else LINK_TOLERANCE) + rounding
        expected = _run(forward, points, source)
        received = ours if link is None else link(ours)
        if received.shape != expected.shape:
            raise ImportMismatchError(
                f"The imported network gives {received.shape[1]} outputs where the {source} gives {expected.shape[1]}. {advice}"
            )
        difference = np.abs(received - expected).max(axis=1)
    if is_partial(network) and not continued:
        tolerance = _outside(network, points, expected, tolerance, precision, source)
    # A comparison with NaN is false, so a NaN on either side counts as a mismatch.
    wrong = ~(difference <= tolerance) & ~np.isposinf(tolerance)
    if wrong.any():
        _refuse_mixing(forward, points[wrong], received[wrong], tolerance[wrong], source)
        _raise_mismatch(points, expected, received, difference, tolerance, wrong, source, advice)
    return network


def _refuse_mixing(forward: Forward, points: Array, received: Array, tolerance: Array, source: str) -> None:
    """Raise ImportMismatchError if points that go through the framework alone come out as here: then it is the batch that changes them."""
    try:
        alone = np.concatenate([_run(forward, point[None], source) for point in points])
    except NetworkError:
        return
    if alone.shape == received.shape and (np.abs(alone - received).max(axis=1) <= tolerance).all():
        raise ImportMismatchError(
            f"The imported network does not reproduce the {source}, which mixes the points of a batch: it gives other values for them together "
            "than one by one. Accepted are models which treat every point of a batch on its own; check for reductions, reshapes and "
            "normalization over the first axis, or pass a model for one point."
        )


def _outside(network: Network, points: Array, expected: Array, tolerance: Array, precision: str, source: str) -> Array:
    """The tolerance at points where something is not defined or overflows, here or there: infinite where the framework gives no number."""
    with np.errstate(all="ignore"):
        inside = is_inside(network, points)
        defined = np.isfinite(expected).all(axis=1)
        size = np.maximum(1.0, np.abs(expected).max(axis=1))
    if (inside & defined).sum() < FEWEST_INSIDE:
        raise ImportMismatchError(
            f"The imported network cannot be compared with the {source}: logarithms, roots, quotients or exponentials in it are defined at "
            f"{int((inside & defined).sum())} of the {len(points)} points that were tried, which are around zero and in its positive part. "
            "Put a layer before it that maps usual inputs (scaled to around one) to where they are defined."
        )
    rounded = np.where(inside, tolerance, max(OUTSIDE_TOLERANCE, CAP * TOLERANCE[precision]) * size)
    # Numbers of lower precision overflow earlier than here.
    missing = ~defined & (~inside | (precision != "float64"))
    return np.where(missing, np.inf, rounded)


def draw_points(network: Network, precision: str = "float64") -> Array:
    """Points to compare at, shape (k, num_inputs), exactly representable in `precision`."""
    rng = np.random.default_rng(SEED)
    cloud = [scale * rng.standard_normal((POINTS_PER_SCALE, network.num_inputs)) for scale in SCALES]
    points = np.vstack([np.zeros((1, network.num_inputs)), *cloud, _kink_points(network, rng)])
    if is_partial(network):
        points = np.vstack([points, np.abs(points)])
    exact = np.float32 if precision != "float64" else np.float64
    return points.astype(exact).astype(np.float64)


def magnitude(network: Network, points: Array) -> Array:
    """What rounding errors in the predictions are proportional to, per point; shape (k,)."""
    before = preactivations(network, points)
    local = [points, *units(network, before)]
    carried = [np.abs(points)]
    largest = np.zeros(len(points))
    for index, affine in enumerate((*network.stages, network.output)):
        absolute = _absolute(affine)
        total = apply_affine(absolute, carried)
        largest = np.maximum(largest, apply_affine(absolute, [np.abs(source) for source in local]).max(axis=1))
        carried.append(_carry(network.activations[index], before[index], total) if index < len(before) else total)
    smaller = np.minimum(carried[-1].max(axis=1), CAP * largest)
    usual = smaller[np.isfinite(smaller) & is_inside(network, points)]
    floor = FLOOR * usual.max(initial=0.0)
    if not network.is_piecewise_linear and usual.size:
        # A single point near a pole, or far out on a polynomial, does not count for all others.
        floor = min(floor, float(np.median(usual)) / FLOOR)
    enough: Array = np.maximum(smaller, floor)
    return enough


def _carry(activation: Activation, before: Array, total: Array) -> Array:
    """What errors in the units are proportional to: those of their pre-activations, or the rounding of their own values."""
    larger: Array = np.maximum(total * np.abs(activation.slope(before)), np.abs(activation.value(before)))
    return larger


def _absolute(affine: Affine) -> Affine:
    """The map of absolute weights and biases."""
    return Affine({source: abs(block) for source, block in affine.weights.items()}, np.abs(affine.bias))


def _kink_points(network: Network, rng: np.random.Generator) -> Array:
    """Random points moved along the weights of a first-stage unit, to where the unit switches on."""
    points = rng.standard_normal((KINK_POINTS, network.num_inputs))
    if not network.stages or 0 not in network.stages[0].weights:
        return points
    stage = network.stages[0]
    chosen = rng.integers(stage.num_rows, size=KINK_POINTS)
    weights = stage.weights[0][chosen]
    weights = weights if isinstance(weights, np.ndarray) else weights.toarray()
    squares = (weights**2).sum(axis=1)
    steps = -((weights * points).sum(axis=1) + stage.bias[chosen]) / np.where(squares > 0, squares, np.inf)
    # A bit to either side, so that both pieces are seen.
    moved: Array = points + (steps * rng.uniform(0.9, 1.1, KINK_POINTS))[:, None] * weights
    return moved


def _run(forward: Forward, points: Array, source: str) -> Array:
    try:
        values = np.asarray(forward(points), dtype=np.float64)
    except DcembedError:
        raise
    except Exception as error:
        raise NetworkError(
            f"The {source} itself fails on a batch of {len(points)} points with {points.shape[1]} inputs each: "
            f"{type(error).__name__}: {error}. Check that it maps a batch of inputs to a batch of predictions."
        ) from error
    if values.ndim == 0 or values.shape[0] != len(points):
        raise NetworkError(
            f"The {source} gives values of shape {values.shape} for a batch of {len(points)} points: it mixes the points of a batch. "
            "Accepted are models which treat every point of a batch on its own."
        )
    return values.reshape(len(points), -1)


_ADVICE = (
    "The import cannot be trusted and was refused. "
    "Usual causes are forward hooks, randomness, and in-place changes of a value that is used "
    "again; without them this is a bug in dcembed, please report it."
)


_PARTIAL = (
    " The model has logarithms, roots or quotients: what goes into a logarithm or a root must not be negative, and a divisor has to keep its "
    "sign for all inputs."
)


def _raise_mismatch(
    points: Array, expected: Array, received: Array, difference: Array, tolerance: Array, wrong: Array, source: str, advice: str
) -> NoReturn:
    with np.errstate(all="ignore"):
        worst = int(np.argmax(np.where(wrong, np.nan_to_num(difference - tolerance, nan=np.inf), -1.0)))
    raise ImportMismatchError(
        f"The imported network does not reproduce the {source} at {int(wrong.sum())} of {len(points)} points. "
        f"Worst at x = {_show(points[worst])}: the model gives {_show(expected[worst])}, the import {_show(received[worst])}; "
        f"difference {difference[worst]:.3g}, tolerance {tolerance[worst]:.3g}. {advice}"
    )


def _show(values: Array) -> str:
    """At most six entries."""
    text = ", ".join(f"{value:.6g}" for value in values[:6])
    return f"[{text}{', ...' if len(values) > 6 else ''}]"
