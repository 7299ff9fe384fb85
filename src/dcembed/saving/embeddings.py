"""Embeddings as arrays, and back. A network that several of them evaluate is kept once, and is one object again afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dcembed.arrays import Array
from dcembed.embedded.embedding import AffineInputs, Embedding
from dcembed.importers.weights.arrays_ import check_values, pack_network, unpack_network
from dcembed.network.network import Network
from dcembed.saving.matrices import pack_matrices, unpack_matrices
from dcembed.saving.packed import Packed
from dcembed.saving.regions import pack_regions, unpack_regions


def pack_embeddings(embeddings: Sequence[Embedding], who: str) -> Packed:
    """What each embedding has, one behind the other, and every network once; `who` keeps them, for messages."""
    networks = distinct_networks(embeddings)
    affine = [embedding.inputs for embedding in embeddings if isinstance(embedding.inputs, AffineInputs)]
    columns = [embedding.inputs for embedding in embeddings if not isinstance(embedding.inputs, AffineInputs)]
    place = {id(network): number for number, network in enumerate(networks)}
    arrays: dict[str, Array] = {
        "network": np.array([place[id(embedding.network)] for embedding in embeddings], dtype=np.int64),
        "evaluations": np.array([embedding.num_evaluations for embedding in embeddings], dtype=np.int64),
        "is_affine": np.array([isinstance(embedding.inputs, AffineInputs) for embedding in embeddings], dtype=bool),
        "outputs": _flat([embedding.outputs for embedding in embeddings], np.int64),
        "inputs": _flat(columns, np.int64),
        "offset": _flat([inputs.offset for inputs in affine], np.float64),
        "heights": np.array([inputs.coefficients.shape[0] for inputs in affine], dtype=np.int64),
        **pack_matrices([inputs.coefficients for inputs in affine], "coefficients"),
        **pack_regions(embeddings, who),
    }
    for number, network in enumerate(networks):
        arrays |= {f"network{number}.{key}": array for key, array in pack_network(network, who).items()}
    return Packed(arrays)


def with_checks(packed: Packed, embeddings: Sequence[Embedding]) -> Packed:
    """The same with predictions of each network, by which a damaged file is noticed."""
    checks = {
        f"network{number}.{key}": array
        for number, network in enumerate(distinct_networks(embeddings))
        for key, array in check_values(network).items()
    }
    return Packed({**packed.arrays, **checks}, packed.record)


def unpack_embeddings(packed: Packed, num_columns: int, path: Path) -> list[Embedding]:
    """The embeddings, each network compared with the predictions that the file has; ValueError for anything else than embeddings."""
    number, count = packed.numbers("network", "iu"), packed.numbers("evaluations", "iu")
    is_affine = packed.numbers("is_affine", "b")
    if not number.size == count.size == is_affine.size:
        raise ValueError("its embeddings are not as many everywhere")
    networks = _unpack_networks(packed, path)
    chosen = [networks[i] for i in packed.whole("network", len(networks))]
    outputs = _cut(packed.whole("outputs", num_columns), count, [network.num_outputs for network in chosen])
    widths = [network.num_inputs for network in chosen]
    given = iter(_cut(packed.whole("inputs", num_columns), count[~is_affine], _where(widths, ~is_affine)))
    mapped = iter(_unpack_affine(packed, count[is_affine], _where(widths, is_affine), num_columns))
    regions = unpack_regions(packed, len(chosen), path)
    return [
        Embedding(network, next(mapped) if affine else next(given), columns, region)
        for network, affine, columns, region in zip(chosen, is_affine, outputs, regions, strict=True)
    ]


def distinct_networks(embeddings: Sequence[Embedding]) -> list[Network]:
    """Every network once, in the order of the embeddings."""
    return list({id(embedding.network): embedding.network for embedding in embeddings}.values())


def _unpack_networks(packed: Packed, path: Path) -> list[Network]:
    parts: dict[str, dict[str, Array]] = {}
    for key, array in packed.arrays.items():
        owner, dot, name = key.partition(".")
        if dot and owner.startswith("network"):
            parts.setdefault(owner, {})[name] = array
    return [unpack_network(parts[f"network{number}"], path) for number in range(len(parts))]


def _unpack_affine(packed: Packed, count: Array, widths: list[int], num_columns: int) -> list[AffineInputs]:
    offsets = _cut(packed.numbers("offset"), count, widths)
    heights = packed.numbers("heights", "iu").tolist()
    # The rows of one evaluation stand for all, or there are as many as constants.
    if len(heights) != len(offsets) or any(
        height not in (width, offset.size) for height, width, offset in zip(heights, widths, offsets, strict=True)
    ):
        raise ValueError("the matrices of its inputs are not as high as their constants say")
    matrices = unpack_matrices(packed, "coefficients", heights, num_columns)
    return [AffineInputs(matrix, offset) for matrix, offset in zip(matrices, offsets, strict=True)]


def _cut(entries: Array, count: Array, widths: list[int]) -> list[Array]:
    """One table for each embedding, of `count` rows and its width."""
    if count.size and (count.min() < 1 or count.max() > entries.size):
        raise ValueError("the evaluations of an embedding are as many as none can be")
    sizes = [int(k) * width for k, width in zip(count, widths, strict=True)]
    if sum(sizes) != entries.size:
        raise ValueError(f"its embeddings have {sum(sizes)} inputs or outputs, but {entries.size} are there")
    pieces = np.split(entries, np.cumsum(sizes)[:-1])[: len(sizes)]
    return [piece.reshape(int(k), width) for piece, k, width in zip(pieces, count, widths, strict=True)]


def _where(widths: list[int], mask: Array) -> list[int]:
    return [width for width, is_wanted in zip(widths, mask, strict=True) if is_wanted]


def _flat(tables: Sequence[Array], kind: type[np.generic]) -> Array:
    return np.concatenate([np.zeros(0, dtype=kind), *(table.reshape(-1) for table in tables)])
