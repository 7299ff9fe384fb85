"""Servers for clients that may or may not appear (SSLP), of the shape of Neur2SP.

Servers x are placed; when it is known which clients are there (h), each of them is given to one server, which brings revenue_ij and takes
as much of the server's room. What is beyond the room is dear:

    Q(x, h) = minimize  -sum_ij revenue_ij given_ij + 5 sum_i beyond_i
              sum_i given_ij = h_j,   sum_j revenue_ij given_ij - beyond_i <= room x_i,   given_ij binary

The second stage is a MILP, which HiGHS solves for every sample, to a gap of 0.1 %. Revenues are drawn once for each size, so that a network
belongs to a size; a seed draws the scenarios. A size is the number of servers and that of clients.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.instance import Instance
from benchmarks.problems.recourse import Recourse
from benchmarks.problems.scenario_design import design_instance
from benchmarks.problems.trained import load_trained, network_file
from dcembed import Network

# Units of the only hidden layer by size.
WIDTHS = {"10x50": 128, "15x45": 128}
COSTS, MOST_REVENUE, BEYOND, PRESENCE = (40.0, 80.0), 25, 5.0, 0.5
# Room of a server in shares of what a server of each would need if all clients came.
ROOM = 1.5


@dataclass(frozen=True, eq=False)
class Servers:
    """Costs of the servers (n,), revenues (n, m), and the room of a server."""

    cost: np.ndarray
    revenue: np.ndarray
    room: float


def draw_servers(size: str) -> Servers:
    """The servers of a size, always the same."""
    number, clients = (int(part) for part in size.split("x"))
    rng = np.random.default_rng((number, clients))
    revenue = rng.integers(0, MOST_REVENUE + 1, (number, clients)).astype(np.float64)
    return Servers(np.round(rng.uniform(*COSTS, number)), revenue, float(np.ceil(ROOM * revenue.max(axis=0).sum() / number)))


def draw_clients(servers: Servers, number: int, rng: np.random.Generator) -> np.ndarray:
    """Which clients are there, shape (number, m), zeros and ones."""
    return (rng.random((number, servers.revenue.shape[1])) < PRESENCE).astype(np.float64)


def build_recourse(servers: Servers) -> Recourse:
    """The second stage; its sides are those of `sides`."""
    n, m = servers.revenue.shape
    # Columns are what is given, by server and then by client, and what is beyond the room.
    given = sp.hstack([sp.kron(np.ones((1, n)), sp.eye_array(m)), sp.csr_array((m, n))])
    used = sp.hstack([sp.block_diag([row[None] for row in servers.revenue]), -sp.eye_array(n)])
    cost = np.concatenate([-servers.revenue.reshape(-1), np.full(n, BEYOND)])
    return Recourse(cost, sp.csc_array(sp.vstack([given, used])), np.concatenate([np.ones(n * m), np.full(n, np.inf)]), n * m)


def sides(servers: Servers, placed: np.ndarray, clients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the rows of the second stage."""
    return np.concatenate([clients, np.full(placed.size, -np.inf)]), np.concatenate([clients, servers.room * placed])


def servers_path(size: str) -> Path:
    """Where a network is."""
    return network_file(f"servers_{size}.npz")


def load_servers(size: str) -> Network:
    """A trained network; the error has the command that trains it."""
    return load_trained(servers_path(size), f"train_servers {size}")


def build_servers(size: str, num_scenarios: int, seed: int) -> Instance:
    """The scenarios of a seed, at most half of the servers and one more are placed; the start places the first one."""
    servers = draw_servers(size)
    number = servers.cost.size
    clients = draw_clients(servers, num_scenarios, np.random.default_rng(seed))
    rows = [(np.ones(number), 1.0, float(number // 2 + 1))]
    name = f"servers {size} S={num_scenarios} seed {seed}"
    return design_instance(name, load_servers(size), servers.cost, rows, clients, np.eye(number)[0])
