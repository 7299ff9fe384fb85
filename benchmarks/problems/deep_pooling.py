"""Pooling hosts with deeper networks: 16 binaries, m^3 scenarios, two or three hidden layers fitted to the released network."""

from __future__ import annotations

import numpy as np

from benchmarks.problems.fit import fit_network
from benchmarks.problems.instance import Instance
from benchmarks.problems.pooling import NUM_DESIGN, UNCERTAIN, load_pooling_network, pooling_instance
from dcembed import Network


def deep_pooling(widths: tuple[int, ...], m: int, trial: int) -> Instance:
    """m^3 scenarios of a network with these hidden layers."""
    return pooling_instance(fit_recourse(widths, trial), m, trial)


def fit_recourse(widths: tuple[int, ...], seed: int) -> Network:
    """A network fitted to the second-stage profits that the released one predicts."""
    released = load_pooling_network()
    low = np.concatenate([np.zeros(NUM_DESIGN), [mean - 3 * deviation for mean, deviation in UNCERTAIN]])
    high = np.concatenate([np.ones(NUM_DESIGN), [mean + 3 * deviation for mean, deviation in UNCERTAIN]])
    return fit_network(lambda points: released(points)[:, 0], low, high, widths, seed)
