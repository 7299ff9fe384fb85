"""Water treatment in other writings, which all fall into samples once the budgets are taken out.

The first two are the same problem: with a column for each score, and with big-M rows in the place of indicators. The others are harder to
recognise: rows and an integer inside each sample, two different networks, budgets of groups, rows and columns in any order. The objective
of all of them is minus the number of potable samples. `repeated` has as many samples as one likes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.instance import Instance
from benchmarks.problems.water import (
    MARGIN,
    NUM_FEATURES,
    budgets,
    load_water_network,
    potable_indicators,
    treatment_instance,
    untreated_samples,
    water_instance,
    with_score_columns,
)
from dcembed import AffineInputs, Embedding, Network, Program, build_mlp
from dcembed.embedded.unit_bounds import column_box
from dcembed.network.network import evaluate
from dcembed.program.derive import add_columns, add_rows, derive, widened

NUM_CANDIDATES = 1065
NUM_BUDGETS = 2 * NUM_FEATURES
# Of the rows inside samples: all that a sample may get, in shares of the whole budgets, and how far acid may run ahead of salts.
MOST_SHARES, AHEAD = 2.0, 0.5
PH, CONDUCTIVITY = 0, 5
# Shares that a dose brings, doses of a sample at most, and of all samples on average.
DOSE, MOST_DOSES, MEAN_DOSES = 0.25, 8, 1.5
# Groups of samples, and the part of the budgets that one of them may use.
NUM_GROUPS, GROUP_PART = 4, 0.4
# How far the second network is from the first, and repeated samples from theirs in standard deviations.
NOISE, SPREAD = 0.02, 0.05
# Halvings of what is added to a repeated sample until it is no longer potable untreated; what still is stays as it was.
NUM_HALVINGS = 10


def build_variant(name: str, num_samples: int, cohort: int) -> Instance:
    """Water treatment of a cohort in one of the writings of `VARIANTS`."""
    instance = water_instance(load_water_network(), num_samples, cohort)
    for change in VARIANTS[name]:
        instance = change(instance)
    return Instance(f"water N={num_samples} cohort {cohort}, {name}", instance.program, instance.embeddings, instance.starts)


def repeated(num_samples: int, seed: int = 0) -> Instance:
    """Samples made by repeating and perturbing the candidates, the budgets in proportion; a sample gets no more than those of water."""
    network, whole = load_water_network(), np.concatenate(budgets())
    samples = repeat_samples(network, untreated_samples(NUM_CANDIDATES, 0), num_samples, np.random.default_rng(seed))
    scaled = whole * num_samples / NUM_CANDIDATES
    return treatment_instance(network, samples, scaled, f"water repeated {num_samples}", most=np.minimum(whole, scaled))


def repeat_samples(network: Network, candidates: np.ndarray, num_samples: int, rng: np.random.Generator) -> np.ndarray:
    """The candidates as they are, then again and again with something added; none is potable untreated. Shape (N, 9)."""
    original = candidates[np.arange(num_samples) % candidates.shape[0]]
    added = SPREAD * candidates.std(axis=0) * rng.normal(size=original.shape)
    added[: candidates.shape[0]] = 0.0
    for _ in range(NUM_HALVINGS):
        potable = evaluate(network, original + added)[:, 0] >= MARGIN
        added[potable] /= 2
    added[evaluate(network, original + added)[:, 0] >= MARGIN] = 0.0
    return original + added


def score_columns(instance: Instance) -> Instance:
    """An extra column for each score."""
    return with_score_columns(instance, count_samples(instance))


def big_m_rows(instance: Instance) -> Instance:
    """Rows s - M y >= margin - M in the place of indicators, M from bounds of the network over what a sample can get."""
    program, switches = instance.program, instance.program.indicator_rows
    lb, _ = column_box(program, instance.embeddings)
    big = switches.lb - lb[switches.matrix.indices]
    entries = sp.csr_array((-big, (np.arange(big.size), switches.column)), shape=switches.matrix.shape)
    rows = add_rows(program, sp.csr_array(switches.matrix + entries), switches.lb - big, np.full(big.size, np.inf))
    return Instance(instance.name, derive(rows, indicators=()), instance.embeddings, instance.starts)


def extra_rows(instance: Instance) -> Instance:
    """Two rows inside each sample: a limit to all that it gets, and acid that comes with salts."""
    num_samples, n = count_samples(instance), instance.program.num_columns
    share, added = 1.0 / np.concatenate(budgets()), _treatments(num_samples)[:, NUM_FEATURES:]
    sample = np.arange(num_samples)
    entries = np.repeat([share[NUM_FEATURES + PH], -share[NUM_FEATURES + CONDUCTIVITY]], num_samples)
    places = np.tile(sample, 2), np.concatenate([added[:, PH], added[:, CONDUCTIVITY]])
    matrix = sp.vstack([_shares(num_samples, n), sp.csr_array((entries, places), shape=(num_samples, n))], format="csr")
    row_ub = np.repeat([MOST_SHARES, AHEAD], num_samples)
    program = add_rows(instance.program, matrix, np.full(row_ub.size, -np.inf), row_ub)
    return Instance(instance.name, program, instance.embeddings, instance.starts)


def doses(instance: Instance) -> Instance:
    """An integer for each sample: what it gets comes in doses, and all samples share a number of them."""
    num_samples, n = count_samples(instance), instance.program.num_columns
    size, sample = n + num_samples, np.arange(num_samples)
    wide = add_columns(
        instance.program, np.zeros(num_samples), np.full(num_samples, float(MOST_DOSES)), integer=np.ones(num_samples, dtype=bool)
    )
    dose = sp.csr_array((np.full(num_samples, -DOSE), (sample, n + sample)), shape=(num_samples, size))
    total = sp.csr_array((np.ones(num_samples), (np.zeros(num_samples, dtype=int), n + sample)), shape=(1, size))
    matrix = sp.vstack([widened(_shares(num_samples, n), num_samples, size) + dose, total], format="csr")
    row_ub = np.concatenate([np.zeros(num_samples), [np.floor(MEAN_DOSES * num_samples)]])
    program = derive(add_rows(wide, matrix, np.full(row_ub.size, -np.inf), row_ub), column_numbers=None)
    starts = [np.concatenate([start, np.zeros(num_samples)]) for start in instance.starts]
    return Instance(instance.name, program, tuple(_widen(embedding, size) for embedding in instance.embeddings), starts)


def two_networks(instance: Instance) -> Instance:
    """Every second sample is judged by another classifier."""
    (embedding,) = instance.embeddings
    networks = embedding.network, another_network(embedding.network)
    places = [np.arange(first, embedding.num_evaluations, 2) for first in range(2)]
    pairs = zip(networks, places, strict=True)
    return Instance(instance.name, instance.program, tuple(_evaluations(embedding, at, network) for network, at in pairs), instance.starts)


def another_network(network: Network, seed: int = 1) -> Network:
    """A network of the same size: weights a little off, units in another order."""
    rng = np.random.default_rng(seed)
    weights, biases, order = [], [], np.arange(network.num_inputs)
    for stage in (*network.stages, network.output):
        (block,) = stage.weights.values()
        following = rng.permutation(stage.num_rows)
        weights.append((block * (1.0 + NOISE * rng.normal(size=block.shape)))[following][:, order])
        biases.append(stage.bias[following])
        order = following
    return build_mlp(weights, biases)


def groups(instance: Instance) -> Instance:
    """Groups of samples have budgets of their own beside those of all."""
    num_samples, n = count_samples(instance), instance.program.num_columns
    group = np.arange(num_samples) % NUM_GROUPS
    row = group[:, None] * NUM_BUDGETS + np.arange(NUM_BUDGETS)
    columns = _treatments(num_samples)
    matrix = sp.csr_array((np.ones(row.size), (row.reshape(-1), columns.reshape(-1))), shape=(NUM_GROUPS * NUM_BUDGETS, n))
    row_ub = np.tile(GROUP_PART * np.concatenate(budgets()), NUM_GROUPS)
    program = add_rows(instance.program, matrix, np.full(row_ub.size, -np.inf), row_ub)
    return Instance(instance.name, program, instance.embeddings, instance.starts)


def permuted(instance: Instance, seed: int = 0) -> Instance:
    """Rows, columns and evaluations in a random order."""
    rng, program = np.random.default_rng(seed), instance.program
    order, row_order = rng.permutation(program.num_columns), rng.permutation(program.num_rows)
    place = np.argsort(order)
    switches = program.indicator_rows
    again = Program(
        cost=program.cost[order],
        rows=program.rows[row_order][:, order],
        row_lb=program.row_lb[row_order],
        row_ub=program.row_ub[row_order],
        lb=program.lb[order],
        ub=program.ub[order],
        integer=program.integer[order],
        indicators=potable_indicators(place[switches.column], place[switches.matrix.indices], order.size),
    )
    embeddings = []
    for embedding in instance.embeddings:
        inputs = embedding.affine_inputs(order.size)
        moved = Embedding(embedding.network, AffineInputs(inputs.matrix[:, order], inputs.offset), place[embedding.outputs])
        embeddings.append(_evaluations(moved, rng.permutation(moved.num_evaluations), moved.network))
    return Instance(instance.name, again, tuple(embeddings), [start[order] for start in instance.starts])


def count_samples(instance: Instance) -> int:
    """Samples of an instance of water, whose first columns are r, a, s and y."""
    return sum(embedding.num_evaluations for embedding in instance.embeddings)


def _treatments(num_samples: int) -> np.ndarray:
    """The columns r and a of each sample, shape (N, 18)."""
    removed = np.arange(NUM_FEATURES * num_samples).reshape(num_samples, NUM_FEATURES)
    return np.hstack([removed, removed.size + removed])


def _shares(num_samples: int, num_columns: int) -> sp.csr_array:
    """All that a sample gets, in shares of the whole budgets: a row for each."""
    columns = _treatments(num_samples)
    entries = np.tile(1.0 / np.concatenate(budgets()), num_samples)
    places = np.repeat(np.arange(num_samples), NUM_BUDGETS), columns.reshape(-1)
    return sp.csr_array((entries, places), shape=(num_samples, num_columns))


def _widen(embedding: Embedding, num_columns: int) -> Embedding:
    """The same evaluations where there are more columns."""
    matrix = widened(embedding.inputs.matrix, embedding.inputs.matrix.shape[0], num_columns)
    return Embedding(embedding.network, AffineInputs(matrix, embedding.inputs.offset), embedding.outputs)


def _evaluations(embedding: Embedding, which: np.ndarray, network: Network) -> Embedding:
    """Some evaluations, in this order, by this network."""
    rows = (which[:, None] * network.num_inputs + np.arange(network.num_inputs)).reshape(-1)
    return Embedding(network, AffineInputs(embedding.inputs.matrix[rows], embedding.inputs.offset[which]), embedding.outputs[which])


VARIANTS: dict[str, tuple[Callable[[Instance], Instance], ...]] = {
    "scores": (score_columns,),
    "big-m": (big_m_rows,),
    "extra-rows": (extra_rows,),
    "doses": (doses,),
    "two-networks": (two_networks,),
    "groups": (groups,),
    "permuted": (permuted,),
    "all": (extra_rows, doses, two_networks, groups, permuted),
}
