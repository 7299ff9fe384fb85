"""Sums of products over axes: matrix products and einsum, with constants or between two computed values."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array
from dcembed.importers.operations.recognition import product
from dcembed.importers.operations.values import Unsupported, Value, pick, shape_of, transform
from dcembed.network.builder import NetworkBuilder, Tensor


def matmul(builder: NetworkBuilder, left: Value, right: Value) -> Value:
    """left @ right, as numpy has it."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        multiplied: Array = np.asarray(left) @ np.asarray(right)
        return multiplied
    if isinstance(left, Tensor) and not isinstance(right, Tensor) and np.ndim(right) == 2:
        # A plain layer: its weights stay the matrix that they are.
        return builder.linear(left, np.asarray(right, dtype=np.float64).T)
    first, second = len(shape_of(left)), len(shape_of(right))
    if not first or not second:
        raise Unsupported("multiplies a number as if it were a matrix")
    lead = string.ascii_lowercase[: max(first, second, 2) - 2]
    one = "y" if first == 1 else lead[len(lead) - first + 2 :] + "xy"
    other = "y" if second == 1 else lead[len(lead) - second + 2 :] + "yz"
    result = lead[: max(0, max(first, second) - 2)] + ("x" if first > 1 else "") + ("z" if second > 1 else "")
    return _contract(builder, one, left, other, right, result, broadcasting=True)


def einsum(builder: NetworkBuilder, equation: str, *operands: Value) -> Value:
    """Sums of products in Einstein's notation, as numpy and torch write it."""
    inputs, output = _read_equation(equation, [len(shape_of(operand)) for operand in operands])
    if not any(isinstance(operand, Tensor) for operand in operands):
        contracted: Array = np.einsum(f"{','.join(inputs)}->{output}", *(np.asarray(operand) for operand in operands))
        return contracted
    labels, value = inputs[0], operands[0]
    if len(operands) == 1:
        return _contract(builder, labels, value, "", np.asarray(1.0), output)
    for position in range(1, len(operands)):
        later = "".join(inputs[position + 1 :])
        last = position == len(operands) - 1
        seen = dict.fromkeys(labels + inputs[position])
        kept = output if last else "".join(label for label in seen if label in output + later)
        value = _contract(builder, labels, value, inputs[position], operands[position], kept, broadcasting=True)
        labels = kept
    return value


def _read_equation(equation: str, num_axes: Sequence[int]) -> tuple[list[str], str]:
    """Labels of every operand and of the result, with letters of their own for the axes of an ellipsis."""
    text = equation.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(num_axes):
        raise Unsupported(f"has an equation '{equation}' for {len(inputs)} values, but {len(num_axes)} values")
    free = [letter for letter in string.ascii_letters if letter not in text]
    extra = [count - len(labels) + 3 for labels, count in zip(inputs, num_axes, strict=True) if "..." in labels]
    most = max(extra, default=0)
    dots = "".join(free[: max(most, 0)])
    inputs = [
        labels.replace("...", dots[len(dots) - (count - len(labels) + 3) :] if "..." in labels else "")
        for labels, count in zip(inputs, num_axes, strict=True)
    ]
    if not arrow:
        single = sorted(label for label in set("".join(inputs)) - set(dots) if "".join(inputs).count(label) == 1)
        output = "..." + "".join(single)
    return inputs, output.replace("...", dots)


def _contract(builder: NetworkBuilder, one: str, left: Value, other: str, right: Value, result: str, broadcasting: bool = False) -> Value:
    """The sum over all labels that `result` does not have, of the products of the entries."""
    if not isinstance(left, Tensor) and not isinstance(right, Tensor):
        return np.asarray(np.einsum(f"{one},{other}->{result}", left, right))
    sizes = _label_sizes((one, shape_of(left)), (other, shape_of(right)), broadcasting=broadcasting)
    order = "".join(dict.fromkeys(result + one + other))
    places = {label: index for index, label in enumerate(order)}
    shape = tuple(sizes[label] for label in order)
    builder.growth.check(math.prod(shape), f"A contraction of values of shapes {shape_of(left)} and {shape_of(right)}")
    entries = [_entry_numbers(labels, shape_of(value), shape, places) for labels, value in ((one, left), (other, right))]
    rows = _entry_numbers(result, tuple(sizes[label] for label in result), shape, places)
    target = tuple(sizes[label] for label in result)
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        products = product(builder, pick(builder, left, entries[0]), pick(builder, right, entries[1]))
        return transform(builder, products, _sums(rows, np.ones(rows.size), np.arange(rows.size), products.affine.num_rows, target), target)
    value, constant = (left, right) if isinstance(left, Tensor) else (right, left)
    columns, factors = entries if isinstance(left, Tensor) else entries[::-1]
    weights = np.asarray(constant, dtype=np.float64).reshape(-1)[factors]
    return transform(builder, value, _sums(rows, weights, columns, math.prod(shape_of(value)), target), target)


def _label_sizes(*operands: tuple[str, tuple[int, ...]], broadcasting: bool) -> dict[str, int]:
    """The size of every label; axes of size 1 fit any other where there is `broadcasting`."""
    sizes: dict[str, int] = {}
    for labels, shape in operands:
        for label, size in zip(labels, shape, strict=True):
            known = sizes.setdefault(label, size)
            if known != size and not (broadcasting and 1 in (known, size)):
                raise Unsupported(f"joins axes of sizes {known} and {size}")
            sizes[label] = max(known, size)
    return sizes


def _entry_numbers(labels: str, own: tuple[int, ...], shape: tuple[int, ...], places: Mapping[str, int]) -> Array:
    """For every point of the grid of all labels, the entry of a value with `labels` of the sizes `own`."""
    number = np.zeros((1,) * len(shape), dtype=np.int64)
    for label, size in zip(labels, own, strict=True):
        along = [1] * len(shape)
        along[places[label]] = shape[places[label]]
        index = np.arange(shape[places[label]]) if size > 1 else np.zeros(shape[places[label]], dtype=np.int64)
        number = number * size + index.reshape(along)
    return np.broadcast_to(number, shape).reshape(-1)


def _sums(rows: Array, weights: Array, columns: Array, size: int, target: tuple[int, ...]) -> sp.csr_array:
    kept = weights != 0
    return sp.csr_array((weights[kept], (rows[kept], columns[kept])), shape=(math.prod(target), size))
