"""Control of four tanks by a network of their dynamics: twenty steps ahead, decided anew from where the plant has got to.

    minimize    sum over k of  |levels of the lower tanks - wanted|^2 + 0.05 |change of the pumps|^2
    subject to  level_(k+1) = level_k + network(level_k, pumps_k),    bounds of levels and pumps,    pumps change by at most 1 V at once

Where the plant is, what the pumps were and what is wanted change from one solve to the next; nothing else does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.tank_system import HIGH, LOW, NUM_INPUTS, NUM_STATES
from benchmarks.problems.trained import load_trained, network_file
from dcembed import Embedding, Network, Program

ACTIVATIONS = ("relu", "tanh")
HORIZON = 20
# Of the levels that are wanted, of the pumps' changes, and by how much a pump may change at once.
ON_LEVELS, ON_CHANGES, MOST_CHANGE = 1.0, 0.05, 1.0
TRACKED = 2
# The upper tanks are small: this is what limits fast moves.
LEVEL_LOW, LEVEL_HIGH = np.array([1.0, 1.0, 0.3, 0.3]), np.array([20.0, 20.0, 3.5, 3.5])


def dynamics_path(activation: str) -> Path:
    """Where the network of the dynamics is."""
    return network_file(f"tanks_{activation}.npz")


def load_dynamics(activation: str) -> Network:
    """The network of the dynamics: levels and pumps to the rise of the levels in a period."""
    return load_trained(dynamics_path(activation), f"train_tanks {activation}")


@dataclass(frozen=True, eq=False)
class Control:
    """The problem that is solved again and again.

    Parameters
    ----------
    levels, pumps, rises
        Columns: levels (21, 4), where the first are those of the plant; pumps (21, 2), where the first are those of the last
        period; rises (20, 4), the predictions.
    """

    program: Program
    embeddings: tuple[Embedding, ...]
    levels: np.ndarray
    pumps: np.ndarray
    rises: np.ndarray

    def bounds(self, levels: np.ndarray, pumps: np.ndarray) -> dict[str, np.ndarray]:
        """lb and ub with the plant at these levels and the pumps of the last period."""
        lb, ub = self.program.lb.copy(), self.program.ub.copy()
        lb[self.levels[0]] = ub[self.levels[0]] = levels
        lb[self.pumps[0]] = ub[self.pumps[0]] = pumps
        return {"lb": lb, "ub": ub}

    def objective(self, wanted: np.ndarray) -> dict[str, object]:
        """cost and offset for these levels of the lower tanks."""
        cost = np.zeros(self.program.num_columns)
        cost[self.levels[1:, :TRACKED]] = -2.0 * ON_LEVELS * wanted
        return {"cost": cost, "offset": ON_LEVELS * HORIZON * float(wanted @ wanted)}

    def shifted(self, x: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """An answer a period later, from where the plant is: the pumps one step earlier, the last twice, and what the network makes of them."""
        pumps = x[self.pumps]
        return self.simulated(levels, np.concatenate([pumps[1:], pumps[-1:]]))

    def simulated(self, levels: np.ndarray, pumps: np.ndarray) -> np.ndarray:
        """All columns with these pumps (21, 2), the first of which have been, from these levels on."""
        x, network = np.zeros(self.program.num_columns), self.embeddings[0].network
        x[self.pumps], x[self.levels[0]] = pumps, levels
        for now, then, rise, pump in zip(self.levels[:-1], self.levels[1:], self.rises, self.pumps[1:], strict=True):
            x[rise] = network(np.concatenate([x[now], x[pump]])[None])[0]
            x[then] = x[now] + x[rise]
        return x


def build_control(network: Network, horizon: int = HORIZON) -> Control:
    """The problem with the plant and what is wanted left at zero."""
    levels = np.arange((horizon + 1) * NUM_STATES).reshape(-1, NUM_STATES)
    pumps = levels.size + np.arange((horizon + 1) * NUM_INPUTS).reshape(-1, NUM_INPUTS)
    rises = levels.size + pumps.size + np.arange(horizon * NUM_STATES).reshape(-1, NUM_STATES)
    n = levels.size + pumps.size + rises.size
    lb, ub = np.full(n, -np.inf), np.full(n, np.inf)
    lb[levels], ub[levels] = LEVEL_LOW, LEVEL_HIGH
    lb[pumps], ub[pumps] = LOW[NUM_STATES:], HIGH[NUM_STATES:]
    dynamics = _unit(levels[1:], n) - _unit(levels[:-1], n) - _unit(rises, n)
    changes = _unit(pumps[1:], n) - _unit(pumps[:-1], n)
    tracked = _unit(levels[1:, :TRACKED], n)
    none = np.zeros(rises.size)
    program = Program(
        cost=np.zeros(n),
        quadratic=2.0 * ON_LEVELS * (tracked.T @ tracked) + 2.0 * ON_CHANGES * (changes.T @ changes),
        rows=sp.vstack([dynamics, changes], format="csr"),
        row_lb=np.concatenate([none, np.full(changes.shape[0], -MOST_CHANGE)]),
        row_ub=np.concatenate([none, np.full(changes.shape[0], MOST_CHANGE)]),
        lb=lb,
        ub=ub,
    )
    inputs = np.concatenate([levels[:-1], pumps[1:]], axis=1)
    return Control(program, (Embedding(network, inputs, rises),), levels, pumps, rises)


def _unit(columns: np.ndarray, n: int) -> sp.csr_array:
    """A row for each of the columns."""
    size = columns.size
    return sp.csr_array((np.ones(size), (np.arange(size), columns.reshape(-1))), shape=(size, n))
