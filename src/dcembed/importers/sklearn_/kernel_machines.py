"""Support vector machines, kernel ridge regression and features made by kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcembed.importers.operations import Unsupported
from dcembed.importers.sklearn_.kernels import as_dense, pairwise
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor


def support_vectors(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """dual_coef_ @ k(x, support vectors) + intercept_."""
    # What "scale" and "auto" stand for is known to the fitted model alone.
    parameters = {"gamma": model._gamma, "coef0": model.coef0, "degree": model.degree}
    return builder.linear(
        pairwise(builder, value, model.support_vectors_, model.kernel, parameters), as_dense(model.dual_coef_), model.intercept_
    )


def two_classes(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """The decision function of a support vector classifier of two classes."""
    if len(model.classes_) > 2:
        raise Unsupported("counts the votes of all pairs of classes, which jump; LinearSVC, or OneVsRestClassifier around it, has scores")
    return support_vectors(builder, model, value)


def kernel_ridge(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """dual_coef_ @ k(x, training points)."""
    parameters = {"gamma": model.gamma, "coef0": model.coef0, "degree": model.degree}
    kernel = pairwise(builder, value, model.X_fit_, model.kernel, parameters)
    return builder.linear(kernel, np.asarray(model.dual_coef_, dtype=np.float64).reshape(len(as_dense(model.X_fit_)), -1).T)


def nystroem(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """normalization_ @ k(x, components_)."""
    parameters = {"gamma": model.gamma, "coef0": model.coef0, "degree": model.degree, **(model.kernel_params or {})}
    return builder.linear(pairwise(builder, value, model.components_, model.kernel, parameters), model.normalization_)


def kernel_components(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """The kernel, centred as on the training points, projected on the eigenvectors."""
    parameters = {"gamma": model.gamma_ if hasattr(model, "gamma_") else model.gamma, "coef0": model.coef0, "degree": model.degree}
    kernel = pairwise(builder, value, model.X_fit_, model.kernel, parameters)
    size, rows = kernel.shape[1], model._centerer.K_fit_rows_
    centred = builder.linear(kernel, np.eye(size) - 1.0 / size, model._centerer.K_fit_all_ - rows)
    scale = np.where(model.eigenvalues_ == 0, 0.0, 1.0 / np.sqrt(np.where(model.eigenvalues_ == 0, 1.0, model.eigenvalues_)))
    return builder.linear(centred, (model.eigenvectors_ * scale).T)


def random_waves(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """sqrt(2 / n) cos(random_weights_' x + random_offset_)."""
    offset = model.random_offset_ + 0.5 * np.pi
    waves = builder.activate(builder.linear(value, model.random_weights_.T, offset), find_activation("sin"))
    return builder.scale(waves, np.sqrt(2.0 / len(offset)))


PREDICT = {**dict.fromkeys(("SVR", "NuSVR"), support_vectors), "KernelRidge": kernel_ridge}
SCORES = {**dict.fromkeys(("SVC", "NuSVC"), two_classes), "OneClassSVM": support_vectors}
TRANSFORM = {"Nystroem": nystroem, "KernelPCA": kernel_components, "RBFSampler": random_waves}
