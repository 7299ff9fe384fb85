"""The mean of a Gaussian process: a sum over training points of kernels made of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.importers.sklearn_.kernels import as_dense, exponential, squared_distances
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor


def mean(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """k(x, training points) @ alpha_, in the units of the target."""
    points = as_dense(model.X_train_)
    kernel = ops.as_tensor(_kernel(builder, model.kernel_, value, points))
    spread, middle = np.asarray(model._y_train_std), np.asarray(model._y_train_mean)
    weights = np.asarray(model.alpha_, dtype=np.float64).reshape(len(points), -1).T
    return builder.shift(builder.scale(builder.linear(kernel, weights), spread), middle)


def _kernel(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    """k(x, y) for every training point y, shape (1, points)."""
    name = type(kernel).__name__ if type(kernel).__module__.startswith("sklearn.") else ""
    if name not in KERNELS:
        raise Unsupported(f"has the kernel {type(kernel).__name__}; accepted are {', '.join(KERNELS)}")
    return KERNELS[name](builder, kernel, value, points)


def _sum(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    return ops.add(builder, *(_kernel(builder, part, value, points) for part in (kernel.k1, kernel.k2)))


def _product(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    return ops.multiply(builder, *(_kernel(builder, part, value, points) for part in (kernel.k1, kernel.k2)))


def _power(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    return ops.power(builder, _kernel(builder, kernel.kernel, value, points), kernel.exponent)


def _constant(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    return np.full((1, len(points)), float(kernel.constant_value))


def _white(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    """Noise has nothing to do with training points."""
    return np.zeros((1, len(points)))


def _dot(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    return builder.shift(builder.linear(value, points), kernel.sigma_0**2)


def _squares(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Tensor:
    """|x - y|^2 in length scales."""
    scale = 1.0 / np.asarray(kernel.length_scale, dtype=np.float64)
    return squared_distances(builder, value, points * scale, scale)


def _radial(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    return exponential(builder, builder.scale(_squares(builder, kernel, value, points), 0.5))


def _rational(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    """(1 + |x - y|^2 / (2 alpha l^2))^-alpha, whose base is at least 1."""
    base = builder.shift(builder.scale(_squares(builder, kernel, value, points), 0.5 / kernel.alpha), 1.0)
    return builder.activate(base, find_activation("power", (-float(kernel.alpha), 1.0)))


def _matern(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    """exp(-d), (1 + d) exp(-d) or (1 + d + d^2 / 3) exp(-d) of d = sqrt(2 nu) |x - y|, the factor as a logarithm in the exponent."""
    if kernel.nu == np.inf:
        return _radial(builder, kernel, value, points)
    if kernel.nu not in (0.5, 1.5, 2.5):
        raise Unsupported(f"has a Matern kernel with nu={kernel.nu:g}; accepted are 0.5, 1.5, 2.5 and inf")
    squares = builder.scale(_squares(builder, kernel, value, points), 2.0 * kernel.nu)
    distances = ops.as_tensor(ops.sqrt(builder, squares))
    if kernel.nu == 0.5:
        return exponential(builder, distances)
    factor = builder.shift(distances, 1.0)
    if kernel.nu == 2.5:
        factor = builder.add(factor, builder.scale(squares, 1.0 / 3.0))
    # The factor is at least 1.
    logarithm = builder.activate(factor, find_activation("log", (1.0,)))
    return exponential(builder, builder.add(distances, builder.scale(logarithm, -1.0)))


def _periodic(builder: NetworkBuilder, kernel: Any, value: Tensor, points: Array) -> Value:
    """exp(-2 sin(pi |x - y| / p)^2 / l^2); of one column the square does without the distance."""
    if points.shape[1] != 1:
        raise Unsupported("has a periodic kernel of several columns; accepted is one of a single column")
    angles = builder.shift(
        builder.scale(builder.linear(value, np.ones((len(points), 1))), np.pi / kernel.periodicity),
        -np.pi / kernel.periodicity * points[:, 0],
    )
    squares = builder.activate(builder.activate(angles, find_activation("sin")), find_activation("square"))
    return exponential(builder, builder.scale(squares, 2.0 / kernel.length_scale**2))


KERNELS: dict[str, Callable[[NetworkBuilder, Any, Tensor, Array], Value]] = {
    "RBF": _radial,
    "Matern": _matern,
    "RationalQuadratic": _rational,
    "ExpSineSquared": _periodic,
    "DotProduct": _dot,
    "ConstantKernel": _constant,
    "WhiteKernel": _white,
    "Sum": _sum,
    "Product": _product,
    "Exponentiation": _power,
}
PREDICT = {"GaussianProcessRegressor": mean}
