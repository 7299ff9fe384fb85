"""Synthetic QPs with 30 repeated neural inequalities (section 5.1 of the paper).

minimize 1/2 ||Gx||^2 + c'x   subject to   Ex = 0,  |Cx| <= mu,  x in [-1, 1]^150,  f(x_block) <= 0 for 30 blocks of 5
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.problems.instance import Instance
from benchmarks.problems.sizes import SizeError
from benchmarks.problems.trained import load_trained, network_file, require_network
from dcembed import Embedding, Network, Program

NUM_BLOCKS, BLOCK = 30, 5


def read_qp_size(size: str) -> tuple[int, int, int]:
    """Width, depth and number of blocks of "64x3" or "64x3x30"."""
    try:
        width, depth, *blocks = (int(part) for part in size.split("x"))
        (num_blocks,) = blocks or (NUM_BLOCKS,)
    except ValueError:
        raise SizeError(f"A size of the QP is WIDTHxDEPTH or WIDTHxDEPTHxBLOCKS, such as 64x3; received {size!r}.") from None
    return width, depth, num_blocks


def find_qp(size: str, trial: int) -> tuple[Path, ...]:
    """The data files of an instance."""
    width, depth, _ = read_qp_size(size)
    return (find_qp_network(width, depth, trial),)


def build_qp(size: str, trial: int) -> Instance:
    """The instance of a size and trial."""
    width, depth, num_blocks = read_qp_size(size)
    return qp_instance(load_qp_network(width, depth, trial), trial, num_blocks=num_blocks)


def target(u):
    """The function the networks are trained on; `u` has five columns, numpy or torch."""
    u1, u2, u3, u4, u5 = (u[:, j] for j in range(5))
    square = 0.30 * u1**2 + 0.20 * u2**2 + 0.15 * u3**2 + 0.15 * u4**2 + 0.10 * u5**2
    # 1 - cos(pi u) = 2 sin^2(pi u / 2), written so that numpy and torch both take it.
    wave = 0.16 * ((u3 * (np.pi / 2)).sin() if hasattr(u3, "sin") else np.sin(u3 * (np.pi / 2))) ** 2
    return square + 0.10 * u1 * u4 + 0.08 * u2 * u5 + wave - 0.15


def network_path(width: int, depth: int, trial: int, activation: str = "relu") -> Path:
    """Where a network is."""
    kind = "" if activation == "relu" else f"{activation}_"
    return network_file(f"qp_{kind}{width}x{depth}_{trial}.npz")


def find_qp_network(width: int, depth: int, trial: int) -> Path:
    """The file of a trained network; the error has the command that trains it."""
    return require_network(network_path(width, depth, trial), _command(width, depth, trial))


def _command(width: int, depth: int, trial: int) -> str:
    return f"train_qp {width}x{depth} --trials {trial}"


def load_qp_network(width: int, depth: int, trial: int) -> Network:
    """A trained network of the experiment."""
    return load_trained(network_path(width, depth, trial), _command(width, depth, trial), architecture="relu")


def qp_instance(network: Network, trial: int, limit: float = 1.0, num_blocks: int = NUM_BLOCKS) -> Instance:
    """The residual model of a trial with a network in it; `limit` is mu, which the paper does not state.

    With fewer blocks than the paper's 30, the numbers of rows shrink in proportion.
    """
    n = num_blocks * BLOCK
    num_squares, num_equal, num_limited = (round(share * n / 150) for share in (132, 18, 75))
    rng = np.random.default_rng(trial)
    g = rng.normal(0.0, np.sqrt(1 / num_squares), (num_squares, n))
    e = rng.normal(0.0, np.sqrt(1 / n), (num_equal, n))
    c = rng.normal(0.0, np.sqrt(1 / n), (num_limited, n))
    cost = rng.normal(0.0, 1 / n, n)
    # The predictions are the last columns; f <= 0 is their upper bound.
    quadratic = np.zeros((n + num_blocks,) * 2)
    quadratic[:n, :n] = g.T @ g
    program = Program(
        cost=np.concatenate([cost, np.zeros(num_blocks)]),
        quadratic=quadratic,
        rows=np.hstack([np.vstack([e, c]), np.zeros((num_equal + num_limited, num_blocks))]),
        row_lb=np.concatenate([np.zeros(num_equal), np.full(num_limited, -limit)]),
        row_ub=np.concatenate([np.zeros(num_equal), np.full(num_limited, limit)]),
        lb=np.concatenate([np.full(n, -1.0), np.full(num_blocks, -np.inf)]),
        ub=np.concatenate([np.full(n, 1.0), np.zeros(num_blocks)]),
    )
    embedding = Embedding(network, np.arange(n).reshape(num_blocks, BLOCK), n + np.arange(num_blocks))
    return Instance(f"qp trial {trial}", program, (embedding,), [np.zeros(program.num_columns)])
