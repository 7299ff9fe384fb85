"""Synthetic QPs with 30 repeated neural inequalities (section 5.1 of the paper).

minimize 1/2 ||Gx||^2 + c'x   subject to   Ex = 0,  |Cx| <= mu,  x in [-1, 1]^150,  f(x_block) <= 0 for 30 blocks of 5
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.instance import Instance
from dcembed import Embedding, Network, Program, load_network

NETWORKS = Path(__file__).parent / "networks"
NUM_BLOCKS, BLOCK = 30, 5
NUM_COLUMNS = NUM_BLOCKS * BLOCK


def target(u):
    """The function the networks are trained on; `u` has five columns, numpy or torch."""
    u1, u2, u3, u4, u5 = (u[:, j] for j in range(5))
    square = 0.30 * u1**2 + 0.20 * u2**2 + 0.15 * u3**2 + 0.15 * u4**2 + 0.10 * u5**2
    # 1 - cos(pi u) = 2 sin^2(pi u / 2), written so that numpy and torch both take it.
    wave = 0.16 * ((u3 * (np.pi / 2)).sin() if hasattr(u3, "sin") else np.sin(u3 * (np.pi / 2))) ** 2
    return square + 0.10 * u1 * u4 + 0.08 * u2 * u5 + wave - 0.15


def network_path(width: int, depth: int, trial: int) -> Path:
    return NETWORKS / f"qp_{width}x{depth}_{trial}.npz"


def load_qp_network(width: int, depth: int, trial: int) -> Network:
    """A trained network of the experiment; `python -m benchmarks.train_networks` makes those that are missing."""
    return load_network(network_path(width, depth, trial))


def qp_instance(network: Network, trial: int, limit: float = 1.0) -> Instance:
    """The residual model of a trial with a network in it; `limit` is mu, which the paper does not state."""
    rng = np.random.default_rng(trial)
    g = rng.normal(0.0, np.sqrt(1 / 132), (132, NUM_COLUMNS))
    e = rng.normal(0.0, np.sqrt(1 / 150), (18, NUM_COLUMNS))
    c = rng.normal(0.0, np.sqrt(1 / 150), (75, NUM_COLUMNS))
    cost = rng.normal(0.0, 1 / 150, NUM_COLUMNS)
    # The predictions are columns 150..179; f <= 0 is their upper bound.
    quadratic = np.zeros((NUM_COLUMNS + NUM_BLOCKS,) * 2)
    quadratic[:NUM_COLUMNS, :NUM_COLUMNS] = g.T @ g
    program = Program(
        cost=np.concatenate([cost, np.zeros(NUM_BLOCKS)]),
        quadratic=quadratic,
        rows=np.hstack([np.vstack([e, c]), np.zeros((93, NUM_BLOCKS))]),
        row_lb=np.concatenate([np.zeros(18), np.full(75, -limit)]),
        row_ub=np.concatenate([np.zeros(18), np.full(75, limit)]),
        lb=np.concatenate([np.full(NUM_COLUMNS, -1.0), np.full(NUM_BLOCKS, -np.inf)]),
        ub=np.concatenate([np.full(NUM_COLUMNS, 1.0), np.zeros(NUM_BLOCKS)]),
    )
    embedding = Embedding(network, np.arange(NUM_COLUMNS).reshape(NUM_BLOCKS, BLOCK), NUM_COLUMNS + np.arange(NUM_BLOCKS))
    return Instance(f"qp trial {trial}", program, (embedding,), [np.zeros(program.num_columns)])
