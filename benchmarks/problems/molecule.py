"""A molecule of up to ten heavy atoms is designed: atoms and bonds are binaries, a network predicts how high it boils.

Slot i has at most one atom of type t (C, N, O, F), filled from the first slot on; a pair of slots has no bond, a single or a double one:

    hydrogens_i + sum of the orders of the bonds at i = valence of the atom at i
    every atom but the first one is bound to an earlier one, so that all hang together;   rings = bonds - atoms + 1 <= 2
    no bonds between two atoms other than carbon, no rings of three;   limits on mass and on how it mixes with oil (logP by increments)

135 inputs: 40 binaries of atoms, 90 of bonds, and the numbers of atoms, hydrogens, double bonds, other atoms and rings. The network is
135-43-10-1, of the size of those in the literature on molecules by MILP. Its data are drawn molecules, with a boiling point in units of
50 K made of Randic's connectivity (1 / sqrt of both degrees, summed over the bonds), hydrogens at N and O that bind molecules to one
another, double bonds, rings and branches.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from benchmarks.problems.trained import load_trained, network_file
from dcembed import Embedding, Network
from dcembed.embedded.verify import predict

NUM_SLOTS, WIDTHS = 10, (43, 10)
TYPES, VALENCE, MASS = ("C", "N", "O", "F"), np.array([4.0, 3.0, 2.0, 1.0]), np.array([12.0, 14.0, 16.0, 19.0])
# What an atom of each type adds to logP.
INCREMENTS = np.array([0.5, -1.0, -1.3, 0.2])
NUM_TYPES, CARBON = len(TYPES), 0
PAIRS = np.array(list(itertools.combinations(range(NUM_SLOTS), 2)))
ORDERS = np.array([1.0, 2.0])
NUM_SUMMARIES = 5
NUM_INPUTS = NUM_SLOTS * NUM_TYPES + 2 * len(PAIRS) + NUM_SUMMARIES
LEAST_ATOMS, MOST_RINGS = 4, 2
# How often each type is drawn, and how many tries there are for double bonds and rings.
FREQUENCY, NUM_TRIES = (0.64, 0.14, 0.14, 0.08), 6


@dataclass(frozen=True, eq=False)
class Molecule:
    """Types of the atoms, -1 in empty slots, shape (10,), and orders of the bonds, symmetric, shape (10, 10)."""

    types: np.ndarray
    orders: np.ndarray


def boiling_point(molecule: Molecule) -> float:
    """In units of 50 K."""
    kinds, bonds = molecule.types, molecule.orders > 0
    there = kinds >= 0
    degree = bonds.sum(axis=1)
    first, second = np.nonzero(np.triu(bonds))
    randic = np.sum(1.0 / np.sqrt(degree[first] * degree[second]))
    binding = np.sum(((kinds == 1) | (kinds == 2)) & (hydrogens(molecule) > 0))
    doubles = np.sum(np.triu(molecule.orders) == 2)
    rings = first.size - there.sum() + 1
    branches = np.sum(np.maximum(degree - 2, 0))
    return float(1.5 + 1.1 * randic + 1.6 * np.sqrt(binding) + 0.35 * np.sqrt(doubles) + 0.5 * rings - 0.25 * branches)


def hydrogens(molecule: Molecule) -> np.ndarray:
    """How many are at each atom: what the bonds leave of its valence."""
    return np.where(molecule.types >= 0, VALENCE[molecule.types], 0.0) - molecule.orders.sum(axis=1)


def draw_molecule(rng: np.random.Generator) -> Molecule:
    """Atoms are hung on earlier ones at random, then there are tries for rings and double bonds."""
    number = int(rng.integers(LEAST_ATOMS, NUM_SLOTS + 1))
    kinds, orders = np.full(NUM_SLOTS, -1), np.zeros((NUM_SLOTS, NUM_SLOTS))
    # The first two atoms are carbon, so that there is always a place for the next one.
    kinds[:number] = rng.choice(NUM_TYPES, number, p=FREQUENCY)
    kinds[:2] = CARBON
    molecule = Molecule(kinds, orders)
    for atom in range(1, number):
        free = hydrogens(molecule)[:atom] >= 1
        fits = np.flatnonzero(free & ((kinds[:atom] == CARBON) | (kinds[atom] == CARBON)))
        if fits.size == 0 or (atom < number - 1 and np.sum(hydrogens(molecule)[:atom]) <= 1 and kinds[atom] == NUM_TYPES - 1):
            kinds[atom:] = -1
            break
        other = rng.choice(fits)
        orders[atom, other] = orders[other, atom] = 1.0
    _add_bonds(molecule, int(np.sum(kinds >= 0)), rng)
    return molecule


def _add_bonds(molecule: Molecule, number: int, rng: np.random.Generator) -> None:
    """Double bonds and rings, where valences allow them, in place."""
    kinds, orders, rings = molecule.types, molecule.orders, 0
    for _ in range(int(rng.integers(NUM_TRIES))):
        i, j = rng.choice(number, 2, replace=False)
        is_apart = orders[i, j] == 0
        left = hydrogens(molecule)
        if min(left[i], left[j]) < 1 or (kinds[i] != CARBON and kinds[j] != CARBON) or orders[i, j] == 2:
            continue
        if is_apart and (rings == MOST_RINGS or np.any((orders[i] > 0) & (orders[j] > 0))):
            continue
        orders[i, j] = orders[j, i] = orders[i, j] + 1.0
        rings += is_apart


def describe(molecule: Molecule) -> np.ndarray:
    """The inputs of the network, shape (135,)."""
    kinds, number = molecule.types, int(np.sum(molecule.types >= 0))
    atoms = kinds[:, None] == np.arange(NUM_TYPES)
    bonds = molecule.orders[PAIRS[:, 0], PAIRS[:, 1]][:, None] == ORDERS
    others = np.sum(kinds > CARBON)
    summaries = [number, hydrogens(molecule).sum(), bonds[:, 1].sum(), others, bonds.sum() - number + 1]
    return np.concatenate([atoms.reshape(-1), bonds.reshape(-1), summaries]).astype(np.float64)


def molecule_path() -> Path:
    """Where the network is."""
    return network_file("molecule.npz")


def load_molecule() -> Network:
    """The trained network; the error has the command that trains it."""
    return load_trained(molecule_path(), "train_molecule")


def build_molecule(seed: int) -> Instance:
    """What boils highest within the limits of a seed; the start is butane."""
    rng = np.random.default_rng(seed)
    heaviest, least_oil = float(np.round(rng.uniform(100.0, 150.0), 1)), float(np.round(rng.uniform(-0.4, 0.5), 2))
    host = HostBuilder()
    atoms = host.columns(NUM_SLOTS, NUM_TYPES, integer=True)
    bonds = host.columns(len(PAIRS), 2, integer=True)
    ranges = ((LEAST_ATOMS, NUM_SLOTS), (0, 4 * NUM_SLOTS), (0, len(PAIRS)), (0, NUM_SLOTS), (0, MOST_RINGS))
    summaries = np.array([host.columns(lb=float(low), ub=float(high)) for low, high in ranges])
    hydrogen = host.columns(NUM_SLOTS, ub=4.0)
    boiling = host.columns(lb=-np.inf, ub=np.inf, cost=-1.0)
    _write_atoms(host, atoms, bonds, hydrogen)
    _write_bonds(host, atoms, bonds)
    _write_summaries(host, atoms, bonds, hydrogen, summaries)
    host.row((np.tile(MASS, (NUM_SLOTS, 1)), atoms), (1.0, summaries[1]), ub=heaviest)
    host.row((np.tile(INCREMENTS, (NUM_SLOTS, 1)), atoms), lb=least_oil, ub=least_oil + 2.5)
    program = host.build()
    inputs = np.concatenate([atoms.reshape(-1), bonds.reshape(-1), summaries])
    embeddings = (Embedding(load_molecule(), inputs, boiling.reshape(1)),)
    chain, start = _chain(LEAST_ATOMS), np.zeros(program.num_columns)
    start[inputs], start[hydrogen] = describe(chain), hydrogens(chain)
    return Instance(f"molecule seed {seed}", program, embeddings, [predict(embeddings, start)])


def _chain(number: int) -> Molecule:
    """So many carbon atoms in a row."""
    slots = np.arange(NUM_SLOTS)
    next_to = (abs(slots[:, None] - slots) == 1) & (np.maximum(slots[:, None], slots) < number)
    return Molecule(np.where(slots < number, CARBON, -1), next_to.astype(np.float64))


def _write_atoms(host: HostBuilder, atoms: np.ndarray, bonds: np.ndarray, hydrogen: np.ndarray) -> None:
    """At most one atom in a slot, none behind an empty one; valences are met; all hang together."""
    for i in range(NUM_SLOTS):
        host.row((1.0, atoms[i]), lb=float(i < LEAST_ATOMS), ub=1.0)
        at = bonds[(i == PAIRS).any(axis=1)]
        host.row((1.0, hydrogen[i]), (np.tile(ORDERS, (len(at), 1)), at), (-VALENCE, atoms[i]), lb=0.0, ub=0.0)
        if i:
            host.row((1.0, atoms[i - 1]), (-1.0, atoms[i]), lb=0.0)
            host.row((1.0, bonds[PAIRS[:, 1] == i]), (-1.0, atoms[i]), lb=0.0)


def _write_bonds(host: HostBuilder, atoms: np.ndarray, bonds: np.ndarray) -> None:
    """One order, between atoms that are there, one of them carbon; no rings of three."""
    for (i, j), bond in zip(PAIRS, bonds, strict=True):
        # The later slot is filled only if the earlier one is.
        host.row((1.0, bond), (-1.0, atoms[j]), ub=0.0)
        host.row((1.0, bond), (1.0, atoms[i, 1:]), (1.0, atoms[j, 1:]), ub=2.0)
    place = {tuple(pair): number for number, pair in enumerate(PAIRS.tolist())}
    for i, j, k in itertools.combinations(range(NUM_SLOTS), 3):
        host.row((1.0, bonds[[place[i, j], place[j, k], place[i, k]]]), ub=2.0)


def _write_summaries(host: HostBuilder, atoms: np.ndarray, bonds: np.ndarray, hydrogen: np.ndarray, summaries: np.ndarray) -> None:
    """Numbers of atoms, hydrogens, double bonds, other atoms and rings."""
    for column, terms in zip(summaries[:4], ((1.0, atoms), (1.0, hydrogen), (1.0, bonds[:, 1]), (1.0, atoms[:, 1:])), strict=True):
        host.row(terms, (-1.0, column), lb=0.0, ub=0.0)
    host.row((1.0, bonds), (-1.0, summaries[0]), (-1.0, summaries[4]), lb=-1.0, ub=-1.0)
