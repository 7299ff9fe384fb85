"""The greedy for water treatment, the reference that any method must beat.

Samples in the order of what their own treatment costs in shares of the whole budgets; each is treated with what is left, at the
smallest cost in shares of that, by a linear program over its nine features on the linear piece of the network around the treated
point, linearized again up to six times. A sample counts when its true score reaches the margin.

The description of the reference leaves two things open: the prices of the features and how far above the margin to aim. Of the variants
tried (prices from the whole budgets or from what is left; aims of 0 to 9e-4 above the margin) this one gives the reference's counts on
cohorts 0 to 2; prices from the whole budgets give 18, 27.67, 66 and 88 instead of 17, 28, 67.33 and 96.67 at N = 50, 100, 400 and 800.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from benchmarks.harness.outcome import Outcome
from benchmarks.problems.water import MARGIN, NUM_FEATURES
from dcembed import Embedding, Network, Options, Program
from dcembed.network.network import evaluate

Array = np.ndarray
NUM_LINEARIZATIONS = 6
# How far above the margin the linear program aims, so that rounding does not lose the sample.
AIM = MARGIN + 1e-5
# A budget that is used up still has a price.
SMALLEST_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class Treatment:
    """Removed and added amounts of one sample, each of shape (9,), and their cost in shares of what was left."""

    removed: Array
    added: Array
    cost: float


def solve(program: Program, embeddings: Sequence[Embedding], start: Sequence[Array], options: Options) -> Outcome:
    """Treat as many samples as the budgets allow; the starts are ignored, it begins untreated."""
    began = time.monotonic()
    (embedding,) = embeddings
    untreated = embedding.inputs.offset
    budgets = program.row_ub.copy()
    alone = [treat(embedding.network, sample, budgets) for sample in untreated]
    order = sorted((i for i, treatment in enumerate(alone) if treatment is not None), key=lambda i: alone[i].cost)
    left, x, points = budgets.copy(), np.zeros(program.num_columns), []
    for number in order:
        if time.monotonic() - began > options.time_limit:
            break
        treatment = treat(embedding.network, untreated[number], left)
        if treatment is not None:
            left -= np.concatenate([treatment.removed, treatment.added])
            x = _counted(x, number, len(untreated), treatment)
            points.append((time.monotonic() - began, x))
    return Outcome("finished" if time.monotonic() - began <= options.time_limit else "time_limit", points, time.monotonic() - began)


def treat(network: Network, sample: Array, left: Array) -> Treatment | None:
    """The cheapest treatment of one sample (9,) within what is left (18,) of the budgets; None if none was found."""
    point, price = sample, 1.0 / np.maximum(left, SMALLEST_SHARE * left.max())
    for _ in range(NUM_LINEARIZATIONS):
        score, gradient = _linear_piece(network, point)
        # score + gradient'(sample - removed + added - point) >= margin
        slope = np.concatenate([gradient, -gradient])
        limit = score + gradient @ (sample - point) - AIM
        found = linprog(price, A_ub=slope[None], b_ub=[limit], bounds=np.stack([np.zeros(left.size), left], axis=1))
        if found.x is None:
            return None
        amounts = np.clip(found.x, 0.0, left)
        removed, added = amounts[:NUM_FEATURES], amounts[NUM_FEATURES:]
        point = sample - removed + added
        if evaluate(network, point[None])[0, 0] >= MARGIN:
            return Treatment(removed, added, float(price @ amounts))
    return None


def _linear_piece(network: Network, point: Array) -> tuple[float, Array]:
    """Value (a number) and gradient (9,) of the network at a point: its linear piece, or its tangent plane if it is smooth."""
    values, slopes = [point], [np.eye(point.size)]
    for stage, activation in zip((*network.stages, network.output), (*network.activations, None), strict=True):
        value = sum((block @ values[source] for source, block in stage.weights.items()), stage.bias)
        slope = sum(block @ slopes[source] for source, block in stage.weights.items())
        if activation is not None:
            value, slope = activation.value(value), activation.slope(value)[:, None] * slope
        values.append(value)
        slopes.append(slope)
    return float(values[-1][0]), slopes[-1][0]


def _counted(x: Array, number: int, num_samples: int, treatment: Treatment) -> Array:
    """The point with one more sample treated and counted."""
    x = x.copy()
    size = NUM_FEATURES * num_samples
    own = slice(NUM_FEATURES * number, NUM_FEATURES * (number + 1))
    x[:size][own], x[size : 2 * size][own] = treatment.removed, treatment.added
    x[2 * size + num_samples + number] = 1.0
    return x
