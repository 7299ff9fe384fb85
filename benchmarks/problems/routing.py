"""Vehicles whose travel time a network predicts: routes, loads and departures are binaries, features are their linear images.

Each of two vehicles leaves the depot in one of three slots and visits customers; flows on the arcs keep its tour connected. The
network predicts how long it is on the road from when it leaves, whom it visits, how far it goes and what it carries. Cost is
distance, predicted time, and dear lateness beyond the end of the shift.
"""

from __future__ import annotations

import numpy as np

from benchmarks.problems.fit import fit_network
from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from dcembed import Embedding, Network

NUM_VEHICLES, NUM_SLOTS, WIDTHS = 2, 3, (12,)
# Beyond slots and visits: stops, distance, load, long arcs, arcs between zones, and the share of the first zone.
NUM_SUMMARIES = 6
LATE_COST, DISTANCE_COST, SHIFT = 5.0, 0.3, 3.5


def routing_instance(num_customers: int, seed: int) -> Instance:
    """With five customers 76 integers and two evaluations of 14 inputs."""
    rng = np.random.default_rng(seed)
    place = np.vstack([[0.5, 0.5], rng.uniform(0, 1, (num_customers, 2))])
    demand = rng.integers(1, 5, num_customers).astype(np.float64)
    distance = np.linalg.norm(place[:, None] - place, axis=2)
    network = _fit(num_customers, demand, rng, seed)
    host = HostBuilder()
    arcs = [(i, j) for i in range(num_customers + 1) for j in range(num_customers + 1) if i != j]
    origin, target = np.array(arcs).T
    length = distance[origin, target]
    zone = place[:, 0] > 0.5
    features = np.array([_vehicle(host, origin, target, length, zone, demand) for _ in range(NUM_VEHICLES)])
    visits = features[:, NUM_SLOTS : NUM_SLOTS + num_customers]
    for customer in range(num_customers):
        host.row((1.0, visits[:, customer]), lb=1.0, ub=1.0)
    time = host.columns(NUM_VEHICLES, lb=-np.inf, ub=np.inf, cost=1.0)
    late = host.columns(NUM_VEHICLES, lb=0.0, ub=np.inf, cost=LATE_COST)
    for vehicle in range(NUM_VEHICLES):
        host.row((1.0, late[vehicle]), (-1.0, time[vehicle]), lb=-SHIFT)
    return Instance(f"routing C={num_customers} seed {seed}", host.build(), (Embedding(network, features, time),), [])


def _vehicle(
    host: HostBuilder, origin: np.ndarray, target: np.ndarray, length: np.ndarray, zone: np.ndarray, demand: np.ndarray
) -> np.ndarray:
    """Columns and rows of one vehicle's tour; the columns of its features."""
    num_customers, num_arcs = demand.size, origin.size
    slot = host.columns(NUM_SLOTS, integer=True)
    visit = host.columns(num_customers, integer=True)
    drive = host.columns(num_arcs, integer=True, cost=DISTANCE_COST * length)
    flow = host.columns(num_arcs, ub=float(num_customers))
    host.row((1.0, slot), lb=1.0, ub=1.0)
    for arc in range(num_arcs):
        host.row((1.0, flow[arc]), (-float(num_customers), drive[arc]), ub=0.0)
    for customer in range(num_customers):
        node = customer + 1
        host.row((1.0, drive[target == node]), (-1.0, visit[customer]), lb=0.0, ub=0.0)
        host.row((1.0, drive[origin == node]), (-1.0, visit[customer]), lb=0.0, ub=0.0)
        host.row((1.0, flow[target == node]), (-1.0, flow[origin == node]), (-1.0, visit[customer]), lb=0.0, ub=0.0)
    host.row((1.0, drive[origin == 0]), lb=1.0, ub=1.0)
    host.row((1.0, drive[target == 0]), lb=1.0, ub=1.0)
    host.row((demand, visit), ub=float(np.ceil(0.7 * demand.sum())))
    high = _feature_bounds(num_customers, demand)[1][NUM_SLOTS + num_customers :]
    summary = np.array([int(host.columns(ub=float(bound))) for bound in high])
    between = zone[origin] != zone[target]
    meaning = [(1.0, visit), (length, drive), (demand, visit), (length > 0.5, drive), (between, drive), (zone[1:], visit)]
    for column, term in zip(summary, meaning, strict=True):
        host.row((-1.0, column), term, lb=0.0, ub=0.0)
    return np.concatenate([slot, visit, summary])


def _feature_bounds(num_customers: int, demand: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    count = float(num_customers)
    high = np.array([*[1.0] * (NUM_SLOTS + num_customers), count, 1.5 * (count + 1), demand.sum(), count + 1, count + 1, count])
    return np.zeros(high.size), high


def _fit(num_customers: int, demand: np.ndarray, rng: np.random.Generator, seed: int) -> Network:
    """Rush hours, slow customers and congestion that stops and distance make worse together."""
    busy, slow = rng.uniform(0, 2, NUM_SLOTS), rng.normal(size=(num_customers, NUM_SLOTS))
    load = demand.sum()

    def travel_time(x: np.ndarray) -> np.ndarray:
        slot, visit, summary = np.split(x, [NUM_SLOTS, NUM_SLOTS + num_customers], axis=1)
        stops, far, carried, long_arcs, crossings, _ = summary.T
        rush = slot @ busy
        fit = np.einsum("kc,cs,ks->k", visit, slow, slot)
        return far + 0.3 * stops * rush + 1.5 * fit + np.sin(3 * carried / load) + 0.4 * np.abs(crossings - long_arcs) - 0.2 * stops

    return fit_network(travel_time, *_feature_bounds(num_customers, demand), WIDTHS, seed)
