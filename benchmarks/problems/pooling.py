"""Pooling design with a neural second stage (Neur2SP's NN-P network, section 5.3 of the paper).

Sixteen binaries choose sources, pool, terminals and arcs; the network predicts the profit of the design in a scenario.
The objective is minimized: minus fixed costs minus expected predicted profit.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.special import ndtr

from benchmarks.problems.data import data_file
from benchmarks.problems.instance import Instance
from benchmarks.problems.sizes import read_number
from dcembed import AffineInputs, Embedding, Network, Program, load_network

NODES = "ABCDPXY"
ARCS = ("DX", "CX", "CY", "PX", "PY", "DP", "AP", "BP", "CP")
PROFIT = np.array([-120, -300, -135, -110, -10, -10, -10, *[-10] * len(ARCS)], dtype=np.float64)
NUM_DESIGN = len(NODES) + len(ARCS)
# Mean and deviation of the sulfur of D and the demands of X and Y.
UNCERTAIN = ((2.5, 0.8), (180.0, 10.0), (200.0, 10.0))
NUM_STARTS_DRAWN, NUM_STARTS = 8, 5
CHUNK_SCENARIOS = 50_000


def find_pooling(size: str, trial: int) -> tuple[Path, ...]:
    """The data files of an instance."""
    read_number(size)
    return (data_file("neur2sp_pooling_nnp.npz"),)


def build_pooling(size: str, trial: int) -> Instance:
    """The instance of a size and trial."""
    return pooling_instance(load_pooling_network(), read_number(size), trial)


def load_pooling_network() -> Network:
    """The released network, 19 -> 64 -> 1."""
    return load_network(data_file("neur2sp_pooling_nnp.npz"), architecture="relu")


def design_rows() -> np.ndarray:
    """rows @ design <= 0: an arc needs both its ends, a source or the pool needs an arc that leaves it."""
    rows = []
    for number, arc in enumerate(ARCS):
        for end in arc:
            row = np.zeros(NUM_DESIGN)
            row[len(NODES) + number], row[NODES.index(end)] = 1.0, -1.0
            rows.append(row)
    for node in "ABCDP":
        row = np.zeros(NUM_DESIGN)
        row[NODES.index(node)] = 1.0
        row[[len(NODES) + number for number, arc in enumerate(ARCS) if arc[0] == node]] = -1.0
        rows.append(row)
    return np.array(rows)


def all_designs() -> np.ndarray:
    """The 495 feasible designs, shape (495, 16)."""
    designs = np.array(list(itertools.product((0.0, 1.0), repeat=NUM_DESIGN)))
    return designs[(designs @ design_rows().T <= 0).all(axis=1)]


def scenarios(m: int) -> tuple[np.ndarray, np.ndarray]:
    """The m^3 scenarios (S, 3) and their probabilities (S,): m cells over three deviations, the end cells take the tails."""
    values, masses = [], []
    for mean, deviation in UNCERTAIN:
        edges = np.linspace(mean - 3 * deviation, mean + 3 * deviation, m + 1)
        values.append((edges[1:] + edges[:-1]) / 2)
        below = ndtr((edges - mean) / deviation)
        below[0], below[-1] = 0.0, 1.0
        masses.append(np.diff(below))
    grid = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, 3)
    return grid, np.einsum("i,j,k->ijk", *masses).reshape(-1)


def surrogate_profit(network: Network, m: int, designs: np.ndarray) -> np.ndarray:
    """Fixed costs plus expected predicted profit of each design."""
    xi, probability = scenarios(m)
    expected = [probability @ _predicted_profits(network, xi, z) for z in designs]
    return designs @ PROFIT + np.array(expected)


def _predicted_profits(network: Network, xi: np.ndarray, design: np.ndarray) -> np.ndarray:
    """Of a design in every scenario, some scenarios at a time."""
    parts = np.array_split(xi, -(-len(xi) // CHUNK_SCENARIOS))
    return np.concatenate([network(np.hstack([np.tile(design, (len(part), 1)), part]))[:, 0] for part in parts])


def expected_profits(network: Network, m: int, designs: np.ndarray) -> np.ndarray:
    """The same as `surrogate_profit` for a network of one stage, for any number of designs at the price of sorting the scenarios.

    A unit is max(a + b_s, 0) with a from the design and b_s from the scenario: with the scenarios sorted by b_s, the expected value
    over those above -a is one difference of cumulative sums.
    """
    xi, probability = scenarios(m)
    (stage,) = network.stages
    weight = np.asarray(stage.weights[0])
    of_design = designs @ weight[:, :NUM_DESIGN].T
    expected = np.zeros_like(of_design)
    for unit, (row, bias) in enumerate(zip(weight[:, NUM_DESIGN:], stage.bias, strict=True)):
        of_scenario = xi @ row + bias
        order = np.argsort(of_scenario)
        mass = np.concatenate([np.cumsum(probability[order][::-1])[::-1], [0.0]])
        moment = np.concatenate([np.cumsum((probability * of_scenario)[order][::-1])[::-1], [0.0]])
        first = np.searchsorted(of_scenario[order], -of_design[:, unit])
        expected[:, unit] = of_design[:, unit] * mass[first] + moment[first]
    return designs @ PROFIT + (expected @ np.asarray(network.output.weights[1]).T)[:, 0] + network.output.bias[0]


def optimum(m: int) -> float:
    """The best objective over all 495 designs."""
    return -float(expected_profits(load_pooling_network(), m, all_designs()).max())


def start_designs(network: Network, m: int, trial: int) -> np.ndarray:
    """The best five of eight designs: optimal for the first-stage profit and for seven Gaussian ones."""
    rng = np.random.default_rng(trial)
    profits = [PROFIT, *(rng.standard_normal(NUM_DESIGN) for _ in range(NUM_STARTS_DRAWN - 1))]
    rows = LinearConstraint(design_rows(), -np.inf, 0.0)
    designs = np.array([np.round(milp(-p, integrality=np.ones(NUM_DESIGN), bounds=Bounds(0, 1), constraints=rows).x) for p in profits])
    return designs[np.argsort(-surrogate_profit(network, m, designs), kind="stable")[:NUM_STARTS]]


def pooling_from_two_starts(m: int) -> Instance:
    """The instance from two plain designs: nothing built, and source A through the pool to terminal X."""
    plain = np.zeros((2, NUM_DESIGN))
    plain[1, [NODES.index(node) for node in "APX"]] = 1.0
    plain[1, [len(NODES) + ARCS.index(arc) for arc in ("AP", "PX")]] = 1.0
    instance = pooling_instance(load_pooling_network(), m, 0)
    rest = np.zeros(instance.program.num_columns - NUM_DESIGN)
    return replace(instance, name=f"pooling m={m} from two starts", starts=[np.concatenate([z, rest]) for z in plain])


def pooling_instance(network: Network, m: int, trial: int) -> Instance:
    """m^3 scenarios, each one evaluation of the network on the design (columns) and the scenario (constants)."""
    xi, probability = scenarios(m)
    num_scenarios = len(xi)
    n = NUM_DESIGN + num_scenarios
    # Every scenario has the design in its first inputs and constants in the others.
    inputs = AffineInputs(
        sp.eye_array(network.num_inputs, n) * (np.arange(n) < NUM_DESIGN), np.hstack([np.zeros((num_scenarios, NUM_DESIGN)), xi])
    )
    rows = design_rows()
    free = np.full(num_scenarios, np.inf)
    program = Program(
        cost=-np.concatenate([PROFIT, probability]),
        rows=sp.hstack([sp.csr_array(rows), sp.csr_array((len(rows), num_scenarios))]),
        row_ub=0.0,
        lb=np.concatenate([np.zeros(NUM_DESIGN), -free]),
        ub=np.concatenate([np.ones(NUM_DESIGN), free]),
        integer=np.arange(NUM_DESIGN),
    )
    starts = [np.concatenate([z, np.zeros(num_scenarios)]) for z in start_designs(network, m, trial)]
    embedding = Embedding(network, inputs, NUM_DESIGN + np.arange(num_scenarios))
    # J_0 is the objective of building nothing: the starts are known to every method at second zero.
    return Instance(f"pooling m={m} trial {trial}", program, (embedding,), starts, initial=np.zeros(n))
