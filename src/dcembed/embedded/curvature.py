"""Second derivatives of the network parts of a problem: of one weighted sum of all measurements, in the columns of the host."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.network.curvature import hessians

# Networks with more inputs than this are not worth their Hessians, and problems with more entries in them neither.
MAX_INPUTS, MAX_ENTRIES = 64, 2_000_000


def has_curvature(embedded: EmbeddedProgram) -> bool:
    """Whether some network is curved, and none that is has so many inputs that its Hessians cost more than they bring."""
    curved = [measured for measured in embedded.networks if not measured.network.is_piecewise_linear]
    entries = sum(measured.num_blocks * measured.network.num_inputs**2 for measured in curved)
    return bool(curved) and entries <= MAX_ENTRIES and all(measured.network.num_inputs <= MAX_INPUTS for measured in curved)


def curvature(embedded: EmbeddedProgram, w: Array, weights: Array, shape: Callable[[Array], Array] = lambda each: each) -> sp.csr_array:
    """The Hessian of weights' (network parts) at w, shape (n, n).

    Parameters
    ----------
    weights
        Of the measurements, shape (s + 1,).
    shape
        What is made of the Hessians (k, n_in, n_in) of the evaluations before they are added up.
    """
    total = sp.csr_array((w.size, w.size))
    for measured in embedded.networks:
        if not measured.network.is_piecewise_linear:
            total = total + _pulled_back(measured, shape(hessians(measured.network, measured.points(w), _on_outputs(measured, weights))))
    return sp.csr_array(total)


def curved_places(embedded: EmbeddedProgram) -> sp.csr_array:
    """Where the Hessian may not be zero, shape (n, n), by entries that are not."""
    total = sp.csr_array((embedded.host.num_columns,) * 2)
    for measured in embedded.networks:
        if not measured.network.is_piecewise_linear:
            n = measured.network.num_inputs
            used = sp.csr_array(abs(measured.block_maps()))
            blocks = sp.kron(sp.eye_array(measured.num_blocks), np.ones((n, n)), format="csr")
            total = total + used.T @ blocks @ used
    return sp.csr_array(total)


def _on_outputs(measured: MeasuredNetwork, weights: Array) -> Array:
    """The weights of the predictions of every block, shape (k, n_out)."""
    usage = measured.usage
    on_outputs: Array = (usage.T @ weights[: usage.shape[0]]).reshape(measured.num_blocks, measured.network.num_outputs)
    return on_outputs


def _pulled_back(measured: MeasuredNetwork, blocks: Array) -> sp.csr_array:
    """The sum over the blocks of M' H M, where M are their maps."""
    k, n, _ = blocks.shape
    row = np.repeat(np.arange(k * n), n)
    column = (np.arange(k)[:, None, None] * n + np.broadcast_to(np.arange(n), (n, n))).reshape(-1)
    diagonal = sp.csr_array((blocks.reshape(-1), (row, column)), shape=(k * n, k * n))
    maps = measured.block_maps()
    return sp.csr_array(maps.T @ diagonal @ maps)


def convexified(blocks: Array) -> Array:
    """The nearest matrices without negative eigenvalues: what curves downwards is taken to be straight."""
    values, vectors = np.linalg.eigh(blocks)
    nearest: Array = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return nearest
