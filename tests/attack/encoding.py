"""A case as a mixed-integer program: every ReLU by its bounds and a binary, or as a given pattern of units has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .case import Array, Case, Evaluation

Pattern = tuple[tuple[Array, ...], ...]


@dataclass(frozen=True, eq=False)
class Encoding:
    """The columns of the case come first, then those of its units. `quadratic` and `cones` of the case are over the first."""

    case: Case
    matrix: sp.csr_array
    row_lb: Array
    row_ub: Array
    lb: Array
    ub: Array
    integer: Array


class Infeasible(Exception):
    """Bounds alone show that there is no point."""


class _Writer:
    """Collects columns and rows."""

    def __init__(self, lb: Array, ub: Array, integer: Array) -> None:
        self.lb, self.ub, self.integer = lb.tolist(), ub.tolist(), integer.tolist()
        self.rows: list[tuple[dict[int, float], float, float]] = []

    def columns(self, lb: Array, ub: Array, integer: bool = False) -> Array:
        first = len(self.lb)
        self.lb += lb.tolist()
        self.ub += ub.tolist()
        self.integer += [integer] * lb.size
        return np.arange(first, first + lb.size)

    def row(self, entries: dict[int, float], lb: float, ub: float) -> None:
        self.rows.append((entries, lb, ub))


def encode(case: Case, radius: float, pattern: Pattern | None = None) -> Encoding:
    """The case in a box of this radius around 0 where columns have no bounds of their own."""
    lb, ub = np.maximum(case.lb, -radius), np.minimum(case.ub, radius)
    free = np.isin(np.arange(lb.size), case.outputs)
    lb[free], ub[free] = case.lb[free], case.ub[free]
    for evaluation in case.evaluations:
        _tighten_outputs(evaluation, lb, ub)
    writer = _Writer(lb, ub, case.integer)
    for row, low, high in zip(case.rows, case.row_lb, case.row_ub, strict=True):
        writer.row(_entries(row), low, high)
    for number, evaluation in enumerate(case.evaluations):
        _write_net(writer, evaluation, lb, ub, pattern[number] if pattern is not None else None)
    _write_switches(writer, case, lb, ub)
    return _finish(case, writer)


def units_at(case: Case, w: Array) -> Pattern:
    """Which units are on at a point."""
    return tuple(tuple(a > 0 for a in _pre_activations(evaluation, w)) for evaluation in case.evaluations)


def _pre_activations(evaluation: Evaluation, w: Array) -> Iterator[Array]:
    x = evaluation.matrix @ w + evaluation.offset
    for weight, bias in zip(evaluation.net.weights[:-1], evaluation.net.biases[:-1], strict=True):
        a = weight @ x + bias
        yield a
        x = np.maximum(a, 0.0)


def _interval(matrix: Array, offset: Array, lb: Array, ub: Array) -> tuple[Array, Array]:
    plus, minus = np.maximum(matrix, 0.0), np.minimum(matrix, 0.0)
    # A zero times an infinite bound is nothing.
    with np.errstate(invalid="ignore"):
        low = np.nansum(np.where(plus > 0, plus * lb, 0.0) + np.where(minus < 0, minus * ub, 0.0), axis=1)
        high = np.nansum(np.where(plus > 0, plus * ub, 0.0) + np.where(minus < 0, minus * lb, 0.0), axis=1)
    return low + offset, high + offset


def _layer_bounds(evaluation: Evaluation, lb: Array, ub: Array) -> list[tuple[Array, Array]]:
    """Bounds of the pre-activations of every layer, the last included."""
    low, high = _interval(evaluation.matrix, evaluation.offset, lb, ub)
    bounds = []
    for weight, bias in zip(evaluation.net.weights, evaluation.net.biases, strict=True):
        low, high = _interval(weight, bias, low, high)
        bounds.append((low, high))
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    return bounds


def _tighten_outputs(evaluation: Evaluation, lb: Array, ub: Array) -> None:
    low, high = _layer_bounds(evaluation, lb, ub)[-1]
    lb[evaluation.outputs] = np.maximum(lb[evaluation.outputs], low)
    ub[evaluation.outputs] = np.minimum(ub[evaluation.outputs], high)
    if (lb > ub + 1e-9).any():
        raise Infeasible
    np.minimum(lb, ub, out=lb)


def _write_net(writer: _Writer, evaluation: Evaluation, lb: Array, ub: Array, on: tuple[Array, ...] | None) -> None:
    bounds = _layer_bounds(evaluation, lb, ub)
    # The inputs of a layer as columns: before the first, free ones that stand for the affine map.
    x = writer.columns(*_interval(evaluation.matrix, evaluation.offset, lb, ub))
    for column, row, constant in zip(x, evaluation.matrix, evaluation.offset, strict=True):
        writer.row(_entries(row) | {int(column): -1.0}, -constant, -constant)
    for layer, (weight, bias) in enumerate(zip(evaluation.net.weights[:-1], evaluation.net.biases[:-1], strict=True)):
        low, high = bounds[layer]
        y = writer.columns(np.zeros(bias.size), np.maximum(high, 0.0))
        for unit in range(bias.size):
            above = {int(y[unit]): 1.0} | {int(c): -v for c, v in zip(x, weight[unit], strict=True) if v}
            if on is not None:
                _write_settled(writer, above, int(y[unit]), bias[unit], bool(on[layer][unit]))
            else:
                _write_open(writer, above, int(y[unit]), bias[unit], low[unit], high[unit])
        x = y
    for column, row, constant in zip(evaluation.outputs, evaluation.net.weights[-1], evaluation.net.biases[-1], strict=True):
        writer.row({int(column): 1.0} | {int(c): -v for c, v in zip(x, row, strict=True) if v}, constant, constant)


def _write_settled(writer: _Writer, above: dict[int, float], y: int, bias: float, is_on: bool) -> None:
    """A unit that is on, y = a >= 0, or off, y = 0 >= a; `above` is y - (a - bias)."""
    if is_on:
        writer.row(above, bias, bias)
    else:
        writer.ub[y] = 0.0
        writer.row(above, bias, np.inf)


def _write_open(writer: _Writer, above: dict[int, float], y: int, bias: float, low: float, high: float) -> None:
    """y = max(a, 0) for a in [low, high]."""
    if low >= 0 or high <= 0:
        _write_settled(writer, above, y, bias, low >= 0)
        return
    z = int(writer.columns(np.zeros(1), np.ones(1), integer=True)[0])
    writer.row(above, bias, np.inf)
    writer.row(above | {z: -low}, -np.inf, bias - low)
    writer.row({y: 1.0, z: -high}, -np.inf, 0.0)


def _write_switches(writer: _Writer, case: Case, lb: Array, ub: Array) -> None:
    for switch in case.switches:
        low, high = (side.item() for side in _interval(switch.row[None, :], np.zeros(1), lb, ub))
        # The row without its limit, and how far it goes there, for each of its sides.
        for sign, limit, most in ((1.0, switch.ub, high), (-1.0, -switch.lb, -low)):
            room = max(most - limit, 0.0) if np.isfinite(limit) else 0.0
            if room:
                entries = {j: sign * v for j, v in _entries(switch.row).items()}
                step = room if switch.value == 1 else -room
                entries[switch.column] = entries.get(switch.column, 0.0) + step
                writer.row(entries, -np.inf, limit + (room if switch.value == 1 else 0.0))


def _finish(case: Case, writer: _Writer) -> Encoding:
    places = [(i, j, v) for i, (entries, _, _) in enumerate(writer.rows) for j, v in entries.items()]
    i, j, v = zip(*places, strict=True) if places else ((), (), ())
    matrix = sp.csr_array((np.array(v, dtype=float), (np.array(i, dtype=int), np.array(j, dtype=int))), (len(writer.rows), len(writer.lb)))
    row_lb, row_ub = np.array([low for _, low, _ in writer.rows]), np.array([high for _, _, high in writer.rows])
    return Encoding(case, matrix, row_lb, row_ub, np.array(writer.lb), np.array(writer.ub), np.array(writer.integer, dtype=bool))


def _entries(row: Array) -> dict[int, float]:
    return {int(j): float(row[j]) for j in np.flatnonzero(row)}
