"""Transformers that are affine maps: decompositions, projections and averages of features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.operations import Unsupported
from dcembed.network.builder import NetworkBuilder, Tensor


def _center(builder: NetworkBuilder, value: Tensor, mean: Array | None) -> Tensor:
    return value if mean is None else builder.shift(value, -np.asarray(mean))


def principal_components(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """components_ @ (x - mean_), divided by standard deviations where it is whitened."""
    matrix = np.asarray(model.components_, dtype=np.float64)
    if model.whiten:
        scale = np.sqrt(model.explained_variance_)
        matrix = matrix / np.maximum(scale, np.finfo(scale.dtype).eps)[:, None]
    return builder.linear(_center(builder, value, model.mean_), matrix)


def components(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """components_ @ (x - mean_); without a mean where the model has none."""
    matrix = sp.csr_array(model.components_) if sp.issparse(model.components_) else model.components_
    return builder.linear(_center(builder, value, getattr(model, "mean_", None)), matrix)


def factor_analysis(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """The expected factors: (I + W psi^-1 W')^-1 W psi^-1 (x - mean_)."""
    weighted = model.components_ / model.noise_variance_
    inverse = np.linalg.inv(np.eye(len(model.components_)) + weighted @ model.components_.T)
    return builder.linear(_center(builder, value, model.mean_), inverse.T @ weighted)


def sparse_components(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """The ridge regression of x - mean_ on the components, which is linear in x."""
    gram = model.components_ @ model.components_.T + model.ridge_alpha * np.eye(len(model.components_))
    return builder.linear(_center(builder, value, model.mean_), np.linalg.solve(gram, model.components_))


def discriminants(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """(x - xbar_) @ scalings_ of a linear discriminant analysis."""
    if model.solver == "lsqr":
        raise Unsupported("solver='lsqr' does not transform")
    count = model._max_components
    if model.solver == "svd":
        return builder.linear(_center(builder, value, model.xbar_), model.scalings_[:, :count].T)
    return builder.linear(value, model.scalings_[:, :count].T)


def agglomeration(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """The mean of every cluster of features."""
    if model.pooling_func is not np.mean:
        raise Unsupported("pools features by another function than numpy.mean")
    labels = np.asarray(model.labels_)
    weights = 1.0 / np.bincount(labels)
    matrix = sp.csr_array((weights[labels], (labels, np.arange(labels.size))), shape=(weights.size, labels.size))
    return builder.linear(value, matrix)


TRANSFORM = {
    "PCA": principal_components,
    "IncrementalPCA": principal_components,
    **dict.fromkeys(
        ("TruncatedSVD", "FastICA", "GaussianRandomProjection", "SparseRandomProjection", "NeighborhoodComponentsAnalysis"), components
    ),
    "FactorAnalysis": factor_analysis,
    "SparsePCA": sparse_components,
    "MiniBatchSparsePCA": sparse_components,
    "LinearDiscriminantAnalysis": discriminants,
    "FeatureAgglomeration": agglomeration,
}
