"""A heat pump over three days: when it runs, how hot and how hard, against a network of its electric power.

In every hour t, with the outdoor temperature and the demand for heat known:

    store:   capacity (theta_t+1 - theta_t) = heat_t - demand_t - loss (theta_t - 20),   theta_t >= what the radiators need
    on_t:    least on_t <= heat_t <= most on_t,   minimum times on and off,   a start costs
    on_t:    supply_t >= theta_t+1 + 3            (written with a large coefficient, as most people do)
    on_t:    power_t >= f(outdoor_t, supply_t, heat_t)        likewise; f is the network, evaluated 72 times
    cost:    tariff_t power_t, starts, and the highest load of the connection, with what the house takes anyway

The network learns heat / COP + standby: the COP is a share of Carnot's between outdoor air less 8 K and supply plus 3 K, less at part
load, and less around 2 degrees, where frost forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from benchmarks.problems.trained import load_trained, network_file
from dcembed import AffineInputs, Embedding, Network
from dcembed.embedded.verify import predict

NUM_HOURS, NUM_INPUTS, WIDTHS = 72, 3, (16, 16)
# Where the network is trained: outdoor and supply temperature in degrees, heat in kW.
LOW, HIGH = np.array([-15.0, 30.0, 0.0]), np.array([15.0, 60.0, 12.0])
# Share of Carnot's COP, loss of it at part load and by frost, standby in kW.
QUALITY, PART_LOAD, FROST, STANDBY = 0.45, 0.25, 0.12, 0.1
# Heat in kW while it runs, hours that it stays on and off, what a start costs.
LEAST, MOST, HOURS_UP, HOURS_DOWN, START_COST = 3.6, 12.0, 3, 2, 0.3
# The store: kWh/K and kW/K, degrees at the beginning, at most, and what the supply is above it.
CAPACITY, LOSS, BEGIN, HOTTEST, ABOVE = 1.74, 0.01, 45.0, 55.0, 3.0
# Of the highest load, per kW.
PEAK_COST = 1.0
# "Large enough": more than the network says anywhere, and more than supply and store differ.
BIG_POWER, BIG_SUPPLY = 12.0, 30.0


@dataclass(frozen=True)
class Weather:
    """Of every hour: outdoor temperature, demand for heat in kW, what the house takes in kW, and the tariff per kWh."""

    outdoor: np.ndarray
    demand: np.ndarray
    base: np.ndarray
    tariff: np.ndarray


def electric_power(x: np.ndarray) -> np.ndarray:
    """Of the machine in kW, at (k, 3) outdoor temperature, supply temperature and heat."""
    outdoor, supply, heat = x.T
    hot, cold = supply + 3.0 + 273.15, outdoor - 8.0 + 273.15
    frost = 1.0 - FROST * np.exp(-(((outdoor - 2.0) / 4.0) ** 2))
    part = 1.0 - PART_LOAD * (1.0 - heat / MOST) ** 2
    return heat / (QUALITY * hot / (hot - cold) * frost * part) + STANDBY


def heat_pump_path() -> Path:
    """Where the network is."""
    return network_file("heat_pump.npz")


def load_heat_pump() -> Network:
    """The trained network; the error has the command that trains it."""
    return load_trained(heat_pump_path(), "train_heat_pump")


def weather(seed: int) -> Weather:
    """Three winter days: a daily wave and fronts outside, showers in the morning and evening, a tariff with two dear times."""
    rng = np.random.default_rng(seed)
    hour = np.arange(NUM_HOURS)
    day = hour % 24
    outdoor = rng.uniform(-4.0, 4.0) - 3.5 * np.cos((day - 15.0) * np.pi / 12 + np.pi) + np.cumsum(rng.normal(scale=0.4, size=NUM_HOURS))
    outdoor = np.clip(outdoor, -12.0, 12.0)
    showers = 1.5 * np.exp(-(((day - 7.0) / 1.2) ** 2)) + 1.2 * np.exp(-(((day - 20.0) / 1.5) ** 2))
    demand = np.clip(0.22 * (20.0 - outdoor) + showers + rng.normal(scale=0.2, size=NUM_HOURS), 3.6, 10.0)
    base = 0.4 + 0.8 * np.exp(-(((day - 19.0) / 2.5) ** 2)) + rng.uniform(0.0, 0.3, NUM_HOURS)
    dear = 0.16 * np.exp(-(((day - 8.0) / 2.0) ** 2)) + 0.22 * np.exp(-(((day - 18.5) / 2.5) ** 2))
    tariff = 0.2 + dear + rng.normal(scale=0.015, size=NUM_HOURS)
    return Weather(outdoor.round(2), demand.round(2), base.round(2), tariff.round(4))


def build_heat_pump(seed: int) -> Instance:
    """The days of a seed; the start runs all the time and makes what is needed, at one temperature of the store."""
    days = weather(seed)
    host = HostBuilder()
    heat = host.columns(NUM_HOURS, ub=MOST)
    supply = host.columns(NUM_HOURS, lb=LOW[1], ub=HIGH[1])
    store = host.columns(NUM_HOURS + 1, ub=HOTTEST)
    on = host.columns(NUM_HOURS, integer=True)
    begins = host.columns(NUM_HOURS, cost=START_COST)
    power = host.columns(NUM_HOURS, ub=BIG_POWER, cost=days.tariff)
    peak = host.columns(ub=40.0, cost=PEAK_COST)
    predicted = host.columns(NUM_HOURS, lb=-np.inf, ub=np.inf)
    _write_store(host, heat, store, days)
    for t in range(NUM_HOURS):
        host.row((1.0, heat[t]), (-MOST, on[t]), ub=0.0)
        host.row((1.0, heat[t]), (-LEAST, on[t]), lb=0.0)
        host.row((1.0, supply[t]), (-1.0, store[t + 1]), (-BIG_SUPPLY, on[t]), lb=ABOVE - BIG_SUPPLY)
        host.row((1.0, power[t]), (-1.0, predicted[t]), (-BIG_POWER, on[t]), lb=-BIG_POWER)
        host.row((1.0, peak), (-1.0, power[t]), lb=days.base[t])
    _write_times(host, on, begins)
    program = host.build()
    matrix = sp.csr_array(
        (
            np.ones(2 * NUM_HOURS),
            (np.concatenate([NUM_INPUTS * np.arange(NUM_HOURS) + i for i in (1, 2)]), np.concatenate([supply, heat])),
        ),
        shape=(NUM_INPUTS * NUM_HOURS, program.num_columns),
    )
    offset = np.stack([days.outdoor, np.zeros(NUM_HOURS), np.zeros(NUM_HOURS)], axis=1)
    embeddings = (Embedding(load_heat_pump(), AffineInputs(matrix, offset), predicted),)
    start = np.zeros(program.num_columns)
    start[heat], start[supply], start[store], start[on] = days.demand + LOSS * (BEGIN - 20.0), BEGIN + ABOVE, BEGIN, 1.0
    start[power] = predict(embeddings, start)[predicted]
    start[peak] = np.max(start[power] + days.base)
    return Instance(f"heat pump seed {seed}", program, embeddings, [predict(embeddings, start)])


def needed_temperature(outdoor: np.ndarray) -> np.ndarray:
    """What the radiators need, in degrees: the heating curve."""
    return np.clip(30.0 + 0.5 * (20.0 - outdoor), 32.0, BEGIN)


def _write_store(host: HostBuilder, heat: np.ndarray, store: np.ndarray, days: Weather) -> None:
    """Its balance; it is warm enough in all hours, and at the end as warm as at the beginning."""
    host.row((1.0, store[0]), lb=BEGIN, ub=BEGIN)
    host.row((1.0, store[-1]), lb=BEGIN)
    for t, need in enumerate(needed_temperature(days.outdoor)):
        side = days.demand[t] - 20.0 * LOSS
        host.row((1.0, heat[t]), (-CAPACITY, store[t + 1]), (CAPACITY - LOSS, store[t]), lb=side, ub=side)
        host.row((1.0, store[t + 1]), lb=need)


def _write_times(host: HostBuilder, on: np.ndarray, begins: np.ndarray) -> None:
    """It runs at the beginning; a start is a change from off to on, and both last."""
    for t in range(NUM_HOURS):
        before = [(-1.0, on[t - 1])] if t else []
        host.row((1.0, on[t]), (-1.0, begins[t]), *before, ub=0.0 if t else 1.0)
        host.row((1.0, begins[max(0, t - HOURS_UP + 1) : t + 1]), (-1.0, on[t]), ub=0.0)
        if t >= HOURS_DOWN:
            host.row((1.0, begins[t - HOURS_DOWN + 1 : t + 1]), (1.0, on[t - HOURS_DOWN]), ub=1.0)
