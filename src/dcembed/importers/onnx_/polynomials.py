"""Arithmetic of nodes as polynomials, to tell what a function that is written out in several nodes is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from dcembed.arrays import Array
from dcembed.importers.onnx_.files import to_array

# Exponents of the names -> coefficients, such as {(("x", 1),): 0.5} for 0.5 x; the empty tuple is the constant.
Monomial = tuple[tuple[str, int], ...]
Polynomial = dict[Monomial, float]

# Products of more terms, or of higher degree, are none of what is looked for.
MOST_TERMS, MOST_NODES = 8, 24


@dataclass(frozen=True)
class View:
    """Which node makes a value, and which values are constants."""

    makers: Mapping[str, onnx.NodeProto]
    weights: Mapping[str, Array]

    def inputs(self, name: str, *kinds: str) -> list[str] | None:
        """What goes into the node that makes a value, if it is of one of these kinds."""
        node = self.makers.get(name)
        return list(node.input) if node is not None and node.op_type in kinds else None

    def array(self, name: str) -> Array | None:
        """A constant."""
        node = self.makers.get(name)
        if node is not None and node.op_type == "Constant":
            return next((to_array(item.t) for item in node.attribute if item.name == "value"), None)
        return self.weights.get(name)

    def number(self, name: str) -> float | None:
        """A constant that is one number."""
        array = self.array(name)
        return float(np.reshape(array, ())) if array is not None and array.size == 1 and array.dtype.kind in "fiu" else None


def read_polynomial(view: View, name: str, leaves: frozenset[str] = frozenset()) -> Polynomial:
    """A value as a polynomial of others: of `leaves`, and of all that is not made by arithmetic with numbers."""
    return _read(view, name, leaves, [MOST_NODES])


def _read(view: View, name: str, leaves: frozenset[str], left: list[int]) -> Polynomial:
    itself: Polynomial = {((name, 1),): 1.0}
    number = view.number(name)
    if number is not None:
        return {(): number}
    inputs = None if name in leaves else view.inputs(name, *_ARITHMETIC)
    left[0] -= 1
    if not inputs or left[0] < 0 or any(view.array(item) is not None and view.number(item) is None for item in inputs):
        return itself
    parts = [_read(view, item, leaves, left) for item in inputs]
    result = _ARITHMETIC[view.makers[name].op_type](*parts)
    return itself if result is None or len(result) > MOST_TERMS else result


def _add(left: Polynomial, right: Polynomial) -> Polynomial:
    return {key: left.get(key, 0.0) + right.get(key, 0.0) for key in {**left, **right}}


def _subtract(left: Polynomial, right: Polynomial) -> Polynomial:
    return _add(left, {key: -value for key, value in right.items()})


def _multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    product: Polynomial = {}
    for one, first in left.items():
        for other, second in right.items():
            powers = dict(one)
            for name, power in other:
                powers[name] = powers.get(name, 0) + power
            key = tuple(sorted(powers.items()))
            product[key] = product.get(key, 0.0) + first * second
    return product


def _divide(left: Polynomial, right: Polynomial) -> Polynomial | None:
    if set(right) != {()} or not right[()]:
        return None
    return {key: value / right[()] for key, value in left.items()}


def _power(base: Polynomial, exponent: Polynomial) -> Polynomial | None:
    number = exponent.get((), math.nan) if set(exponent) == {()} else math.nan
    if number not in (1.0, 2.0, 3.0):
        return None
    result = base
    for _ in range(int(number) - 1):
        result = _multiply(result, base)
    return result


_ARITHMETIC: dict[str, Callable[..., Polynomial | None]] = {
    "Add": _add,
    "Div": _divide,
    "Mul": _multiply,
    "Pow": _power,
    "Sub": _subtract,
}
