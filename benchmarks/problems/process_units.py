"""The units of the plant in `process.py`, by their formulas, and the tanh networks that stand for them.

A turns into B and B into C in stirred tanks of first-order reactions; a flash parts vapour and liquid by the rule of Raoult. Both take
flows and not fractions.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.problems.trained import load_trained, network_file
from dcembed import Network

NUM_COMPONENTS, WIDTHS = 3, (40, 40)
# Where the networks are trained: flows of A, B, C in kmol/min, then temperature in K, and volume in m3 or pressure in bar.
MOST_FLOW = (12.0, 8.0, 4.0)
RANGES = {
    "tank": (np.array([0.0, 0.0, 0.0, 330.0, 1.0]), np.array([*MOST_FLOW, 400.0, 10.0])),
    "flash": (np.array([0.0, 0.0, 0.0, 350.0, 0.8]), np.array([*MOST_FLOW, 380.0, 1.6])),
}
# Of both reactions: rates per minute at a temperature, activation energies in K, heats in MJ/kmol.
RATES, RATES_AT, ENERGIES, HEATS = (1.2, 0.12), 360.0, (6000.0, 9500.0), (-30.0, -20.0)
# MJ/(kmol K), and the temperature of what flows into a tank.
CAPACITY, INLET = 0.15, 320.0
# ln p = a - b / T of each component, in bar and K.
PRESSURE_A, PRESSURE_B = np.array([12.0, 11.0, 11.3]), np.array([4800.0, 3600.0, 4200.0])
NUM_BISECTIONS = 60


def tank(x: np.ndarray) -> np.ndarray:
    """Extents of both reactions and the heat of a stirred tank, shape (k, 3); `x` (k, 5) has flows, temperature and volume."""
    flows, temperature, volume = x[:, :NUM_COMPONENTS], x[:, 3], x[:, 4]
    total = flows.sum(axis=1)
    # A kmol fills a cubic metre; where nothing flows in, nothing reacts.
    time = volume / np.maximum(total, 1e-9)
    first, second = (rate * np.exp(energy * (1 / RATES_AT - 1 / temperature)) * time for rate, energy in zip(RATES, ENERGIES, strict=True))
    made = flows[:, 0] * first / (1.0 + first)
    lost = (flows[:, 1] + made) * second / (1.0 + second)
    heat = CAPACITY * total * (temperature - INLET) + HEATS[0] * made + HEATS[1] * lost
    return np.stack([made, lost, heat], axis=1)


def flash(x: np.ndarray) -> np.ndarray:
    """Vapour of all components, shape (k, 3); `x` (k, 5) has flows, temperature and pressure."""
    flows, temperature, pressure = x[:, :NUM_COMPONENTS], x[:, 3:4], x[:, 4:5]
    ratio = np.exp(PRESSURE_A - PRESSURE_B / temperature) / pressure
    low, high = np.zeros((len(x), 1)), np.ones((len(x), 1))
    # The excess of vapour falls with its share; where it has no root, all is vapour or all is liquid.
    for _ in range(NUM_BISECTIONS):
        share = (low + high) / 2
        is_more = (flows * (ratio - 1) / (1 + share * (ratio - 1))).sum(axis=1, keepdims=True) > 0
        low, high = np.where(is_more, share, low), np.where(is_more, high, share)
    return flows * ratio * share / (1 + share * (ratio - 1))


UNITS = {"tank": tank, "flash": flash}


def unit_path(name: str) -> Path:
    """Where a network is."""
    return network_file(f"process_{name}.npz")


def load_unit(name: str) -> Network:
    """A trained network; the error has the command that trains it."""
    return load_trained(unit_path(name), f"train_process {name}")
