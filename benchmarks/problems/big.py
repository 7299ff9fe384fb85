"""Problems that are large in one way each: many evaluations, a large host, many inputs, many units. All are made from a seed, no file is read.

samples      water treatment (`water.py`) of samples that are drawn here, with budgets that grow with their number
sites        production of many sites over many hours, with a network of its plan for the wear of each site
pictures     the smallest change of a picture that a network takes for something else: the network is a constraint
wide, deep   one network of very many units: the cheapest inputs for which it says no more than a level, or its smallest output
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.instance import Instance
from benchmarks.problems.water import NUM_FEATURES, treatment_instance
from dcembed import AffineInputs, Embedding, Network, Program, build_mlp
from dcembed.network.affine import Affine

# Of the samples, this share of those drawn is potable untreated; the others are the problem.
POTABLE = 0.4
# What each of the 18 budgets has for every sample, in standard deviations of the features.
BUDGET_SHARE = 0.02
# Numbers that describe the plan of a site to its network: means over as many equal spans of time.
NUM_SPANS = 8
SIDE, NUM_DIGITS, KERNEL = 28, 10, 3


def random_perceptron(sizes: tuple[int, ...], seed: int) -> Network:
    """Weights of variance 2 / fan-in, small biases."""
    rng = np.random.default_rng((seed, *sizes))
    weights = [rng.normal(0.0, np.sqrt(2.0 / a), (b, a)) for a, b in itertools.pairwise(sizes)]
    return build_mlp(weights, [rng.normal(0.0, 0.1, weight.shape[0]) for weight in weights])


def samples_instance(num_samples: int, width: int = 32, seed: int = 0) -> Instance:
    """Treatment of samples of standardized features that a network of two layers does not take for potable."""
    rng = np.random.default_rng(seed)
    network = random_perceptron((NUM_FEATURES, width, width, 1), seed)
    threshold = np.quantile(network(rng.standard_normal((10_000, NUM_FEATURES))), 1.0 - POTABLE)
    network = Network(network.num_inputs, network.stages, Affine(network.output.weights, network.output.bias - threshold))
    drawn = rng.standard_normal((2 * num_samples + 100, NUM_FEATURES))
    samples = drawn[network(drawn)[:, 0] < 0.0][:num_samples]
    budget = np.full(2 * NUM_FEATURES, BUDGET_SHARE * len(samples))
    return treatment_instance(network, samples, budget, f"{len(samples):,} samples")


def sites_instance(num_sites: int, num_hours: int, width: int = 32, seed: int = 0) -> Instance:
    """Columns: production and stock (sites x hours each), wear (sites).

    minimize  price' production + 0.01 stock + (hours / 10) wear
    stock_t = stock_{t-1} + production_t - demand_t,   |production_t - production_{t-1}| <= ramp,   sum over sites of production_t <= capacity,
    wear = network(means of the production over eight spans),   sum of wear <= limit
    """
    rng = np.random.default_rng(seed)
    size = num_sites * num_hours
    n = 2 * size + num_sites
    wear = 2 * size + np.arange(num_sites)
    network = random_perceptron((NUM_SPANS, width, width, 1), seed)
    demand = rng.uniform(0.2, 0.8, (num_sites, num_hours))
    change = sp.diags_array([np.ones(num_hours), -np.ones(num_hours - 1)], offsets=[0, -1], format="csr")
    every, none = sp.eye_array(num_sites, format="csr"), sp.csr_array((size, num_sites))
    balance = sp.hstack([-sp.eye_array(size), sp.kron(every, change), none])
    ramp = sp.hstack([sp.kron(every, change), sp.csr_array((size, size)), none])
    together = sp.hstack(
        [sp.kron(np.ones((1, num_sites)), sp.eye_array(num_hours)), sp.csr_array((num_hours, size)), sp.csr_array((num_hours, num_sites))]
    )
    span = np.repeat(np.eye(NUM_SPANS), -(-num_hours // NUM_SPANS), axis=1)[:, :num_hours]
    means = sp.hstack(
        [sp.kron(every, span / span.sum(axis=1, keepdims=True)), sp.csr_array((num_sites * NUM_SPANS, n - size))], format="csr"
    )
    # What all sites wear if each produces what it needs, hour by hour.
    usual = float(network(np.einsum("sh,kh->sk", demand, span / span.sum(axis=1, keepdims=True))).sum())
    rows = sp.vstack([balance, ramp, together, sp.csr_array((np.ones(num_sites), (np.zeros(num_sites), wear)), shape=(1, n))], format="csr")
    first = np.zeros((num_sites, num_hours), dtype=bool)
    first[:, 0] = True
    free = np.where(first.reshape(-1), np.inf, 0.3)
    program = Program(
        cost=np.concatenate([rng.uniform(0.5, 1.5, size), np.full(size, 0.01), np.full(num_sites, 0.1 * num_hours)]),
        rows=rows,
        row_lb=np.concatenate([-demand.reshape(-1), -free, np.full(num_hours + 1, -np.inf)]),
        row_ub=np.concatenate([-demand.reshape(-1), free, np.full(num_hours, 0.6 * num_sites), [usual - 0.05 * abs(usual)]]),
        lb=np.concatenate([np.zeros(2 * size), np.full(num_sites, -np.inf)]),
        ub=np.concatenate([np.ones(size), np.full(size, 5.0), np.full(num_sites, np.inf)]),
    )
    embedding = Embedding(network, AffineInputs(means, np.zeros((num_sites, NUM_SPANS))), wear[:, None])
    return Instance(f"{num_sites} sites, {num_hours:,} hours", program, (embedding,), [])


def nearest_instance(network: Network, name: str, seed: int = 0) -> Instance:
    """The picture nearest to a random one, by the sum of the changes, in which another digit leads: columns x, |x - x0|, f.

    minimize  sum d   subject to   d >= |x - x0|,   f_second(x) >= f_first(x)
    """
    n = network.num_inputs
    picture = np.random.default_rng((seed, n)).random(n)
    scores = network(picture)
    second, first = np.argsort(scores)[-2:]
    size = 2 * n + network.num_outputs
    far = sp.hstack([sp.vstack([sp.eye_array(n), -sp.eye_array(n)]), sp.vstack([-sp.eye_array(n)] * 2), sp.csr_array((2 * n, scores.size))])
    lead = sp.csr_array(([1.0, -1.0], ([0, 0], [2 * n + first, 2 * n + second])), shape=(1, size))
    program = Program(
        cost=np.concatenate([np.zeros(n), np.ones(n), np.zeros(scores.size)]),
        rows=sp.vstack([far, lead], format="csr"),
        row_ub=np.concatenate([picture, -picture, [0.0]]),
        lb=np.concatenate([np.zeros(2 * n), np.full(scores.size, -np.inf)]),
        ub=np.concatenate([np.ones(2 * n), np.full(scores.size, np.inf)]),
    )
    return Instance(name, program, (Embedding(network, [np.arange(n)], [2 * n + np.arange(scores.size)]),), [])


def level_instance(network: Network, name: str, seed: int = 0) -> Instance:
    """The cheapest inputs in the box [-1, 1] at which the first output is no more than most random inputs give: columns x, f.

    What is cheap leads from the random inputs with small outputs to those with large ones, so that it has its price.
    """
    n = network.num_inputs
    drawn = np.random.default_rng((seed, n)).uniform(-1.0, 1.0, (200, n))
    values = network(drawn)[:, 0]
    order, share = np.argsort(values), len(values) // 10
    cost = drawn[order[:share]].mean(axis=0) - drawn[order[-share:]].mean(axis=0)
    level, free = float(values[order[share]]), np.full(network.num_outputs, np.inf)
    program = Program(
        cost=np.concatenate([cost, np.zeros(network.num_outputs)]),
        lb=np.concatenate([-np.ones(n), -free]),
        ub=np.concatenate([np.ones(n), [level], free[1:]]),
    )
    return Instance(name, program, (Embedding(network, [np.arange(n)], [n + np.arange(network.num_outputs)]),), [])


def smallest_instance(network: Network, name: str) -> Instance:
    """The smallest first output in the box [-1, 1]: columns x, f."""
    n = network.num_inputs
    free = np.full(network.num_outputs, np.inf)
    program = Program(
        cost=np.eye(n + network.num_outputs)[n],
        lb=np.concatenate([-np.ones(n), -free]),
        ub=np.concatenate([np.ones(n), free]),
    )
    return Instance(name, program, (Embedding(network, [np.arange(n)], [n + np.arange(network.num_outputs)]),), [])


def convolutional_network(num_channels: int, side: int = SIDE, seed: int = 0) -> Network:
    """Two convolutions of 3 x 3 over a square picture, its size kept, then a dense layer: 2 * side^2 * num_channels units."""
    rng = np.random.default_rng((seed, num_channels, side))
    stages = []
    for index, channels in enumerate((1, num_channels)):
        kernel = rng.normal(0.0, np.sqrt(2.0 / (channels * KERNEL**2)), (num_channels, channels, KERNEL, KERNEL))
        bias = np.repeat(rng.normal(0.0, 0.1, num_channels), side**2)
        stages.append(Affine({index: _convolution(kernel, side)}, bias))
    size = num_channels * side**2
    output = Affine({2: rng.normal(0.0, np.sqrt(2.0 / size), (NUM_DIGITS, size))}, np.zeros(NUM_DIGITS))
    return Network(side**2, tuple(stages), output)


def _convolution(kernel: np.ndarray, side: int) -> sp.csr_array:
    """The matrix of a convolution (out, in, 3, 3) that keeps the size: the sum over places of the kernel of (weights x shift of the picture)."""
    total = sp.csr_array((kernel.shape[0] * side**2, kernel.shape[1] * side**2))
    for down, right in itertools.product(range(KERNEL), repeat=2):
        shift = sp.kron(sp.eye_array(side, k=down - 1), sp.eye_array(side, k=right - 1))
        total = total + sp.csr_array(sp.kron(kernel[:, :, down, right], shift))
    return sp.csr_array(total)
