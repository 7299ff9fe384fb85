"""Three gas-fired units over a day: when each is on, and how far it is loaded, is decided against networks that know the machines.

p <= capacity on, p >= least on,   sum of p = demand, and a reserve,   minimum times up and down,   and for every unit and hour
on = 1  =>  cost >= scale * f(p, temperature, wear)      a network of the fuel: idling costs, valve points, heat, wear
on = 1  =>  g(p, temperature, wear) <= permit            a network of the nitrogen oxides, high at part load and near full load

A unit that is off costs and emits nothing, whatever the networks say about it. There are two writings: with indicators, and with the
rows that most people write, `cost >= scale * f - M (1 - on)` and `g <= permit + M (1 - on)`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from benchmarks.problems.trained import load_trained, network_file
from dcembed import AffineInputs, Embedding, Indicator, Network, Program
from dcembed.program.derive import add_rows, derive

NUM_HOURS, NUM_INPUTS, WIDTHS = 24, 3, (64, 64)
# Of each unit: megawatts at full and at least load, hours that it stays on and off, what a start costs, wear, whether it was on before.
CAPACITY, LEAST = np.array([100.0, 80.0, 60.0]), np.array([20.0, 15.0, 10.0])
HOURS_UP, HOURS_DOWN = (6, 4, 3), (4, 3, 2)
START_COST, WEAR, WAS_ON = np.array([4.0, 2.5, 1.5]), np.array([0.2, 0.7, 0.4]), np.array([1.0, 1.0, 0.0])
NUM_UNITS = CAPACITY.size
# Thousands for an hour of 100 megawatts by the cost network, the permitted nitrogen oxides, and the reserve in shares of the demand.
COST_SCALE, PERMIT, RESERVE = CAPACITY / 20.0, 1.0, 0.05
# What people write for "large enough": no prediction comes near it.
BIG_M = 1000.0
WRITINGS = ("indicators", "big-m")
NETWORK_NAMES = ("cost", "oxides")


def fuel_cost(x):
    """Relative to 100 megawatts; `x` (k, 3) has load, temperature and wear in [0, 1], numpy or torch, and so has what comes back."""
    load, heat, wear = x[:, 0], x[:, 1], x[:, 2]
    ripple = 0.03 * abs(_wave(9.0 * load))
    return 0.18 + (0.62 + 0.12 * heat + 0.1 * wear) * load + 0.2 * load * load * (0.5 + wear) + ripple


def nitrogen_oxides(x):
    """In permits: flames are rich at part load, and hot near full load, the more so in cold air and in worn burners."""
    load, heat, wear = x[:, 0], x[:, 1], x[:, 2]
    rich = 1.3 / (1.0 + _power(20.0 * (load - 0.54 - 0.06 * wear)))
    hot = 0.8 / (1.0 + _power(-18.0 * (load - 0.97 + 0.08 * wear + 0.05 * (1.0 - heat))))
    return 0.35 + 0.15 * wear + rich + hot


def _wave(x):
    return np.sin(x) if isinstance(x, np.ndarray) else x.sin()


def _power(x):
    return np.exp(x) if isinstance(x, np.ndarray) else x.exp()


def commitment_path(name: str) -> Path:
    """Where a network is."""
    return network_file(f"commitment_{name}.npz")


def load_commitment_network(name: str) -> Network:
    """A trained network; the error has the command that trains it."""
    return load_trained(commitment_path(name), f"train_commitment {name}", architecture="relu")


def build_commitment(writing: str, seed: int) -> Instance:
    """The day of a seed, in one of the two writings."""
    if writing not in WRITINGS:
        raise ValueError(f"The writings are {', '.join(WRITINGS)}; received {writing!r}.")
    demand, heat = profiles(seed)
    host = HostBuilder()
    shape = NUM_UNITS, NUM_HOURS
    power = np.concatenate([host.columns(1, NUM_HOURS, ub=float(full)) for full in CAPACITY])
    on = host.columns(*shape, integer=True)
    begins = host.columns(*shape, cost=np.tile(START_COST[:, None], NUM_HOURS))
    cost = host.columns(*shape, ub=50.0, cost=1.0)
    fuel, oxides = host.columns(*shape, lb=-np.inf, ub=np.inf), host.columns(*shape, lb=-np.inf, ub=np.inf)
    _write_rows(host, power, on, begins, demand)
    program = _written(host.build(), writing, on, cost, fuel, oxides)
    inputs = _inputs(power, heat, program.num_columns)
    networks = [load_commitment_network(name) for name in NETWORK_NAMES]
    embeddings = tuple(Embedding(network, inputs, columns.reshape(-1)) for network, columns in zip(networks, (fuel, oxides), strict=True))
    return Instance(f"commitment {writing} seed {seed}", program, embeddings, [])


def profiles(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Megawatts and scaled temperature of every hour: a night, a morning and a higher evening peak, and weather."""
    rng = np.random.default_rng(seed)
    hour = np.arange(NUM_HOURS)
    peaks = [(height, at) for height, at in zip(rng.uniform((60, 90), (90, 130)), rng.uniform((8, 18), (10, 20)), strict=True)]
    shape = sum(height * np.exp(-0.5 * ((hour - at) / 2.5) ** 2) for height, at in peaks)
    demand = rng.uniform(50, 65) + shape + rng.normal(scale=3.0, size=NUM_HOURS)
    heat = rng.uniform(0.3, 0.6) + 0.25 * np.sin((hour - 9) * np.pi / 12) + rng.normal(scale=0.02, size=NUM_HOURS)
    return np.round(np.clip(demand, 45.0, 205.0), 1), np.clip(heat, 0.0, 1.0)


def _write_rows(host: HostBuilder, power: np.ndarray, on: np.ndarray, begins: np.ndarray, demand: np.ndarray) -> None:
    for hour in range(NUM_HOURS):
        host.row((1.0, power[:, hour]), lb=demand[hour], ub=demand[hour])
        host.row((CAPACITY, on[:, hour]), lb=(1.0 + RESERVE) * demand[hour])
    for unit in range(NUM_UNITS):
        for hour in range(NUM_HOURS):
            host.row((1.0, power[unit, hour]), (-CAPACITY[unit], on[unit, hour]), ub=0.0)
            host.row((1.0, power[unit, hour]), (-LEAST[unit], on[unit, hour]), lb=0.0)
            before = [(-1.0, on[unit, hour - 1])] if hour else []
            host.row((1.0, on[unit, hour]), (-1.0, begins[unit, hour]), *before, ub=0.0 if hour else WAS_ON[unit])
            since = begins[unit, max(0, hour - HOURS_UP[unit] + 1) : hour + 1]
            host.row((1.0, since), (-1.0, on[unit, hour]), ub=0.0)
            if hour >= HOURS_DOWN[unit]:
                since = begins[unit, hour - HOURS_DOWN[unit] + 1 : hour + 1]
                host.row((1.0, since), (1.0, on[unit, hour - HOURS_DOWN[unit]]), ub=1.0)


def _written(program: Program, writing: str, on: np.ndarray, cost: np.ndarray, fuel: np.ndarray, oxides: np.ndarray) -> Program:
    """The program with what holds while a unit is on: scale * f - cost <= 0 and g <= permit."""
    size, n = on.size, program.num_columns
    scale = np.repeat(COST_SCALE, NUM_HOURS)
    rows = sp.csr_array(
        (
            np.concatenate([scale, -np.ones(size), np.ones(size)]),
            (
                np.concatenate([np.arange(size), np.arange(size), size + np.arange(size)]),
                np.concatenate([fuel.reshape(-1), cost.reshape(-1), oxides.reshape(-1)]),
            ),
        ),
        shape=(2 * size, n),
    )
    limit, switch = np.repeat([0.0, PERMIT], size), np.tile(on.reshape(-1), 2)
    if writing == "indicators":
        return derive(program, indicators=tuple(Indicator(int(z), 1, rows[[i]], ub=float(limit[i])) for i, z in enumerate(switch)))
    large = sp.csr_array((np.full(2 * size, BIG_M), (np.arange(2 * size), switch)), shape=(2 * size, n))
    return add_rows(program, sp.csr_array(rows + large), np.full(2 * size, -np.inf), limit + BIG_M)


def _inputs(power: np.ndarray, heat: np.ndarray, num_columns: int) -> AffineInputs:
    """Load, temperature and wear of every unit and hour."""
    size = power.size
    load = sp.csr_array(
        (1.0 / np.repeat(CAPACITY, NUM_HOURS), (NUM_INPUTS * np.arange(size), power.reshape(-1))), shape=(NUM_INPUTS * size, num_columns)
    )
    return AffineInputs(load, np.stack([np.zeros(size), np.tile(heat, NUM_UNITS), np.repeat(WEAR, NUM_HOURS)], axis=1))
