"""A design of binaries whose cost in every scenario a network predicts, of the shape of Neur2SP.

    minimize  c'x + (1/S) sum_s f(x, xi_s)     one evaluation for each scenario ("scenarios", NN-P there)
    minimize  c'x + g(x)                       one evaluation of the expectation ("expected", NN-E there)

x also meets rows of its own. Up to 15 binaries the best design is found by enumeration.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from benchmarks.problems.host_builder import HostBuilder
from benchmarks.problems.instance import Instance
from dcembed import AffineInputs, Embedding, Network
from dcembed.embedded.verify import predict
from dcembed.network.network import evaluate

WRITINGS = ("scenarios", "expected")
# Binaries up to which all designs are tried, and how many of them at a time.
MOST_ENUMERATED, CHUNK = 15, 64
# Columns, the coefficients of a row, and its sides.
Row = tuple[np.ndarray, float, float]


def design_instance(
    name: str, network: Network, cost: np.ndarray, rows: Sequence[Row], scenarios: np.ndarray, start: np.ndarray
) -> Instance:
    """Columns x (n), then a prediction for each of the scenarios (S, m); (1, 0) stands for a network that knows the expectation.

    `rows` are (coefficients (n,), lb, ub); the start is a design.
    """
    host = HostBuilder()
    number = len(scenarios)
    design = host.columns(cost.size, integer=True, cost=cost)
    predicted = host.columns(number, lb=-np.inf, ub=np.inf, cost=1.0 / number)
    for coefficients, lb, ub in rows:
        host.row((coefficients, design), lb=lb, ub=ub)
    program = host.build()
    size = network.num_inputs
    matrix = sp.csr_array((np.ones(cost.size), (np.arange(cost.size), design)), shape=(size, program.num_columns))
    offset = np.hstack([np.zeros((number, cost.size)), scenarios])
    embeddings = (Embedding(network, AffineInputs(matrix, offset), predicted),)
    point = predict(embeddings, np.concatenate([start, np.zeros(number)]))
    return Instance(name, program, embeddings, [point])


def enumerated_optimum(instance: Instance) -> float | None:
    """The best objective over all designs; None if there are too many."""
    program, (embedding,) = instance.program, instance.embeddings
    n = program.num_integers
    if n > MOST_ENUMERATED:
        return None
    designs = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
    sums = designs @ program.rows[:, :n].T
    designs = designs[np.all((sums >= program.row_lb - 1e-9) & (sums <= program.row_ub + 1e-9), axis=1)]
    offset = embedding.inputs.offset
    best = np.inf
    for first in range(0, len(designs), CHUNK):
        some = designs[first : first + CHUNK]
        inputs = np.repeat(offset[None], len(some), axis=0)
        inputs[:, :, :n] += some[:, None]
        values = evaluate(embedding.network, inputs.reshape(-1, inputs.shape[2])).reshape(len(some), len(offset))
        best = min(best, float(np.min(some @ program.cost[:n] + values @ program.cost[n:])))
    return best
