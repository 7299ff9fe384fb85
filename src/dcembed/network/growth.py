"""A few bytes of a file can ask for gigabytes of numbers. What a network is made of stays in proportion to what the file holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Matrix
from dcembed.errors import NetworkError
from dcembed.network.affine import Affine

# Numbers that a value may always be made of, tens of megabytes in a sparse matrix; more only in proportion to those in the file.
ALWAYS_ALLOWED = 1_000_000
MOST_GROWTH = 8


@dataclass(frozen=True)
class Growth:
    """How large the values of a graph may become.

    Parameters
    ----------
    most
        Numbers that one value may be made of; None for any number of them.
    """

    most: int | None = None

    def check(self, count: int, what: str) -> None:
        """Raise NetworkError if something would be made of too many numbers."""
        if self.most is not None and count > self.most:
            raise NetworkError(
                f"{what} would take {count:,} numbers, and at most {self.most:,} are accepted of a file or graph with so few weights. "
                "Is it damaged? If it is not, pass what it was exported from: live modules of PyTorch and live Keras models may be of any size."
            )


UNLIMITED = Growth()


def growth_of(num_numbers: int) -> Growth:
    """What is in proportion to a file that holds so many numbers."""
    return Growth(max(ALWAYS_ALLOWED, MOST_GROWTH * num_numbers))


def stored(affine: Affine) -> int:
    """Numbers that an affine map is made of."""
    return affine.num_rows + sum(map(num_stored, affine.weights.values()))


def num_stored(block: Matrix) -> int:
    """Numbers that a dense or a sparse matrix is made of."""
    return block.size if isinstance(block, np.ndarray) else int(block.nnz)


def product_size(matrix: Matrix, affine: Affine) -> int:
    """Numbers that `matrix` times an affine map is made of, at most."""
    return int(matrix.shape[0]) + sum(_block_size(matrix, block) for block in affine.weights.values())


def _block_size(matrix: Matrix, block: Matrix) -> int:
    dense = int(matrix.shape[0]) * int(block.shape[1])
    if not sp.issparse(matrix) or not sp.issparse(block):
        return dense
    times = np.bincount(sp.csr_array(matrix).indices, minlength=block.shape[0])
    return min(dense, int(times @ np.diff(sp.csr_array(block).indptr)))
