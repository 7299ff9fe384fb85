"""Second derivatives of the network parts of a problem: of one weighted sum of all measurements, in the columns of the host."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.network.curvature import hessians
from dcembed.sparse import transposed_times

# Networks with more inputs than this are not worth their Hessians, and problems whose Hessian has more terms neither.
MAX_INPUTS, MAX_TERMS = 64, 2_000_000


def has_curvature(embedded: EmbeddedProgram) -> bool:
    """Whether some network is curved, and none that is has so many inputs that its Hessians cost more than they bring."""
    curved = embedded.curved
    return bool(curved) and all(m.network.num_inputs <= MAX_INPUTS for m in curved) and embedded.num_curvature_terms <= MAX_TERMS


def curvature(embedded: EmbeddedProgram, w: Array, weights: Array, shape: Callable[[Array], Array] = lambda each: each) -> sp.csr_array:
    """The Hessian of weights' (network parts) at w, shape (n, n), with the entries of `embedded.curvature_pattern`.

    Parameters
    ----------
    weights
        Of the measurements, shape (s + 1,).
    shape
        What is made of the Hessians (k, n_in, n_in) of the evaluations before they are added up.
    """
    blocks = [_hessians(measured, w, _on_outputs(measured, weights), shape) for measured in embedded.curved]
    return embedded.curvature_pattern.gather(blocks)


def _hessians(measured: MeasuredNetwork, w: Array, weights: Array, shape: Callable[[Array], Array]) -> Array:
    """Of all blocks with these weights of their predictions (k, n_out); where nothing has a weight, as before the first multipliers, zero."""
    if not weights.any():
        return np.zeros((measured.num_blocks, measured.network.num_inputs, measured.network.num_inputs))
    return shape(hessians(measured.network, measured.points(w), weights))


def _on_outputs(measured: MeasuredNetwork, weights: Array) -> Array:
    """The weights of the predictions of every block, shape (k, n_out)."""
    usage = measured.usage
    on_outputs: Array = transposed_times(usage, weights[: usage.shape[0]]).reshape(measured.num_blocks, measured.network.num_outputs)
    return on_outputs


def convexified(blocks: Array) -> Array:
    """The nearest matrices without negative eigenvalues: what curves downwards is taken to be straight, and so is what overflows."""
    blocks = np.where(np.isfinite(blocks).all(axis=(1, 2), keepdims=True), blocks, 0.0)
    values, vectors = np.linalg.eigh(blocks)
    nearest: Array = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return nearest
