"""Lot sizing with predicted energy: how many lots of each product in each period, and for which ones the plant is set up.

A network predicts the energy of a period from its lots and set-ups. Demand is met from stock, capacity is shared.
"""

from __future__ import annotations

import numpy as np

from benchmarks.problems.fit import fit_network
from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from dcembed import Embedding
from dcembed.network.activations import RELU, Activation

NUM_PRODUCTS, MAX_LOTS, WIDTHS = 5, 4, (16,)


def lots_instance(num_periods: int, seed: int, activation: Activation = RELU) -> Instance:
    """Minimize set-ups, stock and predicted energy."""
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 3, (num_periods, NUM_PRODUCTS)).astype(np.float64)
    host = HostBuilder()
    shape = num_periods, NUM_PRODUCTS
    lots = host.columns(*shape, ub=float(MAX_LOTS), integer=True)
    setup = host.columns(*shape, integer=True, cost=rng.uniform(0.2, 0.6, shape))
    stock = host.columns(*shape, ub=10.0, cost=rng.uniform(0.05, 0.15, shape))
    energy = host.columns(num_periods, lb=-np.inf, ub=np.inf, cost=1.0)
    for period in range(num_periods):
        host.row((1.0, lots[period]), ub=2.0 * NUM_PRODUCTS)
        host.row((1.0, setup[period]), ub=NUM_PRODUCTS - 1.0)
        for product in range(NUM_PRODUCTS):
            host.row((1.0, lots[period, product]), (-float(MAX_LOTS), setup[period, product]), ub=0.0)
            before = [(1.0, stock[period - 1, product])] if period else []
            balance = (1.0, lots[period, product]), (-1.0, stock[period, product])
            host.row(*before, *balance, lb=demand[period, product], ub=demand[period, product])
    low, high = np.zeros(2 * NUM_PRODUCTS), np.array([*[float(MAX_LOTS)] * NUM_PRODUCTS, *[1.0] * NUM_PRODUCTS])
    network = fit_network(_energy(rng), low, high, WIDTHS, seed, activation)
    embedding = Embedding(network, np.hstack([lots, setup]), energy)
    return Instance(f"lots T={num_periods} seed {seed}", host.build(), (embedding,), [])


def _energy(rng: np.random.Generator):
    """Lots of one kind share heat, lots of rival kinds disturb one another, and a half-full plant is wasteful."""
    use, together = rng.uniform(0.2, 0.8, NUM_PRODUCTS), rng.normal(size=(NUM_PRODUCTS, NUM_PRODUCTS)) * 0.15

    def energy(x: np.ndarray) -> np.ndarray:
        made, ready = x[:, :NUM_PRODUCTS], x[:, NUM_PRODUCTS:]
        waste = 1.5 * np.sin(made.sum(axis=1) / 2.5)
        return made @ use + np.einsum("ki,ij,kj->k", made, together, made) + waste + 0.4 * ready.sum(axis=1)

    return energy
