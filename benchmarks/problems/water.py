"""Water treatment (section 5.2 of the paper): how many samples can shared treatment budgets make potable?

x_i = b_i - r_i + a_i,   y_i = 1  =>  score(x_i) >= 1e-4,   sum r <= R,   sum a <= A,   maximize sum y
"""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.data import data_file
from benchmarks.problems.instance import Instance
from benchmarks.problems.sizes import SizeError, read_number
from dcembed import AffineInputs, Embedding, Indicator, Network, Program, load_network
from dcembed.network.network import evaluate
from dcembed.program.derive import add_columns, add_rows, derive
from dcembed.program.matrices import set_fields

NUM_FEATURES = 9
MARGIN = 1e-4
# Ranges of the budgets in the order of the features.
LOW = np.array([1.8, 20, 180, 0.9, 19, 19, 1.2, 4.5, 0.9])
HIGH = np.array([2.5, 25, 250, 1.1, 21, 21, 1.8, 6, 1.1])


def find_water(size: str, trial: int) -> tuple[Path, ...]:
    """The data files of an instance."""
    num_samples, files = read_number(size), (data_file("water_quality.csv"), data_file("water_classifier.npz"))
    if num_samples > candidates().size:
        raise SizeError(f"A size of water treatment is a number of samples, and {candidates().size:,} need treatment; received {size!r}.")
    return files


def build_water(size: str, trial: int) -> Instance:
    """The instance of a size and trial."""
    return water_instance(load_water_network(), read_number(size), trial)


def load_water_network() -> Network:
    """The classifier on raw features; its output is the logit."""
    return load_network(data_file("water_classifier.npz"), architecture="relu")


def budgets(data_seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Removal and addition budgets."""
    rng = np.random.RandomState(data_seed)
    return rng.uniform(LOW, HIGH), rng.uniform(LOW, HIGH)


def untreated_samples(num_samples: int, cohort: int) -> np.ndarray:
    """The features of the first samples of a cohort, shape (N, 9)."""
    features = np.genfromtxt(data_file("water_quality.csv"), delimiter=",", skip_header=1)[:, :NUM_FEATURES]
    return features[np.random.RandomState(cohort).permutation(candidates())[:num_samples]]


def candidates() -> np.ndarray:
    """The rows of the data that are not potable untreated, in the eyes of the classifier either."""
    with np.load(data_file("water_classifier.npz")) as archive:
        return archive["pool_rows"]


def with_score_columns(instance: Instance, num_samples: int) -> Instance:
    """The same instance as the paper writes it: an extra column for each score, a row that ties it to the prediction, the
    indicator on the column."""
    program, embeddings = instance.program, instance.embeddings
    n = program.num_columns
    score, extra = embeddings[0].outputs[:, 0], n + np.arange(num_samples)
    tie = sp.csr_array(
        (np.repeat([1.0, -1.0], num_samples), (np.tile(np.arange(num_samples), 2), np.concatenate([extra, score]))),
        shape=(num_samples, n + num_samples),
    )
    unit = sp.eye_array(n + num_samples, format="csr")
    free = np.full(num_samples, np.inf)
    wide = add_rows(add_columns(program, -free, free), tie, np.zeros(num_samples), np.zeros(num_samples))
    indicators = tuple(Indicator(i.column, 1, unit[[s]], lb=MARGIN) for s, i in zip(extra, program.indicators, strict=True))
    wide = derive(wide, indicators=indicators)
    inputs = embeddings[0].inputs
    matrix = sp.hstack([inputs.matrix, sp.csr_array((inputs.matrix.shape[0], num_samples))], format="csr")
    embedding = Embedding(embeddings[0].network, AffineInputs(matrix, inputs.offset), score)
    start = np.concatenate([np.zeros(n), evaluate(embedding.network, inputs.offset)[:, 0]])
    return Instance(instance.name + ", score columns", wide, (embedding,), [start])


def water_instance(network: Network, num_samples: int, cohort: int) -> Instance:
    """The first samples of a cohort under the budgets of the paper."""
    samples = untreated_samples(num_samples, cohort)
    return treatment_instance(network, samples, np.concatenate(budgets()), f"water N={num_samples} cohort {cohort}")


def treatment_instance(network: Network, samples: np.ndarray, budget: np.ndarray, name: str, most: np.ndarray | None = None) -> Instance:
    """Columns r (N x 9), a (N x 9), scores s (N), decisions y (N).

    Parameters
    ----------
    samples
        Untreated features, shape (N, 9).
    budget
        Of removals, then of additions, shape (18,).
    most
        What one sample may get of each, shape (18,); no limit of its own by default.
    """
    num_samples = samples.shape[0]
    size = NUM_FEATURES * num_samples
    n = 2 * size + 2 * num_samples
    score, decision = 2 * size + np.arange(num_samples), 2 * size + num_samples + np.arange(num_samples)
    treat = sp.csr_array((np.repeat([-1.0, 1.0], size), (np.tile(np.arange(size), 2), np.arange(2 * size))), shape=(size, n))
    feature = np.tile(np.arange(NUM_FEATURES), num_samples)
    use = sp.csr_array((np.ones(2 * size), (np.concatenate([feature, NUM_FEATURES + feature]), np.arange(2 * size))), shape=(18, n))
    cost, lb, ub = np.zeros(n), np.zeros(n), np.full(n, np.inf)
    cost[decision], lb[score], ub[decision] = -1.0, -np.inf, 1.0
    if most is not None:
        ub[: 2 * size] = np.concatenate([np.tile(side, num_samples) for side in np.split(most, 2)])
    program = Program(cost=cost, rows=use, row_ub=budget, lb=lb, ub=ub, integer=decision, indicators=potable_indicators(decision, score, n))
    return Instance(name, program, (Embedding(network, AffineInputs(treat, samples), score),), [np.zeros(n)])


def potable_indicators(decision: np.ndarray, score: np.ndarray, num_columns: int) -> list[Indicator]:
    """y = 1 => score >= 1e-4 for pairs of columns (N,) each.

    All are copies of the first one with other columns: to check each of a hundred thousand anew takes a quarter of a minute.
    """
    unit = sp.csr_array((np.ones(1), np.zeros(1, dtype=np.int32), np.array([0, 1], dtype=np.int32)), shape=(1, num_columns))
    first = Indicator(0, 1, unit, lb=MARGIN)
    indicators = []
    for number, place in zip(decision.tolist(), score.astype(np.int32)[:, None], strict=True):
        row, indicator = copy(first.coefficients), copy(first)
        row.indices = place
        set_fields(indicator, column=number, coefficients=row)
        indicators.append(indicator)
    return indicators
