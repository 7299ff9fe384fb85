"""Random problems with many evaluations that share their decisions, beside others that do not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from dcembed import AffineInputs, Embedding, Network, Program
from dcembed.embedded import collapsed as collapsed_module
from dcembed.embedded import ramps as ramps_module
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.network import Affine
from strategies import seeds

NUM_DECISIONS = 4


@contextmanager
def collapsing_from(num_terms: int) -> Iterator[None]:
    """Terms are collapsed from so many on, in cells of a few, so that small problems have what large ones have."""
    before = collapsed_module.MIN_TERMS, ramps_module.CELL_RAMPS
    collapsed_module.MIN_TERMS, ramps_module.CELL_RAMPS = num_terms, 4
    try:
        yield
    finally:
        collapsed_module.MIN_TERMS, ramps_module.CELL_RAMPS = before


@dataclass(frozen=True, eq=False)
class Scenarios:
    """A program with its embeddings; on a grid all numbers are whole, and points lie on kinks of many units."""

    program: Program
    embeddings: list[Embedding]
    rng: np.random.Generator
    is_grid: bool

    def point(self) -> np.ndarray:
        """A point of the decisions."""
        w = np.zeros(self.program.num_columns)
        w[:NUM_DECISIONS] = numbers(self.rng, NUM_DECISIONS, self.is_grid)
        return w

    def both(self) -> tuple[EmbeddedProgram, EmbeddedProgram]:
        """The problem with its scenarios collapsed, and the same with every term evaluated."""
        with collapsing_from(10):
            together = eliminate(self.program, self.embeddings)
            assert any(measured.collapsed is not None for measured in together.networks)
        plain = eliminate(self.program, self.embeddings)
        assert all(measured.plain is measured for measured in plain.networks)
        return together, plain


def numbers(rng: np.random.Generator, size, is_grid: bool) -> np.ndarray:
    """Normal numbers, or small whole ones."""
    return rng.integers(-3, 4, size).astype(np.float64) if is_grid else rng.normal(size=size)


@st.composite
def scenario_problems(draw) -> Scenarios:
    """One network on one to three designs in many scenarios each and on a few inputs of its own, and a deeper one."""
    rng, is_grid = np.random.default_rng(draw(seeds())), draw(st.booleans())
    num_inputs, width, num_outputs = draw(st.integers(1, 4)), draw(st.integers(1, 5)), draw(st.integers(1, 2))
    sizes = draw(st.lists(st.integers(12, 60), min_size=1, max_size=3))
    num_alone = draw(st.integers(0, 3))
    flat = _network(rng, (num_inputs, width, num_outputs), is_grid)
    deep = _network(rng, (num_inputs, 3, 2, num_outputs), is_grid)
    number = np.repeat(np.arange(len(sizes) + num_alone), [*sizes, *[1] * num_alone])
    n = NUM_DECISIONS + num_outputs * (number.size + 20)
    maps = numbers(rng, (len(sizes) + num_alone, num_inputs, NUM_DECISIONS), is_grid)
    offset = numbers(rng, (number.size, num_inputs), is_grid)
    offset[:, rng.random(num_inputs) < 0.3] = 1.0
    order = rng.permutation(number.size)
    outputs = NUM_DECISIONS + np.arange(number.size * num_outputs).reshape(-1, num_outputs)
    embeddings = [Embedding(flat, AffineInputs(_wide(maps[number[order]].reshape(-1, NUM_DECISIONS), n), offset), outputs)]
    embeddings += [Embedding(deep, AffineInputs(_wide(maps[0], n), offset[:20]), n - 20 * num_outputs + outputs[:20] - NUM_DECISIONS)]
    return Scenarios(_program(rng, n, outputs, order < sizes[0]), embeddings, rng, is_grid)


def _program(rng: np.random.Generator, n: int, outputs: np.ndarray, some: np.ndarray) -> Program:
    """An objective and two rows with all predictions in different directions, of either sign, and one with those of some scenarios."""
    rows = np.zeros((4, n))
    for row in rows[:3]:
        # Scenarios have different weights in the same direction, up to the sign.
        row[outputs] = rng.normal(size=outputs.shape[1]) * rng.uniform(0.1, 1.0, size=(outputs.shape[0], 1))
        row[outputs] *= rng.choice([-1.0, 1.0], size=(outputs.shape[0], 1))
    rows[3, outputs[some]] = 1.0
    rows[:, -1] = rng.normal(size=4)
    box = np.concatenate([np.full(NUM_DECISIONS, 3.0), np.full(n - NUM_DECISIONS, np.inf)])
    return Program(cost=rows[0] + np.eye(1, n)[0], rows=rows[1:], row_ub=1.0, lb=-box, ub=box)


def _network(rng: np.random.Generator, sizes: tuple[int, ...], is_grid: bool) -> Network:
    """Layers one after the other, and the inputs in the output besides."""
    layers = [
        Affine({index: numbers(rng, (rows, columns), is_grid)}, numbers(rng, rows, is_grid))
        for index, (columns, rows) in enumerate(itertools.pairwise(sizes))
    ]
    output = Affine({**layers[-1].weights, 0: numbers(rng, (sizes[-1], sizes[0]), is_grid)}, layers[-1].bias)
    return Network(sizes[0], tuple(layers[:-1]), output)


def _wide(matrix: np.ndarray, n: int) -> sp.csr_array:
    return sp.csr_array(sp.hstack([sp.csr_array(matrix), sp.csr_array((matrix.shape[0], n - NUM_DECISIONS))]))
