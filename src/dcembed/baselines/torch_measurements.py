"""Objective and neural rows of an embedded problem in torch, for many points at a time, in any precision, with gradients.

A column t that is free, has a cost and is only bounded on the side it is pushed to, by neural rows, as that of a largest output or of a
least margin is, is no variable here: it is the largest, or the smallest, of what its rows allow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.baselines.torch_activations import torch_activation
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measured_network import MeasuredNetwork
from dcembed.embedded.measurements import num_measurements
from dcembed.network.affine import Affine

# Sparse matrices of at most so many entries are faster as dense ones.
SMALL_MATRIX = 100_000


def find_epigraph_columns(embedded: EmbeddedProgram) -> Array:
    """Columns of the host that follow from the others: free, with a cost, and in neural rows only, which bound them where it pushes."""
    host, linear = embedded.host, embedded.restrictions.linear
    largest = linear.max(axis=0).toarray().reshape(-1) if linear.shape[0] else np.zeros(host.num_columns)
    smallest = linear.min(axis=0).toarray().reshape(-1) if linear.shape[0] else np.zeros(host.num_columns)
    held = ((host.cost > 0) & (largest <= 0) & (smallest < 0)) | ((host.cost < 0) & (smallest >= 0) & (largest > 0))
    follows = held & np.isinf(host.lb) & np.isinf(host.ub) & ~host.curved_columns
    follows[embedded.input_columns] = follows[embedded.linked] = False
    follows[host.rows.indices] = False
    # Rows with two of them do not say which one gives way.
    shared = np.flatnonzero((linear != 0).astype(np.float64) @ follows.astype(np.float64) > 1)
    follows[linear[shared].indices] = False
    return np.flatnonzero(follows)


class TorchMeasurements:
    """F and the excess of the neural rows at points of the host, (k, n)."""

    def __init__(self, embedded: EmbeddedProgram, dtype: Any) -> None:
        import torch

        host, restrictions = embedded.host, embedded.restrictions
        self._dtype, self._size = dtype, num_measurements(embedded)
        self._networks = [_TorchNetwork(measured, self._size, dtype) for measured in embedded.networks]
        self._cost, self._offset = torch.tensor(host.cost, dtype=dtype), host.offset
        signed = (1.0, host.quadratic), (-1.0, embedded.concave)
        self._squares = [(sign, _linear(matrix, dtype)) for sign, matrix in signed if matrix is not None]
        self._linear, self._rhs = _linear(restrictions.linear, dtype), torch.tensor(restrictions.rhs, dtype=dtype)
        self._epigraph = [self._epigraph_rows(embedded, column) for column in find_epigraph_columns(embedded)]

    def __call__(self, points: Any) -> tuple[Any, Any, Any]:
        """The points with what follows from them in place, F (k,), and the excess of every neural row (k, s)."""
        neural = sum((network(points) for network in self._networks), points.new_zeros((points.shape[0], self._size)))
        for column, rows, factor in self._epigraph:
            points = points.clone()
            points[:, column] = 0.0
            level = (self._linear(points) + neural[:, 1:] - self._rhs)[:, rows] / factor
            points[:, column] = level.amax(dim=1) if self._cost[column] > 0 else level.amin(dim=1)
        objective = points @ self._cost + self._offset + neural[:, 0]
        for sign, matrix in self._squares:
            objective = objective + 0.5 * sign * (points * matrix(points)).sum(dim=1)
        excess = (self._linear(points) + neural[:, 1:] - self._rhs).clamp_min(0.0)
        return points, objective, excess

    def _epigraph_rows(self, embedded: EmbeddedProgram, column: int) -> tuple[int, Any, Any]:
        import torch

        factor = -embedded.restrictions.linear[:, [column]].toarray().reshape(-1)
        rows = np.flatnonzero(factor)
        return int(column), torch.tensor(rows), torch.tensor(factor[rows], dtype=self._dtype)


class _TorchNetwork:
    """The share of one network in all measurements."""

    def __init__(self, measured: MeasuredNetwork, size: int, dtype: Any) -> None:
        import torch

        network, terms = measured.network, measured.terms
        self._size, self._num_inputs = size, network.num_inputs
        self._stages = [
            (_TorchAffine(stage, dtype), torch_activation(activation))
            for stage, activation in zip(network.stages, network.activations, strict=True)
        ]
        self._output = _TorchAffine(network.output, dtype)
        self._maps, self._map_of = _linear(measured.maps, dtype), torch.tensor(measured.map_of)
        self._offset = torch.tensor(measured.offset, dtype=dtype)
        self._directions = torch.tensor(terms.scale[:, None] * measured.directions[terms.direction], dtype=dtype)
        self._block, self._measurement = torch.tensor(terms.block), torch.tensor(terms.measurement)

    def __call__(self, points: Any) -> Any:
        """Values (k, s + 1) at points (k, n)."""
        number = points.shape[0]
        inputs = self._maps(points).reshape(number, -1, self._num_inputs)[:, self._map_of] + self._offset
        sources = [inputs.reshape(-1, self._num_inputs)]
        for stage, activation in self._stages:
            sources.append(activation(stage(sources)))
        outputs = self._output(sources).reshape(number, self._offset.shape[0], -1)
        shares = (outputs[:, self._block] * self._directions).sum(dim=2)
        return points.new_zeros((number, self._size)).index_add(1, self._measurement, shares)


class _TorchAffine:
    """An affine map of earlier sources."""

    def __init__(self, affine: Affine, dtype: Any) -> None:
        import torch

        self._weights = {source: _linear(block, dtype) for source, block in affine.weights.items()}
        self._bias = torch.tensor(affine.bias, dtype=dtype)

    def __call__(self, sources: list[Any]) -> Any:
        return sum((weight(sources[source]) for source, weight in self._weights.items()), self._bias.expand(sources[0].shape[0], -1))


def _linear(matrix: Any, dtype: Any) -> Callable[[Any], Any]:
    """Points (k, n) times the transpose of a matrix (m, n): a choice of columns where it is one, sparse where it is large and sparse."""
    import torch

    if sp.issparse(matrix) and (np.diff(matrix.indptr) == 1).all():
        columns, factor = torch.tensor(matrix.indices), torch.tensor(matrix.data, dtype=dtype)
        return lambda points: points[:, columns] * factor
    if not sp.issparse(matrix) or np.prod(matrix.shape) <= SMALL_MATRIX:
        dense = torch.tensor(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=dtype).T
        return lambda points: points @ dense
    entries = matrix.tocoo()
    places = np.stack([entries.row, entries.col]).astype(np.int64)
    sparse = torch.sparse_coo_tensor(places, entries.data, matrix.shape, dtype=dtype, check_invariants=False).coalesce()
    return lambda points: torch.sparse.mm(sparse, points.T).T
