"""Problems that fall apart: the same few columns and networks for many items, which some rows tie together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import dcembed
from dcembed import AffineInputs, Embedding, Indicator, Program
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.run.arguments import read_arguments

# Of each item: two inputs, an amount that a row ties to them, a binary, an integer, a prediction, and one of a second network.
NUM_COLUMNS = 7
FIRST, SECOND, AMOUNT, SWITCH, WHOLE, PREDICTION, OTHER = range(NUM_COLUMNS)


@dataclass(frozen=True, eq=False)
class Case:
    """A program with its embeddings, and the item of each column; -1 for columns that no network has to do with."""

    program: Program
    embeddings: list[Embedding]
    item: np.ndarray

    def eliminate(self) -> EmbeddedProgram:
        arguments = read_arguments(self.program, self.embeddings, None, None)
        return eliminate(arguments.minimized, arguments.embeddings)


def block_case(
    seed: int, num_items: int = 10, link: str = "budget", second: bool = False, permuted: bool = False, activation: str = "relu"
) -> Case:
    """Maximize what the networks promise of all items; `link` is "budget", "demand", "range" or "predictions"."""
    rng = np.random.default_rng(seed)
    n = NUM_COLUMNS * num_items + 1
    at = NUM_COLUMNS * np.arange(num_items)
    order = rng.permutation(n) if permuted else np.arange(n)
    network, other = _network(rng, activation), _network(rng, activation)
    rows, row_lb, row_ub = _rows(rng, num_items, n, link)
    if link == "predictions":
        # All items can be at one point where the row holds.
        row_ub[-1] = num_items * network(np.array([0.2, 0.3])).item()
    lb, ub = np.zeros(n), np.ones(n)
    ub[[at + AMOUNT, at + WHOLE]], ub[-1] = 2.0, 0.1 * num_items
    lb[[at + PREDICTION, at + OTHER]], ub[[at + PREDICTION, at + OTHER]] = -np.inf, np.inf
    cost = np.zeros(n)
    cost[at + PREDICTION], cost[at + WHOLE], cost[-1] = -rng.uniform(0.5, 1.5, num_items), 0.05, 0.7
    cost[at + OTHER] = 0.2 if second else 0.0
    integer = np.concatenate([at + SWITCH, at + WHOLE])
    unit = sp.eye_array(n, format="csr")
    indicators = [Indicator(order[i + SWITCH], 0, (unit[[i + FIRST]])[:, np.argsort(order)], ub=0.2) for i in at]
    place = np.argsort(order)
    shuffle = rng.permutation(row_lb.size) if permuted else np.arange(row_lb.size)
    program = Program(
        cost=cost[place],
        rows=rows[shuffle][:, place],
        row_lb=row_lb[shuffle],
        row_ub=row_ub[shuffle],
        lb=lb[place],
        ub=ub[place],
        integer=order[integer],
        indicators=indicators,
    )
    inputs = np.stack([at + FIRST, at + SECOND], axis=1)
    embeddings = [Embedding(network, order[inputs], order[at + PREDICTION])]
    embeddings += [Embedding(other, order[inputs], order[at + OTHER])] if second else []
    item = np.append(np.repeat(np.arange(num_items), NUM_COLUMNS), -1)
    item[at + OTHER] = item[at + OTHER] if second else -1
    return Case(program, embeddings, item[place])


def _rows(rng: np.random.Generator, num_items: int, n: int, link: str) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Of each item amount = first + second and second <= switch + whole / 2; then two links."""
    at = NUM_COLUMNS * np.arange(num_items)
    matrix = sp.lil_array((2 * num_items + 2, n))
    for number, i in enumerate(at):
        matrix[2 * number, [i + FIRST, i + SECOND, i + AMOUNT]] = [1.0, 1.0, -1.0]
        matrix[2 * number + 1, [i + SECOND, i + SWITCH, i + WHOLE]] = [1.0, -1.0, -0.5]
    matrix[-2, at + AMOUNT] = rng.uniform(0.5, 1.5, num_items)
    matrix[-1, at + (PREDICTION if link == "predictions" else SWITCH)] = 1.0
    # The last column helps out at a price.
    matrix[-2, n - 1] = -1.0
    lb, ub = np.full(2 * num_items + 2, -np.inf), np.zeros(2 * num_items + 2)
    lb[0 : 2 * num_items : 2] = 0.0
    amount = 0.6 * num_items
    lb[-2], ub[-2] = {"demand": (amount, amount), "range": (0.9 * amount, amount)}.get(link, (-np.inf, amount))
    ub[-1] = 0.5 * num_items
    return sp.csr_array(matrix), lb, ub


def _network(rng: np.random.Generator, activation: str) -> dcembed.Network:
    weights = [rng.normal(size=(8, 2)), rng.normal(size=(8, 8)) / 2, rng.normal(size=(1, 8)) / 2]
    return dcembed.build_mlp(weights=weights, biases=[rng.normal(size=8), rng.normal(size=8), np.zeros(1)], activation=activation)


def shifted(case: Case, shift: float) -> Case:
    """The same with inputs that are moved by a constant, so that they are affine in the columns."""
    n = case.program.num_columns
    embeddings = []
    for embedding in case.embeddings:
        affine = embedding.affine_inputs(n)
        embeddings.append(Embedding(embedding.network, AffineInputs(affine.matrix, affine.offset + shift), embedding.outputs))
    return Case(case.program, embeddings, case.item)
