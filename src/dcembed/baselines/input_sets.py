"""What the host says about the inputs of one evaluation alone: the columns they depend on, their bounds, and the rows over them.

    x = matrix @ v + offset,    lb <= v <= ub,    row_lb <= rows @ v <= row_ub

Evaluations whose sets are the same up to the numbers of the columns are treated together: thirty blocks of equal bounds, or
thousands of scenarios of one design, which differ in the offset only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.elimination import equal_maps
from dcembed.embedded.embedding import Embedding
from dcembed.network.network import Network
from dcembed.program.program import Program


@dataclass(frozen=True, eq=False)
class InputSet:
    """A polytope of inputs without its offset; `matrix` is (n_in, columns), `rows` (r, columns), both dense."""

    matrix: Array
    rows: Array
    row_lb: Array
    row_ub: Array
    lb: Array
    ub: Array

    def key(self) -> str:
        """Equal for equal sets."""
        return digest([self.matrix, self.rows, self.row_lb, self.row_ub, self.lb, self.ub])


def find_input_sets(program: Program, embedding: Embedding, lb: Array, ub: Array) -> tuple[list[InputSet], Array]:
    """The different input sets of an embedding when lb <= w <= ub, and which one each evaluation has (k,)."""
    inputs = embedding.affine_inputs(program.num_columns)
    num_inputs = embedding.network.num_inputs
    map_of, first = equal_maps(inputs.matrix, np.arange(inputs.offset.shape[0]), num_inputs)
    by_column = sp.csc_array(program.rows)
    sets: dict[str, InputSet] = {}
    set_of_map = np.empty(first.size, dtype=np.int64)
    for number, block in enumerate(first):
        found = _input_set(program, by_column, inputs.matrix[block * num_inputs : (block + 1) * num_inputs], lb, ub)
        key = found.key()
        set_of_map[number] = list(sets).index(key) if key in sets else len(sets)
        sets.setdefault(key, found)
    return list(sets.values()), set_of_map[map_of]


def _input_set(program: Program, by_column: sp.csc_array, matrix: sp.csr_array, lb: Array, ub: Array) -> InputSet:
    columns = np.unique(matrix.indices)
    touching = np.unique(by_column[:, columns].indices)
    # Rows with other columns in them tell about the inputs only together with the rest of the host; bounds have that already.
    inside = touching[np.diff(program.rows[touching].indptr) == np.diff(program.rows[touching][:, columns].indptr)]
    # A row over one column is a bound, and bounds are tightened already.
    inside = inside[np.diff(program.rows[inside].indptr) > 1]
    return InputSet(
        matrix=matrix[:, columns].toarray(),
        rows=program.rows[inside][:, columns].toarray(),
        row_lb=program.row_lb[inside],
        row_ub=program.row_ub[inside],
        lb=lb[columns],
        ub=ub[columns],
    )


def network_key(network: Network) -> str:
    """Equal for networks of equal weights."""
    arrays = []
    for affine in (*network.stages, network.output):
        arrays.append(affine.bias)
        for source, block in sorted(affine.weights.items()):
            arrays += [np.array([source]), block if isinstance(block, np.ndarray) else block.toarray()]
    return digest(arrays)


def digest(arrays: Sequence[Array]) -> str:
    """A hash of shapes and values."""
    result = hashlib.sha256()
    for array in arrays:
        result.update(repr((array.shape, array.dtype.str)).encode())
        result.update(np.ascontiguousarray(array).tobytes())
    return result.hexdigest()
