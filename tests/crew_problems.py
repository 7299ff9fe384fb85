"""A problem for runs with others, and what holds for every result."""

from __future__ import annotations

import numpy as np

import dcembed
from problems import random_mlp


def margin(seed: int = 0, width: int = 16):
    """A box of ten inputs with many local optima: each start takes a few hundredths of a second."""
    network = random_mlp(seed, (10, width, 1))
    program = dcembed.Program(cost=[*np.zeros(10), 1.0], lb=[*-3.0 * np.ones(10), -np.inf], ub=[*3.0 * np.ones(10), np.inf])
    return program, dcembed.Embedding(network, [[*range(10)]], [[10]])


def check(program, embedding, result):
    """What is reported is true."""
    measured = dcembed.verify(program, [embedding], result.x)
    assert result.is_feasible
    assert measured.violation <= result.feasibility_tol
    assert measured.objective == result.objective
