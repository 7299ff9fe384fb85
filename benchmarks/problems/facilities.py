"""Facilities with capacities and demands that are not known yet (CFLP), of the shape of Neur2SP.

Open facilities x ship to customers when the demands d are known; what is not shipped is bought elsewhere, dearly:

    Q(x, d) = minimize  sum_ij cost_ij flow_ij + penalty sum_j lacking_j
              sum_i flow_ij + lacking_j = d_j,   sum_j flow_ij <= capacity_i x_i

Unlike there a customer may be served by several facilities: the second stage is an LP, which HiGHS solves for every sample. The places of
facilities and customers are drawn once for each size n (n facilities, n customers), so that a network belongs to a size; a seed draws the
scenarios. Every third of the facilities is a zone, which has room for half of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.instance import Instance
from benchmarks.problems.recourse import Recourse
from benchmarks.problems.scenario_design import WRITINGS, Row, design_instance
from benchmarks.problems.trained import load_trained, network_file
from dcembed import Network

# Units of the only hidden layer by size, n facilities and n customers.
WIDTHS = {10: 64, 25: 128, 50: 128}
DEMANDS, CAPACITIES, FIXED, PENALTY = (5.0, 35.0), (40.0, 160.0), (300.0, 600.0), 40.0
# Distances in the unit square are this dear.
DISTANCE = 20.0
NUM_ZONES = 3


@dataclass(frozen=True, eq=False)
class Site:
    """Fixed costs and capacities (n,), what a unit costs from each facility to each customer (n, n), mean demands (n,)."""

    fixed: np.ndarray
    capacity: np.ndarray
    cost: np.ndarray
    demand: np.ndarray


def draw_site(size: int) -> Site:
    """The site of a size, always the same."""
    rng = np.random.default_rng(size)
    places, customers = rng.uniform(size=(2, size, 2))
    capacity = rng.uniform(*CAPACITIES, size)
    return Site(
        rng.uniform(*FIXED, size) * np.sqrt(capacity / np.mean(CAPACITIES)),
        capacity,
        DISTANCE * np.linalg.norm(places[:, None] - customers, axis=2),
        rng.uniform(*DEMANDS, size),
    )


def draw_demands(site: Site, number: int, rng: np.random.Generator) -> np.ndarray:
    """Demands (number, n): around the mean ones, all higher or lower together in part."""
    together, apart = rng.normal(size=(number, 1)), rng.normal(size=(number, site.demand.size))
    return np.maximum(site.demand * (1.0 + 0.15 * together + 0.25 * apart), 0.0)


def build_recourse(site: Site) -> Recourse:
    """The second stage; its sides are those of `sides`."""
    n = site.fixed.size
    ones, unit = np.ones((1, n)), sp.eye_array(n)
    # Columns are flows by facility and then by customer, and what is lacking.
    rows = sp.vstack([sp.hstack([sp.kron(ones, unit), unit]), sp.hstack([sp.kron(unit, ones), sp.csr_array((n, n))])])
    cost = np.concatenate([site.cost.reshape(-1), np.full(n, PENALTY)])
    return Recourse(cost, sp.csc_array(rows), np.full(cost.size, np.inf))


def sides(site: Site, opened: np.ndarray, demand: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the rows of the second stage."""
    return np.concatenate([demand, np.full(opened.size, -np.inf)]), np.concatenate([demand, site.capacity * opened])


def facilities_path(size: int, writing: str) -> Path:
    """Where a network is."""
    return network_file(f"facilities_{size}_{writing}.npz")


def load_facilities(size: int, writing: str) -> Network:
    """A trained network; the error has the command that trains it."""
    return load_trained(facilities_path(size, writing), f"train_facilities {size}")


def build_facilities(size: int, writing: str, num_scenarios: int, seed: int) -> Instance:
    """The scenarios of a seed in one of the writings; the start opens the cheapest facility of every zone."""
    if writing not in WRITINGS:
        raise ValueError(f"The writings are {', '.join(WRITINGS)}; received {writing!r}.")
    site = draw_site(size)
    demands = draw_demands(site, num_scenarios, np.random.default_rng(seed)) if writing == "scenarios" else np.zeros((1, 0))
    start = np.zeros(size)
    for zone in zones(size):
        start[zone[np.argmin(site.fixed[zone])]] = 1.0
    name = f"facilities n={size} {writing} S={len(demands)} seed {seed}"
    return design_instance(name, load_facilities(size, writing), site.fixed, _zone_rows(size), demands, start)


def zones(size: int) -> list[np.ndarray]:
    """The facilities of each zone."""
    return np.array_split(np.arange(size), NUM_ZONES)


def _zone_rows(size: int) -> list[Row]:
    members = [np.isin(np.arange(size), zone).astype(np.float64) for zone in zones(size)]
    return [(member, -np.inf, float(member.sum() // 2 + 1)) for member in members] + [(np.ones(size), 1.0, np.inf)]
