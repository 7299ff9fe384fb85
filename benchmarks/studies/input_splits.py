"""Branch and bound over a box by splitting inputs, best first, with whatever bounds the prediction from below: the way of verifiers.

    minimize f(x)   subject to   lb <= x <= ub

Points come from a descent by signs at the beginning, and from every box: its middle, and the corner that the gradient there leads to.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dcembed import Network
from dcembed.gap import relative_gap
from dcembed.network.backpropagation import backpropagate
from dcembed.network.network import preactivations
from dcembed.network.split import measure

Array = np.ndarray
# (k, num_inputs) lower and upper ends of k boxes -> lower bounds (k,) of the only prediction.
Bounder = Callable[[Array, Array], Array]

BATCH = 64
# The descent at the beginning: points that are drawn, those that go on, their steps, and the first step as a share of the box.
NUM_DRAWN, NUM_DESCENTS, NUM_STEPS, FIRST_STEP = 512, 32, 60, 0.1


@dataclass(frozen=True)
class Progress:
    """What was known when: the best value, the bound, and boxes so far."""

    seconds: float
    best: float
    bound: float
    num_boxes: int


@dataclass(frozen=True, eq=False)
class Found:
    """The best point, what is proved, and how both came about; optimal where the gap is closed."""

    x: Array
    objective: float
    bound: float
    is_optimal: bool
    trace: list[Progress]


@dataclass(eq=False)
class _Search:
    """Boxes that may have a better point, the lowest bound first, and the best point so far."""

    network: Network
    bounder: Bounder
    x: Array
    best: float = np.inf
    num_boxes: int = 0
    boxes: list[tuple[float, int, Array, Array]] = field(default_factory=list)
    _numbers: itertools.count = field(default_factory=itertools.count)

    @property
    def bound(self) -> float:
        return min(self.boxes[0][0], self.best) if self.boxes else self.best

    def add(self, lb: Array, ub: Array, inherited: Array) -> None:
        """Bound some boxes (k, n), no worse than what they have inherited (k,), and look for points in them."""
        bounds = np.maximum(self.bounder(lb, ub), inherited)
        self.num_boxes += len(lb)
        middle = (lb + ub) / 2
        downhill = gradients(self.network, middle) < 0
        self.offer(np.concatenate([middle, np.where(downhill, ub, lb)]))
        for bound, low, high in zip(bounds.tolist(), lb, ub, strict=True):
            if bound < self.best:
                heapq.heappush(self.boxes, (bound, next(self._numbers), low, high))

    def take(self, count: int) -> tuple[Array, Array, Array]:
        """Ends and bounds of the lowest boxes, as many as there are."""
        taken = [heapq.heappop(self.boxes) for _ in range(min(count, len(self.boxes)))]
        return np.array([b[2] for b in taken]), np.array([b[3] for b in taken]), np.array([b[0] for b in taken])

    def offer(self, points: Array) -> None:
        values = self.network(points)[:, 0]
        if values.min() < self.best:
            self.best, self.x = float(values.min()), points[values.argmin()].copy()


def minimize_by_splits(
    network: Network,
    lb: Array,
    ub: Array,
    bounder: Bounder,
    seconds: float,
    gap_tol: float = 1e-4,
    batch: int = BATCH,
    clock: Callable[[], float] = time.process_time,
) -> Found:
    """Split until the gap is at most `gap_tol` or so many seconds of the clock are over."""
    began = clock()
    search = _Search(network, bounder, (lb + ub) / 2)
    search.offer(descend(network, lb, ub))
    search.add(lb[None], ub[None], np.array([-np.inf]))
    trace = [Progress(clock() - began, search.best, search.bound, search.num_boxes)]
    while relative_gap(search.best, search.bound) > gap_tol and clock() - began < seconds:
        low, high, bounds = search.take(batch // 2)
        search.add(*split(network, low, high), np.repeat(bounds, 2))
        trace.append(Progress(clock() - began, search.best, search.bound, search.num_boxes))
    is_optimal = relative_gap(search.best, search.bound) <= gap_tol
    return Found(search.x, search.best, search.bound, is_optimal, trace)


def split(network: Network, lb: Array, ub: Array) -> tuple[Array, Array]:
    """Both halves of every box (k, n), one after the other: (2k, n).

    Split is the input that moves the prediction most, by its slope in the middle of the box.
    """
    worth = (np.abs(gradients(network, (lb + ub) / 2)) + np.finfo(float).tiny) * (ub - lb)
    row, widest = np.arange(len(lb)), worth.argmax(axis=1)
    low, high = np.repeat(lb, 2, axis=0), np.repeat(ub, 2, axis=0)
    middle = (lb[row, widest] + ub[row, widest]) / 2
    high[2 * row, widest] = low[2 * row + 1, widest] = middle
    return low, high


def descend(network: Network, lb: Array, ub: Array, seed: int = 0) -> Array:
    """Points (k, n) where sign steps from the best of many random points have led."""
    points = np.random.default_rng(seed).uniform(lb, ub, (NUM_DRAWN, lb.size))
    points = points[np.argsort(network(points)[:, 0])[:NUM_DESCENTS]]
    best, values = points, network(points)[:, 0]
    for number in range(NUM_STEPS):
        length = FIRST_STEP * (1 - number / NUM_STEPS) * (ub - lb)
        points = np.clip(points - length * np.sign(gradients(network, points)), lb, ub)
        there = network(points)[:, 0]
        best, values = np.where((there < values)[:, None], points, best), np.minimum(there, values)
    return best


def gradients(network: Network, points: Array) -> Array:
    """Of the only prediction of a network at points (k, n)."""
    active = [kind.slope(stage) for kind, stage in zip(network.activations, preactivations(network, points), strict=True)]
    units, slope, _ = measure(network, np.ones((len(points), 1)))
    return backpropagate(network, active, units) + slope
