"""Prices of a fruit in ten regions: a network predicts what is bought at a price, the supply is shared among the regions.

    maximize  sum over regions r and kinds of weeks w:  share_w (price_rw sold_rw - waste (sent_rw - sold_rw) - transport_r sent_rw)
    sold_rw <= sent_rw,   sold_rw <= f(price_rw, mean price of the neighbours of r, year, w is a peak, which region r is)
    sum of share_w sent_rw <= supply
    prices of a region differ little between the kinds of weeks, and those of neighbours too

It has the shape of the price optimization in gurobi-ml's documentation; regions, sales and network are our own. Revenue is a product of two
columns. There are two writings of it:

    "free"   any price: the objective is a quadratic that is not convex, given by its two parts (`dcembed.split_quadratic`), no integers
    "grid"   prices are on labels, ten cents apart: price_rw = sum_k label_k pick_rwk with one pick, and sold_rw = sum_k sold_rwk,
             sold_rwk <= most_rwk pick_rwk, the most that the network says at a label, whatever the neighbours do. Revenue
             sum_k label_k sold_rwk is linear then and exact, and the problem is a MILP

The sales that the network learns from are drawn: base_r (price / 1.2)^elasticity_r (neighbours' price / 1.2)^0.5, more in peak weeks by a
share that is the region's own, three percent more every year, with eight percent of noise. Regions lie on a ring. Without neighbours the
network could be written down as a table of labels; with them it is a function of two prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from benchmarks.problems.trained import load_trained, network_file
from dcembed import AffineInputs, Embedding, Network, Program, split_quadratic
from dcembed.embedded.verify import predict
from dcembed.program.derive import derive

NUM_REGIONS, WIDTHS, WRITINGS = 10, (16, 16), ("grid", "free")
# Inputs: price, mean price of both neighbours, year, whether it is a peak week, and which region it is.
NUM_INPUTS = 4 + NUM_REGIONS
FIRST_YEAR, LAST_YEAR, YEAR = 2015, 2023, 2024
LOWEST, HIGHEST, STEP = 0.6, 2.5, 0.1
LABELS = np.round(np.arange(LOWEST, HIGHEST + STEP / 2, STEP), 2)
# Of all weeks, how many are of each kind: plain ones and peaks.
SHARES = {1: (1.0,), 2: (0.6, 0.4)}
# Growth of the sales in a year, what the neighbours' price does, and noise.
GROWTH, CROSS, NOISE = 0.03, 0.5, 0.08
# What a unit of waste costs, prices of a region in both kinds of weeks, and prices of neighbours, differ at most so much.
WASTE, BETWEEN_WEEKS, BETWEEN_NEIGHBOURS = 0.1, 0.4, 0.5
# The supply as a share of what is sold at the usual price.
USUAL, SUPPLY = 1.3, (0.85, 1.05)


@dataclass(frozen=True)
class Market:
    """Of each region: units that are sold in a week at a price of 1.2, in millions, elasticity, and what peak weeks add."""

    base: np.ndarray
    elasticity: np.ndarray
    peak: np.ndarray


def market() -> Market:
    """The regions, which are always the same."""
    rng = np.random.default_rng(10)
    return Market(rng.uniform(0.8, 6.0, NUM_REGIONS), rng.uniform(-2.2, -0.9, NUM_REGIONS), rng.uniform(0.05, 0.35, NUM_REGIONS))


def sales(x: np.ndarray) -> np.ndarray:
    """Units that are sold in a week without noise, at points (k, 14)."""
    regions, number = market(), x[:, 4:].argmax(axis=1)
    price, beside, year, is_peak = x[:, :4].T
    usual = regions.base[number] * (1.0 + regions.peak[number] * is_peak) * (1.0 + GROWTH) ** (year - FIRST_YEAR)
    return usual * (price / 1.2) ** regions.elasticity[number] * (beside / 1.2) ** CROSS


def draw_sales(number: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """So many weeks (k, 14) and what was sold in them."""
    price, beside = rng.uniform(LOWEST - 0.1, HIGHEST + 0.1, (2, number))
    year = rng.integers(FIRST_YEAR, LAST_YEAR + 1, number)
    region = np.eye(NUM_REGIONS)[rng.integers(NUM_REGIONS, size=number)]
    points = np.column_stack([price, beside, year, rng.random(number) < 0.5, region])
    return points, sales(points) * np.exp(NOISE * rng.normal(size=number))


def prices_path() -> Path:
    """Where the network is."""
    return network_file("prices.npz")


def load_prices() -> Network:
    """The trained network; the error has the command that trains it."""
    return load_trained(prices_path(), "train_prices")


def build_prices(writing: str, num_kinds: int, seed: int) -> Instance:
    """Prices of plain weeks (one kind), or of plain weeks and peaks (two), in one of the writings; the supply is that of the seed.

    The start has one price everywhere, and sends what is sold at it, or as much of it as there is.
    """
    if writing not in WRITINGS:
        raise ValueError(f"The writings are {', '.join(WRITINGS)}; received {writing!r}.")
    rng, network = np.random.default_rng((seed, num_kinds)), load_prices()
    shape = NUM_REGIONS, num_kinds
    share = np.tile(SHARES[num_kinds], (NUM_REGIONS, 1))
    transport = rng.uniform(0.1, 0.5, NUM_REGIONS)
    constants = _constants(shape)
    most = most_at_labels(network, constants).reshape(*shape, LABELS.size)
    usual = network(constants + USUAL * np.eye(NUM_INPUTS)[:2].sum(axis=0))[:, 0].reshape(shape)
    supply = float(rng.uniform(*SUPPLY) * np.sum(share * usual))
    host = HostBuilder()
    price = host.columns(*shape, lb=LOWEST, ub=HIGHEST)
    sold = host.columns(*shape, ub=float(most.max()), cost=-WASTE * share)
    sent = host.columns(*shape, ub=float(most.max()), cost=share * (WASTE + transport[:, None]))
    bought = host.columns(*shape, lb=-np.inf, ub=np.inf)
    _write_market(host, price, sold, sent, bought)
    host.row((share, sent), ub=supply)
    labels = _write_labels(host, price, sold, share, most) if writing == "grid" else ()
    program = host.build() if writing == "grid" else _with_products(host.build(), price, sold, share)
    embeddings = (Embedding(network, AffineInputs(_price_inputs(price, program.num_columns), constants), bought.reshape(-1)),)
    start = np.zeros(program.num_columns)
    start[price], start[sent] = USUAL, usual * min(1.0, supply / float(np.sum(share * usual)))
    start[sold] = start[sent]
    for columns, value in zip(labels, (1.0, start[sold]), strict=False):
        start[columns[:, :, np.argmin(abs(LABELS - USUAL))]] = value
    return Instance(f"prices {writing} kinds of weeks {num_kinds} seed {seed}", program, embeddings, [predict(embeddings, start)])


def _constants(shape: tuple[int, int]) -> np.ndarray:
    """All inputs but the prices, of every region and kind of week."""
    regions, kinds = shape
    number = np.arange(regions * kinds)
    return np.column_stack([np.zeros((number.size, 2)), np.full(number.size, YEAR), number % kinds, np.eye(NUM_REGIONS)[number // kinds]])


def most_at_labels(network: Network, constants: np.ndarray) -> np.ndarray:
    """What is bought at each label at most, shape (k, labels), whatever labels the two neighbours have: their mean is on half steps."""
    beside = np.arange(LOWEST, HIGHEST + STEP / 4, STEP / 2)
    own, other = (grid.reshape(-1) for grid in np.meshgrid(LABELS, beside, indexing="ij"))
    pairs = np.column_stack([own, other, np.zeros((own.size, NUM_INPUTS - 2))])
    bought = network((constants[:, None] + pairs).reshape(-1, NUM_INPUTS))
    return np.maximum(bought.reshape(len(constants), LABELS.size, beside.size).max(axis=2), 0.0)


def _price_inputs(price: np.ndarray, num_columns: int) -> sp.csr_array:
    """The price and the mean of both neighbours on the ring, of every region and kind of week."""
    matrix = sp.lil_array((NUM_INPUTS * price.size, num_columns))
    for number, (r, w) in enumerate(np.ndindex(price.shape)):
        matrix[NUM_INPUTS * number, price[r, w]] = 1.0
        for neighbour in (r - 1, r + 1):
            matrix[NUM_INPUTS * number + 1, price[neighbour % NUM_REGIONS, w]] = 0.5
    return sp.csr_array(matrix)


def _write_market(host: HostBuilder, price: np.ndarray, sold: np.ndarray, sent: np.ndarray, bought: np.ndarray) -> None:
    """What is sold was sent and is bought; prices differ little between kinds of weeks and between neighbours."""
    for r, w in np.ndindex(price.shape):
        host.row((1.0, sold[r, w]), (-1.0, sent[r, w]), ub=0.0)
        host.row((1.0, sold[r, w]), (-1.0, bought[r, w]), ub=0.0)
        if w:
            host.row((1.0, price[r, w]), (-1.0, price[r, 0]), lb=-BETWEEN_WEEKS, ub=BETWEEN_WEEKS)
        host.row((1.0, price[r, w]), (-1.0, price[r - 1, w]), lb=-BETWEEN_NEIGHBOURS, ub=BETWEEN_NEIGHBOURS)


def _write_labels(
    host: HostBuilder, price: np.ndarray, sold: np.ndarray, share: np.ndarray, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """One label is picked for each price, and all is sold at it."""
    picks = host.columns(*price.shape, LABELS.size, integer=True)
    parts = host.columns(*price.shape, LABELS.size, ub=float(most.max()), cost=-share[:, :, None] * LABELS)
    for place in np.ndindex(price.shape):
        host.row((1.0, picks[place]), lb=1.0, ub=1.0)
        host.row((LABELS, picks[place]), (-1.0, price[place]), lb=0.0, ub=0.0)
        host.row((1.0, parts[place]), (-1.0, sold[place]), lb=0.0, ub=0.0)
        for part, pick, limit in zip(parts[place], picks[place], most[place], strict=True):
            host.row((1.0, part), (-limit, pick), ub=0.0)
    return picks, parts


def _with_products(program: Program, price: np.ndarray, sold: np.ndarray, share: np.ndarray) -> Program:
    """The revenue, price times sold, with a minus as the rest is minimized."""
    n = program.num_columns
    one, other, weight = price.reshape(-1), sold.reshape(-1), -share.reshape(-1)
    products = sp.csr_array(
        (np.concatenate([weight, weight]), (np.concatenate([one, other]), np.concatenate([other, one]))),
        shape=(n, n),
    )
    convex, concave = split_quadratic(products)
    return derive(program, quadratic=convex, concave=concave)
