"""Jobs on the cores of a processor: a network predicts how hot a core runs, and the hottest one is to be as cool as possible.

Jobs come in classes; how many of each class a core gets is an integer, every core gets equally many jobs. A core's inputs are its own
mix of classes and what its neighbours on the chip have on average.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.fit import fit_network
from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from dcembed import AffineInputs, Embedding
from dcembed.network.activations import RELU, Activation

NUM_CLASSES, JOBS_PER_CORE, WIDTHS = 4, 5, (10, 6)


def dispatch_instance(num_cores: int, seed: int, activation: Activation = RELU) -> Instance:
    """Minimize the highest predicted temperature, and a little of the cost of moving jobs away from where they are."""
    rng = np.random.default_rng(seed)
    host = HostBuilder()
    jobs = host.columns(num_cores, NUM_CLASSES, ub=float(JOBS_PER_CORE), integer=True)
    moved = host.columns(num_cores, NUM_CLASSES, ub=float(JOBS_PER_CORE), cost=0.005)
    hottest = host.columns(lb=-10.0, ub=10.0, cost=1.0)
    heat = host.columns(num_cores, lb=-np.inf, ub=np.inf)
    current = rng.multinomial(JOBS_PER_CORE, np.full(NUM_CLASSES, 1 / NUM_CLASSES), num_cores).astype(np.float64)
    for core in range(num_cores):
        host.row((1.0, jobs[core]), lb=JOBS_PER_CORE, ub=JOBS_PER_CORE)
        host.row((1.0, hottest), (-1.0, heat[core]), lb=0.0)
        for kind in range(NUM_CLASSES):
            host.row((1.0, moved[core, kind]), (-1.0, jobs[core, kind]), lb=-current[core, kind])
    for kind in range(NUM_CLASSES):
        host.row((1.0, jobs[:, kind]), lb=current[:, kind].sum(), ub=current[:, kind].sum())
    program = host.build()
    low, high = np.zeros(2 * NUM_CLASSES), np.full(2 * NUM_CLASSES, float(JOBS_PER_CORE))
    network = fit_network(_temperature(rng), low, high, WIDTHS, seed, activation)
    inputs = AffineInputs(_mixes(jobs, program.num_columns))
    return Instance(f"dispatch cores={num_cores} seed {seed}", program, (Embedding(network, inputs, heat),), [])


def _mixes(jobs: np.ndarray, num_columns: int) -> sp.csr_array:
    """Rows of each core: its own jobs of every class, then the mean of its two neighbours on a ring."""
    num_cores = jobs.shape[0]
    matrix = sp.lil_array((num_cores * 2 * NUM_CLASSES, num_columns))
    for core in range(num_cores):
        for kind in range(NUM_CLASSES):
            first = 2 * core * NUM_CLASSES + kind
            matrix[first, jobs[core, kind]] = 1.0
            for neighbour in ((core - 1) % num_cores, (core + 1) % num_cores):
                matrix[first + NUM_CLASSES, jobs[neighbour, kind]] += 0.5
    return sp.csr_array(matrix)


def _temperature(rng: np.random.Generator):
    """Classes heat differently, mixes of compute and memory jobs less than either alone, hot neighbours add to it."""
    power, disturb = rng.uniform(0.1, 0.6, NUM_CLASSES), rng.normal(size=(NUM_CLASSES, NUM_CLASSES)) * 0.08

    def temperature(x: np.ndarray) -> np.ndarray:
        own, beside = x[:, :NUM_CLASSES], x[:, NUM_CLASSES:]
        clash = np.einsum("ki,ij,kj->k", own, disturb, own) + np.einsum("ki,ij,kj->k", own, disturb.T, beside)
        return own @ power + 0.3 * np.maximum(beside @ power - 1.5, 0) + clash

    return temperature
