"""An affine map of the input and of earlier units, the building block of stages and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.errors import InputError, NetworkError
from dcembed.reading import as_numbers, as_whole, check_places, show

# `Array` and `Matrix` live in `dcembed.arrays`; they can still be had here.
__all__ = ["Affine", "Array", "Matrix", "apply_affine", "check_affine", "compressed"]

# A block is stored sparse below this share of nonzeros: a dense product is faster above it.
SPARSE_DENSITY = 0.2
# A dense matrix of at least so many entries becomes sparse below this share: pruned weights come as dense ones.
LARGE, PRUNED_DENSITY = 10_000, 0.1
# Rows that are looked at before all entries are counted.
SAMPLE_ROWS = 10


@dataclass(frozen=True, eq=False)
class Affine:
    """An affine map of the input and of earlier units: sum over sources of weight @ source + bias.

    Parameters
    ----------
    weights
        Source number -> matrix of shape (rows, size of that source).
    bias
        Shape (rows,).
    """

    weights: Mapping[int, Matrix]
    bias: Array

    def __post_init__(self) -> None:
        if not isinstance(self.weights, Mapping):
            raise InputError(
                f"Affine: weights is not accepted: a mapping of sources to matrices is expected, received {show(self.weights)}."
            )
        named = self.weights.items()
        weights = {as_whole(source, "Affine: a source"): _as_block(block, f"Affine: weights[{source}]") for source, block in named}
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "bias", as_numbers(self.bias, "Affine: bias").reshape(-1))

    @property
    def num_rows(self) -> int:
        """Number of entries of the map."""
        return self.bias.size


def apply_affine(affine: Affine, sources: Sequence[Array]) -> Array:
    """Values of `affine` given each source as (k, size)."""
    value: Array | None = None
    for source, block in affine.weights.items():
        part = sources[source] @ block.T
        value = part if value is None else np.add(value, part, out=value)
    if value is None:
        return np.tile(affine.bias, (sources[0].shape[0], 1))
    return np.add(value, affine.bias, out=value)


def _as_block(block: Matrix, where: str) -> Matrix:
    """Float64, read-only in spirit, sparse where sparse."""
    if sp.issparse(block):
        check_places(block, where)
        block = sp.csr_array(block, dtype=np.float64)
        size = max(1, block.shape[0] * block.shape[1])
        return block if block.nnz < SPARSE_DENSITY * size else block.toarray()
    small = compressed(block)
    return np.atleast_2d(as_numbers(block, where)) if small is None else small


def compressed(block: Matrix) -> sp.csr_array | None:
    """A large dense matrix of few nonzeros as a sparse one, without a copy of it; None for every other.

    Examples
    --------
    >>> compressed(np.eye(200)).nnz
    200
    >>> compressed(np.ones((200, 200))), compressed(np.eye(3))
    (None, None)
    """
    if not isinstance(block, np.ndarray) or block.ndim != 2 or block.size < LARGE or block.dtype.kind not in "fiu":
        return None
    some = block[:: max(len(block) // SAMPLE_ROWS, 1)]
    if np.count_nonzero(some) > 0.5 * some.size or np.count_nonzero(block) >= PRUNED_DENSITY * block.size:
        return None
    turned = block.flags.f_contiguous and not block.flags.c_contiguous
    return sp.csr_array(sp.csr_array(block.T).T if turned else block, dtype=np.float64)


def check_affine(affine: Affine, name: str, sizes: Sequence[int]) -> None:
    """Raise NetworkError unless the weights are finite and fit the sizes of the sources before."""
    if not np.isfinite(affine.bias).all():
        raise NetworkError(f"The bias of {name} has NaN or infinite entries. Retrain or repair the network before embedding it.")
    for source, block in affine.weights.items():
        origin = "the input" if source == 0 else f"stage {source}"
        if not 0 <= source < len(sizes):
            raise NetworkError(f"The weights of {name} refer to source {source}, but only sources 0 to {len(sizes) - 1} come before it.")
        if block.shape != (affine.num_rows, sizes[source]):
            raise NetworkError(
                f"The weights of {name} on {origin} have shape {block.shape}, "
                f"but {name} has {affine.num_rows} units and {origin} has size {sizes[source]}: "
                f"expected ({affine.num_rows}, {sizes[source]})."
            )
        values = block.data if sp.issparse(block) else block
        if not np.isfinite(values).all():
            raise NetworkError(
                f"The weights of {name} on {origin} have NaN or infinite entries. Retrain or repair the network before embedding it."
            )
