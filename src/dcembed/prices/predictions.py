"""How predictions change with the columns, at a point and a little way from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.embedded.embedding import Embedding
from dcembed.network.affine import apply_affine
from dcembed.network.backpropagation import backpropagate
from dcembed.network.network import Network, chunks, pass_through

# Pieces of a network that are looked for around a point, at most, and slopes that all of them may have together.
NUM_PIECES, MOST_SLOPES = 24, 4_000_000


@dataclass(frozen=True, eq=False)
class Tangents:
    """Tangents of predictions, some of them of the same one.

    Parameters
    ----------
    output
        The column of the prediction that each is a tangent of, shape (t,).
    gradient
        By all columns, shape (t, n).
    error
        How far each is from its prediction at the point itself, shape (t,); zero for the tangents there.
    """

    output: Array
    gradient: sp.csr_array
    error: Array


def linearize_at(embeddings: Sequence[Embedding], w: Array) -> Tangents:
    """One tangent of every prediction, at w."""
    return _joined([_tangents(embedding, w, embedding.points(w)) for embedding in embeddings], w.size)


def linearize_around(embeddings: Sequence[Embedding], w: Array, radius: Array, seed: int = 0) -> Tangents:
    """Tangents at w and at points around it, no further than `radius` (n,) in any column: at a kink the pieces that meet there."""
    rng = np.random.default_rng(seed)
    parts = [part for embedding in embeddings for part in _around(embedding, w, radius, rng)]
    return _joined(parts, w.size)


def has_few_slopes(embeddings: Sequence[Embedding]) -> bool:
    """Whether the tangents around a point have room in memory."""
    slopes = sum(embedding.outputs.size * embedding.network.num_inputs for embedding in embeddings)
    return slopes * NUM_PIECES <= MOST_SLOPES


def _around(embedding: Embedding, w: Array, radius: Array, rng: np.random.Generator) -> Iterator[Tangents]:
    points = embedding.points(w)
    reach = (abs(embedding.affine_inputs(w.size).matrix) @ radius).reshape(points.shape)
    yield _tangents(embedding, w, points)
    for direction in _directions(embedding.network.num_inputs, rng):
        yield _tangents(embedding, w, points + reach * direction)


def _directions(num_inputs: int, rng: np.random.Generator) -> Array:
    """Along each input both ways where these are few, else, and for the rest, to corners of the box."""
    axes = np.concatenate([np.eye(num_inputs), -np.eye(num_inputs)]) if 2 * num_inputs <= NUM_PIECES // 2 else np.zeros((0, num_inputs))
    corners = rng.choice([-1.0, 1.0], size=(NUM_PIECES - 1 - axes.shape[0], num_inputs))
    return np.concatenate([axes, corners])


def _tangents(embedding: Embedding, w: Array, points: Array) -> Tangents:
    """The tangents at these inputs, (k, n_in), of all predictions."""
    network, there = embedding.network, embedding.points(w)
    value, slope = np.empty(embedding.outputs.shape), np.empty((*embedding.outputs.shape, network.num_inputs))
    for chunk in chunks(embedding.num_evaluations, network):
        value[chunk], slope[chunk] = _values_and_slopes(network, points[chunk])
    at_point = value + np.einsum("koi,ki->ko", slope, there - points)
    error = np.abs(at_point - w[embedding.outputs])
    return Tangents(embedding.outputs.reshape(-1), _by_columns(embedding, slope, w.size), error.reshape(-1))


def _values_and_slopes(network: Network, points: Array) -> tuple[Array, Array]:
    """Predictions (k, n_out) and their gradients by the inputs (k, n_out, n_in)."""
    before, units = pass_through(network, points)
    slopes = [activation.slope(stage) for activation, stage in zip(network.activations, before, strict=True)]
    gradients = np.empty((points.shape[0], network.num_outputs, network.num_inputs))
    for number in range(network.num_outputs):
        weights = [_row(network.output.weights.get(source + 1), number, width) for source, width in enumerate(network.widths)]
        direct = _row(network.output.weights.get(0), number, network.num_inputs)
        through = backpropagate(network, slopes, [np.broadcast_to(each, (points.shape[0], each.size)) for each in weights])
        gradients[:, number] = direct + (through if network.stages else 0.0)
    return apply_affine(network.output, [points, *units]), gradients


def _row(block: Matrix | None, number: int, width: int) -> Array:
    if block is None:
        return np.zeros(width)
    row: Array = block[number] if isinstance(block, np.ndarray) else block[[number]].toarray()[0]
    return row


def _by_columns(embedding: Embedding, slope: Array, num_columns: int) -> sp.csr_array:
    """Gradients by the inputs, (k, n_out, n_in), as gradients by the columns, (k * n_out, n)."""
    k, outputs, inputs = slope.shape
    places = np.repeat(np.arange(k * inputs).reshape(k, 1, inputs), outputs, axis=1)
    entries = slope.reshape(-1), places.reshape(-1), np.arange(k * outputs + 1) * inputs
    return sp.csr_array(sp.csr_array(entries, shape=(k * outputs, k * inputs)) @ embedding.affine_inputs(num_columns).matrix)


def _joined(parts: Sequence[Tangents], num_columns: int) -> Tangents:
    return Tangents(
        np.concatenate([np.zeros(0, dtype=np.int64), *(part.output for part in parts)]),
        sp.csr_array(sp.vstack([sp.csr_array((0, num_columns)), *(part.gradient for part in parts)], format="csr")),
        np.concatenate([np.zeros(0), *(part.error for part in parts)]),
    )
