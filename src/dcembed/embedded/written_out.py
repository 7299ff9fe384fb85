"""The same problem with chosen units written out: exact by one binary each, and inputs of what is left of their networks.

    a = z - s,    0 <= z <= U d,    0 <= s <= -L (1 - d),    d binary

The columns z, s and d of all chosen units stand behind those of the user. Every evaluation that the problem uses becomes a network of
its own, over its inputs and its written-out units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.embedded.open_block import OpenBlock
from dcembed.program.derive import add_columns, add_rows, widened
from dcembed.program.program import Program


@dataclass(frozen=True, eq=False)
class WrittenOut:
    """A problem with some of its units written out.

    Parameters
    ----------
    blocks, chosen
        The blocks of the problem on a box, and a mask over the open units of each.
    embedded
        The problem over the kept columns and z, s and d behind them. It is the same problem on that box.
    """

    blocks: Sequence[OpenBlock]
    chosen: Sequence[Array]
    embedded: EmbeddedProgram

    @property
    def num_units(self) -> int:
        """How many units are written out."""
        return _count(self.chosen)

    def lift(self, w: Array) -> Array:
        """The kept columns with the written-out units behind them."""
        before = _join([block.preactivations(w)[chosen] for block, chosen in zip(self.blocks, self.chosen, strict=True)])
        return np.concatenate([w, np.maximum(before, 0.0), np.maximum(-before, 0.0), before > 0])


def write_out(embedded: EmbeddedProgram, blocks: Sequence[OpenBlock], chosen: Sequence[Array]) -> WrittenOut:
    """Write out the chosen units of each block; none of them may depend on an open unit that is not chosen."""
    size = _count(chosen)
    n = embedded.program.num_columns
    lb = _join([block.lb[mask] for block, mask in zip(blocks, chosen, strict=True)])
    ub = _join([block.ub[mask] for block, mask in zip(blocks, chosen, strict=True)])
    binary = np.concatenate([np.zeros(2 * size, dtype=bool), np.ones(size, dtype=bool)])
    wide = add_columns(embedded.program, np.zeros(3 * size), np.concatenate([ub, -lb, np.ones(size)]), integer=binary)
    # z_j of which block each place is.
    last = np.cumsum([int(mask.sum()) for mask in chosen], dtype=np.int64)
    places = [n + np.arange(end - int(mask.sum()), end) for end, mask in zip(last, chosen, strict=True)]
    definitions = [_define(embedded, block, mask, z, n + 3 * size, size) for block, mask, z in zip(blocks, chosen, places, strict=True)]
    program = _with_rows(wide, definitions, lb, ub, n, size)
    return WrittenOut(blocks, chosen, eliminate(program, _embeddings(embedded, blocks, chosen, places, program.num_columns)))


def _define(
    embedded: EmbeddedProgram, block: OpenBlock, chosen: Array, z: Array, num_columns: int, size: int
) -> tuple[sp.csr_array, Array]:
    """Rows z - s - alpha x - links z = gamma of one block."""
    rows, offset = _inputs(embedded, block)
    on_inputs = sp.csr_array(-block.alpha[chosen] @ rows)
    own = np.eye(z.size) - block.links[np.ix_(chosen, chosen)]
    place = sp.csr_array((np.ones(z.size), (np.arange(z.size), z)), shape=(z.size, num_columns))
    cut = sp.csr_array((np.ones(z.size), (np.arange(z.size), z + size)), shape=(z.size, num_columns))
    return sp.csr_array(widened(on_inputs, z.size, num_columns) + sp.csr_array(own) @ place - cut), block.gamma[chosen] + block.alpha[
        chosen
    ] @ offset


def _with_rows(program: Program, definitions: list[tuple[sp.csr_array, Array]], lb: Array, ub: Array, n: int, size: int) -> Program:
    """The rows that tie z, s and d to one another and to the inputs."""
    constant = _join([right for _, right in definitions])
    tied = add_rows(program, sp.vstack([matrix for matrix, _ in definitions], format="csr"), constant, constant)
    unit = sp.eye_array(size, format="csr")
    on = sp.hstack([sp.csr_array((size, n)), unit, sp.csr_array((size, size)), -sp.diags_array(ub)], format="csr")
    off = sp.hstack([sp.csr_array((size, n + size)), unit, sp.diags_array(-lb)], format="csr")
    return add_rows(
        tied, sp.csr_array(sp.vstack([on, off], format="csr")), np.full(2 * size, -np.inf), np.concatenate([np.zeros(size), -lb])
    )


def _embeddings(
    embedded: EmbeddedProgram, blocks: Sequence[OpenBlock], chosen: Sequence[Array], places: list[Array], num_columns: int
) -> list[Embedding]:
    """One for each block, and the evaluations that nothing uses as they are."""
    embeddings = []
    for block, mask, z in zip(blocks, chosen, places, strict=True):
        rows, offset = _inputs(embedded, block)
        units = sp.csr_array((np.ones(z.size), (np.arange(z.size), z)), shape=(z.size, num_columns))
        inputs = AffineInputs(
            sp.vstack([widened(rows, rows.shape[0], num_columns), units], format="csr"), np.concatenate([offset, np.zeros(z.size)])
        )
        outputs = embedded.embeddings[block.measured.number].outputs[block.measured.evaluations[block.block]]
        embeddings.append(Embedding(block.network_beside(mask), inputs, outputs))
    return [*embeddings, *_unused(embedded, num_columns)]


def _unused(embedded: EmbeddedProgram, num_columns: int) -> list[Embedding]:
    """The evaluations that nothing uses: their outputs are no columns of the host either way."""
    embeddings = []
    used = {measured.number: measured.evaluations for measured in embedded.networks}
    for number, embedding in enumerate(embedded.embeddings):
        rest = np.setdiff1d(np.arange(embedding.num_evaluations), used.get(number, []))
        if rest.size:
            inputs, size = embedding.affine_inputs(embedded.program.num_columns), embedding.network.num_inputs
            rows = sp.csr_array(inputs.matrix[(rest[:, None] * size + np.arange(size)).reshape(-1)])
            affine = AffineInputs(widened(rows, rows.shape[0], num_columns), inputs.offset[rest])
            embeddings.append(Embedding(embedding.network, affine, embedding.outputs[rest], embedding.support))
    return embeddings


def _inputs(embedded: EmbeddedProgram, block: OpenBlock) -> tuple[sp.csr_array, Array]:
    """The inputs of a block as an affine map of the user's columns."""
    embedding = embedded.embeddings[block.measured.number]
    inputs = embedding.affine_inputs(embedded.program.num_columns)
    evaluation, size = block.measured.evaluations[block.block], embedding.network.num_inputs
    return sp.csr_array(inputs.matrix[evaluation * size + np.arange(size)]), inputs.offset[evaluation]


def _count(chosen: Sequence[Array]) -> int:
    return sum(int(mask.sum()) for mask in chosen)


def _join(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.zeros(0), *arrays])
