"""Knapsack interdiction, of the shape of Neur2BiLO: the leader takes items away, a network predicts what the follower still makes.

The follower packs a knapsack of the items that are left; the leader, within a budget of its own, wants its value to be small. A network
learns that value, by n, from instances whose knapsacks are solved exactly (by dynamic programming), with the encoder of `set_encoder.py` of
(value_i, weight_i, value_i / weight_i, capacity / n). There are two writings, as in the literature:

    "upper"   minimize  n f(taken)                                          over what is taken: one prediction takes the follower's place
    "lower"   minimize  sum_i value_i packed_i + penalty short              over what is taken and what is packed:
              sum_i value_i packed_i + short >= n f(taken),   packed_i <= 1 - taken_i,   sum_i weight_i packed_i <= capacity
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from benchmarks.problems.set_encoder import encode, load_part
from dcembed import Embedding
from dcembed.embedded.verify import predict

PROBLEM, WRITINGS = "interdiction", ("upper", "lower")
NUM_ITEMS, NUM_FEATURES = 100, 4
MOST_VALUE, MOST_WEIGHT = 100, 40
# The capacity as a share of all weights, the leader's budget as a share of all its costs, what a unit costs that the follower is short.
CAPACITY, BUDGET, PENALTY = (0.2, 0.6), (0.2, 0.4), 2.0


@dataclass(frozen=True, eq=False)
class Knapsack:
    """Values and weights of the items (n,), whole numbers, and the capacity."""

    value: np.ndarray
    weight: np.ndarray
    capacity: int


def draw_knapsack(rng: np.random.Generator) -> Knapsack:
    """Values that follow the weights in part."""
    weight = rng.integers(1, MOST_WEIGHT + 1, NUM_ITEMS)
    value = np.clip(np.round(weight * rng.uniform(0.5, 2.0, NUM_ITEMS) + rng.uniform(0.0, 30.0, NUM_ITEMS)), 1, MOST_VALUE)
    return Knapsack(value, weight, int(rng.uniform(*CAPACITY) * weight.sum()))


def best_packing(knapsack: Knapsack, taken: np.ndarray) -> float:
    """The follower's value when the items with `taken` (n,) above one half are gone, by dynamic programming over the capacity."""
    best = np.zeros(knapsack.capacity + 1)
    for item in np.flatnonzero(taken < 0.5):
        weight = int(knapsack.weight[item])
        if weight <= knapsack.capacity:
            best[weight:] = np.maximum(best[weight:], best[: best.size - weight] + knapsack.value[item])
    return float(best[-1])


def features(knapsack: Knapsack) -> np.ndarray:
    """What the encoder sees of every item, shape (n, 4)."""
    value, weight = knapsack.value / MOST_VALUE, knapsack.weight / MOST_WEIGHT
    return np.stack([value, weight, value / weight, np.full(weight.size, knapsack.capacity / weight.size / MOST_WEIGHT)], axis=1)


def build_interdiction(writing: str, seed: int) -> Instance:
    """The instance of a seed; the start takes nothing, and in the lower writing packs nothing."""
    if writing not in WRITINGS:
        raise ValueError(f"The writings are {', '.join(WRITINGS)}; received {writing!r}.")
    rng = np.random.default_rng(seed)
    knapsack = draw_knapsack(rng)
    price = np.round(rng.uniform(1.0, 10.0, NUM_ITEMS), 1)
    budget = float(np.round(rng.uniform(*BUDGET) * price.sum(), 1))
    is_lower = writing == "lower"
    host = HostBuilder()
    taken = host.columns(NUM_ITEMS, integer=True)
    predicted = host.columns(lb=-np.inf, ub=np.inf, cost=0.0 if is_lower else float(NUM_ITEMS))
    host.row((price, taken), ub=budget)
    short = _write_follower(host, knapsack, taken, predicted) if is_lower else None
    program = host.build()
    inputs = encode(load_part(PROBLEM, "encoder"), features(knapsack)[None], taken, program.num_columns)
    embeddings = (Embedding(load_part(PROBLEM, "head"), inputs, predicted.reshape(1)),)
    start = predict(embeddings, np.zeros(program.num_columns))
    if short is not None:
        start[short] = max(NUM_ITEMS * float(start[predicted]), 0.0)
    return Instance(f"interdiction {writing} seed {seed}", program, embeddings, [start])


def _write_follower(host: HostBuilder, knapsack: Knapsack, taken: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """The follower's own columns; returns that of what it is short of the prediction."""
    packed = host.columns(NUM_ITEMS, integer=True, cost=knapsack.value)
    short = host.columns(ub=float(knapsack.value.sum()), cost=PENALTY)
    host.row((knapsack.weight, packed), ub=float(knapsack.capacity))
    for item in range(NUM_ITEMS):
        host.row((1.0, packed[item]), (1.0, taken[item]), ub=1.0)
    host.row((knapsack.value, packed), (1.0, short), (-float(NUM_ITEMS), predicted), lb=0.0)
    return short
