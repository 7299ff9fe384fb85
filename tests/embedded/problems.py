"""Random small programs with embedded networks: every way a prediction can occur in a host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from dcembed import AffineInputs, Embedding, Indicator, Network, Program
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedded_program import EmbeddedProgram
from strategies import networks, seeds

# Columns 0..4 belong to the host alone: 0 and 1 continuous, 2 integer, 3 and 4 binary. Outputs follow.
NUM_PLAIN = 5


@dataclass(frozen=True, eq=False)
class Case:
    """A program, its embeddings and a generator for points."""

    program: Program
    embeddings: list[Embedding]
    rng: np.random.Generator

    def eliminate(self) -> EmbeddedProgram:
        return eliminate(self.program, self.embeddings)

    def point(self) -> np.ndarray:
        """Any point: nothing holds there on purpose, half of the integers are integral."""
        w = self.rng.normal(size=self.program.num_columns) * 2
        whole = self.program.integer & (self.rng.random(w.size) < 0.5)
        return np.where(whole, np.round(w), w)


@st.composite
def cases(draw, may_link: bool = True, with_indicators: bool = True) -> Case:
    """Two embeddings, of one or two evaluations each; `may_link` lets outputs be used so that their columns must stay."""
    small = networks(max_inputs=3, max_stages=3, max_width=4, max_outputs=2, scales=(1.0,))
    first, second = draw(small), draw(small)
    rng = np.random.default_rng(draw(seeds()))
    num_first, num_second = (draw(st.integers(1, 2)) for _ in range(2))
    chained, quadratic, integer, shared = (may_link and draw(st.booleans()) for _ in range(4))

    outputs_first = NUM_PLAIN + np.arange(num_first * first.num_outputs).reshape(num_first, -1)
    outputs_second = outputs_first.max() + 1 + np.arange(num_second * second.num_outputs).reshape(num_second, -1)
    n = int(outputs_second.max()) + 1
    sources = np.arange(NUM_PLAIN)
    embeddings = [
        Embedding(first, _inputs(rng, first, num_first, sources, n), outputs_first),
        Embedding(second, _inputs(rng, second, num_second, np.append(sources, NUM_PLAIN) if chained else sources, n), outputs_second),
    ]
    if shared:
        outputs_second = outputs_second.copy()
        outputs_second[-1, -1] = outputs_first[-1, -1]
        embeddings[1] = Embedding(second, embeddings[1].inputs, outputs_second)
    return Case(_program(rng, n, quadratic, integer, with_indicators), embeddings, rng)


def _inputs(rng: np.random.Generator, network: Network, k: int, sources: np.ndarray, n: int):
    """Columns, or an affine map of them; the last source is used for sure."""
    columns = rng.choice(sources, size=(k, network.num_inputs))
    columns[0, 0] = sources[-1]
    if rng.random() < 0.5:
        return columns
    matrix = np.zeros((columns.size, n))
    matrix[np.arange(columns.size), columns.reshape(-1)] = rng.normal(size=columns.size)
    matrix[:, sources] += rng.normal(size=(columns.size, sources.size)) * (rng.random((columns.size, sources.size)) < 0.2)
    return AffineInputs(matrix, rng.normal(size=columns.shape))


def _program(rng: np.random.Generator, n: int, quadratic: bool, integer: bool, with_indicators: bool) -> Program:
    lb, ub = np.full(n, -np.inf), np.full(n, np.inf)
    lb[[0, 2]], ub[[1, 2]] = -2.0, 2.0
    lb[3:5], ub[3:5] = 0.0, 1.0
    outputs = np.arange(NUM_PLAIN, n)
    lb[outputs], ub[outputs] = _sides(rng, outputs.size)
    m = int(rng.integers(0, 6))
    row_lb, row_ub = _sides(rng, m)
    root = np.zeros((2, n))
    if quadratic:
        root[:, rng.choice(n, size=2, replace=False)] = rng.normal(size=(2, 2))
    is_integer = np.isin(np.arange(n), [2, 3, 4]) | (integer & (np.arange(n) == rng.integers(NUM_PLAIN, n)))
    return Program(
        cost=_sparse_row(rng, n),
        quadratic=root.T @ root if quadratic else None,
        offset=rng.normal(),
        rows=np.array([_sparse_row(rng, n) for _ in range(m)]) if m else None,
        row_lb=row_lb,
        row_ub=row_ub,
        lb=lb,
        ub=ub,
        integer=is_integer,
        indicators=[_indicator(rng, n) for _ in range(rng.integers(0, 4))] if with_indicators else [],
    )


def _indicator(rng: np.random.Generator, n: int) -> Indicator:
    lb, ub = _sides(rng, 1)
    return Indicator(int(rng.integers(3, 5)), int(rng.integers(0, 2)), _sparse_row(rng, n), lb[0], ub[0])


def _sparse_row(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=n) * (rng.random(n) < rng.choice([0.2, 0.6]))


def _sides(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Limits of every kind: none, one side, a range, an equality."""
    lb, width = rng.normal(size=size), rng.uniform(0.1, 2.0, size=size)
    kind = rng.integers(0, 5, size=size)
    ub = np.where(kind == 4, lb, lb + width)
    return np.where((kind == 0) | (kind == 1), -np.inf, lb), np.where((kind == 0) | (kind == 2), np.inf, ub)
