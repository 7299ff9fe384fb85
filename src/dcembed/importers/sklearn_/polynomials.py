"""Polynomial features: squares, and products as differences of squares.

A product of two columns is ((a + b)^2 - (a - b)^2) / 4, also where one of them is a binary. A column that is constant is a coefficient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor

Monomial = tuple[int, ...]


def polynomial_features(builder: NetworkBuilder, model: Any, value: Tensor) -> Tensor:
    """All products of powers that the transformer lists."""
    powers = np.asarray(model.powers_, dtype=np.int64)
    is_constant = constant_columns(value)
    factors = np.where(is_constant, value.affine.bias, 1.0)
    coefficients = np.prod(factors**powers, axis=1)
    return _weighted(builder, monomials(builder, value, np.where(is_constant, 0, powers)), coefficients)


def monomials(builder: NetworkBuilder, value: Tensor, powers: Array) -> Tensor:
    """The products of powers of the columns of `value`, shape (1, n), that the rows of `powers` name; shape (1, rows)."""
    wanted = [tuple(np.repeat(np.arange(powers.shape[1]), row).tolist()) for row in powers]
    made: dict[int, Tensor] = {0: ops.as_tensor(np.ones((1, 1))), 1: value}
    places: dict[Monomial, int] = {(): 0} | {(column,): column for column in range(value.shape[1])}
    for degree, found in sorted(_by_degree(set(wanted)).items()):
        if degree > 1:
            made[degree], order = _of_degree(builder, degree, sorted(found), made, places)
            places |= {monomial: place for place, monomial in enumerate(order)}
    starts = dict(zip(made, np.cumsum([0, *(part.shape[1] for part in made.values())]).tolist(), strict=False))
    return _pick(builder, builder.concat(list(made.values()), axis=1), [starts[len(m)] + places[m] for m in wanted])


def _of_degree(
    builder: NetworkBuilder, degree: int, found: list[Monomial], made: dict[int, Tensor], places: dict[Monomial, int]
) -> tuple[Tensor, list[Monomial]]:
    """Monomials of one degree, and the order that they have: squares of those of half the degree first, then products."""
    even, odd = [m for m in found if _is_square(m)], [m for m in found if not _is_square(m)]
    parts = []
    if even:
        roots = _pick(builder, made[degree // 2], [places[monomial[::2]] for monomial in even])
        parts.append(builder.activate(roots, find_activation("square")))
    if odd:
        rests, columns = zip(*map(_split, odd), strict=True)
        left = _pick(builder, made[degree - 1], [places[rest] for rest in rests])
        parts.append(ops.as_tensor(ops.multiply(builder, left, _pick(builder, made[1], list(columns)))))
    return builder.concat(parts, axis=1), [*even, *odd]


def constant_columns(value: Tensor) -> Array:
    """Which columns depend on no input."""
    used = np.zeros(value.affine.num_rows, dtype=bool)
    for block in value.affine.weights.values():
        used |= np.asarray(abs(block).sum(axis=1)).reshape(-1) > 0
    return ~used


def _by_degree(wanted: set[Monomial]) -> dict[int, set[Monomial]]:
    """Monomials with all those that they are made of."""
    degrees: dict[int, set[Monomial]] = {}
    waiting = list(wanted)
    while waiting:
        monomial = waiting.pop()
        if monomial in degrees.setdefault(len(monomial), set()):
            continue
        degrees[len(monomial)].add(monomial)
        if len(monomial) > 1:
            waiting.append(monomial[::2] if _is_square(monomial) else _split(monomial)[0])
    return degrees


def _is_square(monomial: Monomial) -> bool:
    return monomial[::2] == monomial[1::2]


def _split(monomial: Monomial) -> tuple[Monomial, int]:
    """A column whose power is odd, and the rest: so that the rest is a square as often as can be."""
    place = next(place for place, column in enumerate(monomial) if monomial.count(column) % 2)
    return monomial[:place] + monomial[place + 1 :], monomial[place]


def _pick(builder: NetworkBuilder, value: Tensor, places: list[int]) -> Tensor:
    return ops.select(builder, value, lambda a: a[:, places])


def _weighted(builder: NetworkBuilder, value: Tensor, coefficients: Array) -> Tensor:
    return builder.linear(value, sp.diags_array(coefficients, format="csr"))


TRANSFORM = {"PolynomialFeatures": polynomial_features}
