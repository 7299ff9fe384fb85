"""Four tanks and two pumps, by their equations: the plant that `tanks.py` controls, and what its networks are trained on.

Each pump fills a lower tank and, crosswise, an upper one; the upper tanks run into the lower ones and those run out, as fast as Torricelli
says. Levels are in cm, pumps in V.
"""

from __future__ import annotations

import numpy as np

NUM_STATES, NUM_INPUTS, WIDTHS = 4, 2, (32, 32)
# Areas of the tanks and of their outlets in cm2, what a pump moves in cm3/(V s), its share for the lower tank, and gravity in cm/s2.
AREA, OUTLET = np.array([28.0, 32.0, 28.0, 32.0]), np.array([0.071, 0.057, 0.071, 0.057])
FLOW, SHARE, GRAVITY = np.array([3.33, 3.35]), np.array([0.7, 0.6]), 981.0
# Seconds between two decisions, and the steps that they are integrated in.
PERIOD, NUM_PIECES = 10.0, 20
# Where the plant is run, and where networks are trained.
LOW, HIGH = np.array([0.5, 0.5, 0.2, 0.2, 0.0, 0.0]), np.array([24.0, 24.0, 8.0, 8.0, 8.0, 8.0])


def rates(levels: np.ndarray, pumps: np.ndarray) -> np.ndarray:
    """How fast the levels rise, shape (k, 4); a tank that is empty stays so."""
    out = OUTLET * np.sqrt(2.0 * GRAVITY * np.maximum(levels, 0.0))
    moved = FLOW * pumps
    into = np.stack([SHARE[0] * moved[:, 0], SHARE[1] * moved[:, 1], (1 - SHARE[1]) * moved[:, 1], (1 - SHARE[0]) * moved[:, 0]], axis=1)
    into[:, :2] += out[:, 2:]
    return (into - out) / AREA


def advance(levels: np.ndarray, pumps: np.ndarray) -> np.ndarray:
    """The levels (k, 4) a period later, with the pumps (k, 2) held, by the classical method of Runge and Kutta."""
    step = PERIOD / NUM_PIECES
    for _ in range(NUM_PIECES):
        first = rates(levels, pumps)
        second = rates(levels + step / 2 * first, pumps)
        third = rates(levels + step / 2 * second, pumps)
        fourth = rates(levels + step * third, pumps)
        levels = levels + step / 6 * (first + 2 * second + 2 * third + fourth)
    return levels


def rise(points: np.ndarray) -> np.ndarray:
    """By how much the levels change in a period, shape (k, 4); `points` (k, 6) has levels and pumps."""
    return advance(points[:, :NUM_STATES], points[:, NUM_STATES:]) - points[:, :NUM_STATES]


def steady(pumps: np.ndarray) -> np.ndarray:
    """The levels (4,) at which nothing changes while the pumps (2,) are held."""
    moved = FLOW * pumps
    upper = np.array([(1 - SHARE[1]) * moved[1], (1 - SHARE[0]) * moved[0]])
    lower = SHARE * moved + upper
    return (np.concatenate([lower, upper]) / OUTLET) ** 2 / (2.0 * GRAVITY)
