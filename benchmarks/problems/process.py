"""A plant designed with surrogates of its units: two stirred tanks, a flash and a recycle, for several prices and demands.

A turns into the product B and B into C. The vapour of the flash is sold, most of its liquid goes back to the first tank:

    fresh A --> mixer --> tank 1 --> tank 2 --> flash --> vapour, sold if it is pure enough
                  ^------ nine tenths of the liquid -------'

The volumes of the tanks are chosen once; feed, temperatures and pressure in every scenario. One tanh network stands for both tanks,
another one for the flash (`process_units.py`). They take flows and not fractions, so that all balances are linear: equality rows with
predictions in them, closed by the recycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from benchmarks.problems.process_units import MOST_FLOW, NUM_COMPONENTS, RANGES, UNITS, load_unit
from dcembed import Embedding, Network

A, B, C = range(NUM_COMPONENTS)
# What is recycled of the liquid, C in the fresh feed, the share of B in what is sold.
RECYCLED, IMPURITY, PURITY = 0.9, 0.02, 0.78
# Thousands for a cubic metre, a kmol/min of feed and a MJ/min of heat that is brought in or taken away; MJ to evaporate a kmol.
VOLUME_COST, FEED_COST, HEAT_COST, LATENT_HEAT = 0.06, 0.4, 0.004, 30.0
# Prices of the product, what can be sold and what must be, in shares of what the plant makes as it is.
PRICES, DEMANDS, CONTRACT = (1.2, 2.0), (1.05, 1.6), 0.8
# The plant as it is, and the passes through its recycle after which it runs steadily.
VOLUME, FEED, TANK_TEMPERATURE, FLASH_TEMPERATURE, PRESSURE, NUM_PASSES = 4.0, 3.0, 352.0, 362.0, 1.25, 1_000


@dataclass(frozen=True)
class Columns:
    """Columns of the host: volumes (2,), of each scenario one or one per component or tank, flows (S, 3) in the order of the units."""

    volume: np.ndarray
    feed: np.ndarray
    temperature: np.ndarray
    flash_temperature: np.ndarray
    pressure: np.ndarray
    mixed: np.ndarray
    between: np.ndarray
    reacted: np.ndarray
    liquid: np.ndarray
    vapour: np.ndarray
    tanks: np.ndarray
    duty: np.ndarray


def build_process(num_scenarios: int, seed: int) -> Instance:
    """The design for so many scenarios; the start is the plant as it is, steady in the networks."""
    rng = np.random.default_rng((seed, num_scenarios))
    networks = {name: load_unit(name) for name in UNITS}
    plant = run_plant(networks)
    sold = plant["vapour"][B]
    host = HostBuilder()
    columns = _columns(host, rng.uniform(*PRICES, num_scenarios))
    for scenario, demand in enumerate(sold * rng.uniform(*DEMANDS, num_scenarios)):
        _write_balances(host, columns, scenario)
        _write_limits(host, columns, scenario, CONTRACT * sold, demand)
    program = host.build()
    start = np.zeros(program.num_columns)
    for name, value in plant.items():
        start[getattr(columns, name)] = value
    return Instance(f"process S={num_scenarios} seed {seed}", program, _embeddings(networks, columns), [start])


def run_plant(units) -> dict[str, np.ndarray]:
    """All columns of a scenario of the plant as it is; `units` are the networks, or the formulas that they stand for."""
    liquid = np.zeros(NUM_COMPONENTS)
    for _ in range(NUM_PASSES):
        mixed = RECYCLED * liquid + FEED * np.array([1.0, 0.0, IMPURITY])
        first = units["tank"](np.array([[*mixed, TANK_TEMPERATURE, VOLUME]]))[0]
        between = mixed + _change(first)
        second = units["tank"](np.array([[*between, TANK_TEMPERATURE, VOLUME]]))[0]
        reacted = between + _change(second)
        vapour = units["flash"](np.array([[*reacted, FLASH_TEMPERATURE, PRESSURE]]))[0]
        liquid = reacted - vapour
    tanks = np.stack([first, second])
    settings = {
        "volume": VOLUME,
        "feed": FEED,
        "temperature": TANK_TEMPERATURE,
        "flash_temperature": FLASH_TEMPERATURE,
        "pressure": PRESSURE,
    }
    flows = {"mixed": mixed, "between": between, "reacted": reacted, "liquid": liquid, "vapour": vapour}
    return settings | flows | {"tanks": tanks, "duty": np.abs(tanks[:, 2])}


def _change(extents: np.ndarray) -> np.ndarray:
    """Of the flows by both reactions."""
    return np.array([-extents[0], extents[0] - extents[1], extents[1]])


def _columns(host: HostBuilder, prices: np.ndarray) -> Columns:
    """All columns with their costs, those of a scenario in shares of how often it is."""
    size, share = prices.size, 1.0 / prices.size
    (_, coldest, least), (_, hottest, most) = ((side[:3], side[3], side[4]) for side in RANGES["tank"])
    (_, flash_coldest, lowest), (_, flash_hottest, highest) = ((side[:3], side[3], side[4]) for side in RANGES["flash"])
    free = {"lb": -np.inf, "ub": np.inf}

    def flows() -> np.ndarray:
        return np.stack([host.columns(size, ub=limit) for limit in MOST_FLOW], axis=1)

    worth = LATENT_HEAT * HEAT_COST - np.outer(prices, np.eye(NUM_COMPONENTS)[B])
    return Columns(
        volume=host.columns(2, lb=least, ub=most, cost=VOLUME_COST),
        feed=host.columns(size, ub=MOST_FLOW[A], cost=FEED_COST * share),
        temperature=host.columns(size, 2, lb=coldest, ub=hottest),
        flash_temperature=host.columns(size, lb=flash_coldest, ub=flash_hottest),
        pressure=host.columns(size, lb=lowest, ub=highest),
        mixed=flows(),
        between=flows(),
        reacted=flows(),
        liquid=flows(),
        vapour=host.columns(size, NUM_COMPONENTS, ub=np.inf, cost=worth * share),
        tanks=host.columns(size, 2, 3, **free),
        duty=host.columns(size, 2, ub=np.inf, cost=HEAT_COST * share),
    )


def _write_balances(host: HostBuilder, columns: Columns, s: int) -> None:
    """What flows in and what reacts is what flows out, of every component in every unit."""
    fresh, made = (1.0, 0.0, IMPURITY), _change(np.eye(2)).T
    for i in range(NUM_COMPONENTS):
        host.row((1.0, columns.mixed[s, i]), (-RECYCLED, columns.liquid[s, i]), (-fresh[i], columns.feed[s]), lb=0.0, ub=0.0)
        host.row((1.0, columns.reacted[s, i]), (-1.0, columns.vapour[s, i]), (-1.0, columns.liquid[s, i]), lb=0.0, ub=0.0)
        for number, (before, after) in enumerate(((columns.mixed, columns.between), (columns.between, columns.reacted))):
            extents = columns.tanks[s, number, :2]
            host.row((1.0, before[s, i]), (made[:, i], extents), (-1.0, after[s, i]), lb=0.0, ub=0.0)


def _write_limits(host: HostBuilder, columns: Columns, s: int, contract: float, demand: float) -> None:
    """The product is pure enough, as much as was promised and not more than can be sold; heat costs, wherever it goes."""
    host.row((PURITY - np.eye(NUM_COMPONENTS)[B], columns.vapour[s]), ub=0.0)
    host.row((1.0, columns.vapour[s, B]), lb=contract, ub=demand)
    for number in range(2):
        for sign in (1.0, -1.0):
            host.row((1.0, columns.duty[s, number]), (sign, columns.tanks[s, number, 2]), lb=0.0)


def _embeddings(networks: dict[str, Network], columns: Columns) -> tuple[Embedding, ...]:
    """Both tanks of all scenarios, then the flashes."""
    size = columns.feed.size
    flows = np.stack([columns.mixed, columns.between], axis=1)
    volumes = np.broadcast_to(columns.volume[:, None], (size, 2, 1))
    tanks = np.concatenate([flows, columns.temperature[:, :, None], volumes], axis=2).reshape(2 * size, -1)
    flashes = np.concatenate([columns.reacted, columns.flash_temperature[:, None], columns.pressure[:, None]], axis=1)
    return (
        Embedding(networks["tank"], tanks, columns.tanks.reshape(2 * size, -1)),
        Embedding(networks["flash"], flashes, columns.vapour),
    )
