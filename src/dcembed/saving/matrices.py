"""Sparse matrices of the same width, one below the other, as three arrays: row, column and value of each entry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.saving.packed import Packed
from dcembed.sparse import compressed


def pack_matrices(matrices: Sequence[sp.csr_array], name: str) -> dict[str, Array]:
    """The entries in their order; heights and width are for the owner to keep."""
    heights = [matrix.shape[0] for matrix in matrices]
    above = np.cumsum([0, *heights[:-1]]) if heights else np.zeros(0, dtype=np.int64)
    ordered = [_ordered(matrix) for matrix in matrices]
    rows = [np.repeat(np.arange(matrix.shape[0]) + start, np.diff(matrix.indptr)) for matrix, start in zip(ordered, above, strict=True)]
    none = np.zeros(0, dtype=np.int64)
    return {
        f"{name}.rows": np.concatenate([none, *rows]).astype(np.int64),
        f"{name}.columns": np.concatenate([none, *(matrix.indices for matrix in ordered)]).astype(np.int64),
        f"{name}.values": np.concatenate([np.zeros(0), *(matrix.data for matrix in ordered)]),
    }


def unpack_matrices(packed: Packed, name: str, heights: Sequence[int], width: int) -> list[sp.csr_array]:
    """The matrices, of these heights; ValueError where an entry lies outside."""
    rows, columns = packed.whole(f"{name}.rows", sum(heights)), packed.whole(f"{name}.columns", width)
    values = packed.numbers(f"{name}.values")
    if not rows.size == columns.size == values.size:
        raise ValueError(f"{name} has {rows.size} rows, {columns.size} columns and {values.size} values")
    down, right = np.diff(rows), np.diff(columns)
    if ((down < 0) | ((down == 0) & (right <= 0))).any():
        raise ValueError(f"the entries of {name} are out of order, or some are there twice")
    ends = np.cumsum([0, *heights])
    cuts = np.searchsorted(rows, ends)
    # There may be a hundred thousand of them, one row each, which scipy's own constructor takes its time for.
    return [
        compressed(values[i:j], columns[i:j], np.searchsorted(rows[i:j], above + np.arange(height + 1)), (height, width))
        for i, j, above, height in zip(cuts[:-1], cuts[1:], ends[:-1], heights, strict=True)
    ]


def _ordered(matrix: sp.csr_array) -> sp.csr_array:
    """The same matrix with the entries of each row from left to right: equal matrices are packed alike."""
    return matrix if matrix.has_sorted_indices else matrix.sorted_indices()
