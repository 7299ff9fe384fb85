"""Recurrent layers of ONNX over a fixed number of steps, written out: one cell after the other. Handlers take attributes by their ONNX names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.builder import NetworkBuilder, Tensor

Function = Callable[[NetworkBuilder, Value], Value]
_FUNCTIONS: dict[str, Function] = {"Relu": ops.relu, "Sigmoid": ops.sigmoid, "Tanh": ops.tanh}


@dataclass(frozen=True, eq=False)
class Cell:
    """What all steps of one direction have in common.

    Parameters
    ----------
    weight, recurrence
        Of the input and of the state before, shape (gates * hidden, inputs) and (gates * hidden, hidden).
    shift, recurrent_shift
        One number per gate and hidden unit.
    functions
        Of the gates and the state, in the order of ONNX.
    """

    weight: Array
    recurrence: Array
    shift: Array
    recurrent_shift: Array
    functions: tuple[Function, ...]

    @property
    def size(self) -> int:
        """Hidden units."""
        return int(self.recurrence.shape[1])

    def rows(self, gate: int) -> slice:
        """The rows of a gate."""
        return slice(gate * self.size, (gate + 1) * self.size)

    def input_part(self, builder: NetworkBuilder, x: Value, gate: int) -> Value:
        """What the input adds to a gate."""
        rows = self.rows(gate)
        return ops.add(builder, ops.matmul(builder, x, self.weight[rows].T), self.shift[rows])

    def state_part(self, builder: NetworkBuilder, state: Value, gate: int) -> Value:
        """What the state before adds to a gate."""
        rows = self.rows(gate)
        return ops.add(builder, ops.matmul(builder, state, self.recurrence[rows].T), self.recurrent_shift[rows])

    def gate(self, builder: NetworkBuilder, x: Value, state: Value, gate: int, function: int) -> Value:
        """A function of both parts."""
        total = ops.add(builder, self.input_part(builder, x, gate), self.state_part(builder, state, gate))
        return self.functions[function](builder, total)


# (cell, input, states before) -> states after; the first state is what a layer gives.
Step = Callable[[NetworkBuilder, Cell, Value, Sequence[Value]], list[Value]]


def _rnn_step(builder: NetworkBuilder, cell: Cell, x: Value, states: Sequence[Value]) -> list[Value]:
    return [cell.gate(builder, x, states[0], 0, 0)]


def _lstm_step(builder: NetworkBuilder, cell: Cell, x: Value, states: Sequence[Value]) -> list[Value]:
    """Gates in the order input, output, forget, cell."""
    hidden, memory = states
    enters, leaves, stays = (cell.gate(builder, x, hidden, gate, 0) for gate in (0, 1, 2))
    new = ops.multiply(builder, enters, cell.gate(builder, x, hidden, 3, 1))
    memory = ops.add(builder, ops.multiply(builder, stays, memory), new)
    return [ops.multiply(builder, leaves, cell.functions[2](builder, memory)), memory]


def _gru_step(reset_first: bool) -> Step:
    """Gates in the order update, reset, hidden. The reset gate goes over the state before it is multiplied, or after."""

    def step(builder: NetworkBuilder, cell: Cell, x: Value, states: Sequence[Value]) -> list[Value]:
        update, reset = (cell.gate(builder, x, states[0], gate, 0) for gate in (0, 1))
        if reset_first:
            inner = cell.state_part(builder, ops.multiply(builder, reset, states[0]), 2)
        else:
            inner = ops.multiply(builder, reset, cell.state_part(builder, states[0], 2))
        new = cell.functions[1](builder, ops.add(builder, cell.input_part(builder, x, 2), inner))
        # (1 - update) new + update old = new + update (old - new).
        change = ops.multiply(builder, update, ops.subtract(builder, states[0], new))
        return [ops.add(builder, new, change)]

    return step


def rnn(builder: NetworkBuilder, x: Value, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None, **attributes: Any) -> Any:
    """A layer of plain cells."""
    return _run(builder, _rnn_step, x, w, r, b, lengths, [h], ("Tanh",), **attributes)


def lstm(
    builder: NetworkBuilder,
    x: Value,
    w: Any,
    r: Any,
    b: Any = None,
    lengths: Any = None,
    h: Any = None,
    c: Any = None,
    peepholes: Any = None,
    input_forget: int = 0,
    **attributes: Any,
) -> Any:
    """A layer of cells with a memory."""
    if peepholes is not None or input_forget:
        raise Unsupported("has peepholes or input_forget; cells without them are accepted")
    return _run(builder, _lstm_step, x, w, r, b, lengths, [h, c], ("Sigmoid", "Tanh", "Tanh"), **attributes)


def gru(
    builder: NetworkBuilder,
    x: Value,
    w: Any,
    r: Any,
    b: Any = None,
    lengths: Any = None,
    h: Any = None,
    linear_before_reset: int = 0,
    **attributes: Any,
) -> Any:
    """A layer of gated cells."""
    return _run(builder, _gru_step(not linear_before_reset), x, w, r, b, lengths, [h], ("Sigmoid", "Tanh"), **attributes)


def _run(
    builder: NetworkBuilder,
    step: Step,
    x: Value,
    w: Any,
    r: Any,
    b: Any,
    lengths: Any,
    initial: list[Any],
    functions: tuple[str, ...],
    hidden_size: int = 0,
    direction: str = "forward",
    activations: Any = None,
    clip: float | None = None,
    layout: int = 0,
    activation_alpha: Any = None,
    activation_beta: Any = None,
    output_sequence: int = 0,
) -> tuple[Value, ...]:
    """All steps in all directions: the outputs of every step, and the last states."""
    if clip is not None or activation_alpha or activation_beta:
        raise Unsupported("clips its states, or has parameters of its functions; plain ones are accepted")
    if layout:
        x, initial = _turn(builder, x), [state if state is None else _turn(builder, state) for state in initial]
    _check_lengths(lengths, ops.shape_of(x)[0])
    cells = _cells(w, r, b, [_name(name) for name in activations or ()], functions)
    runs = [
        _direction(builder, step, cell, x, _states(builder, initial, number, ops.shape_of(x)[1], cell.size), _backwards(direction, number))
        for number, cell in enumerate(cells)
    ]
    outputs = ops.stack(builder, [ops.stack(builder, outputs, 0) for outputs, _ in runs], 1)
    last = [ops.stack(builder, column, 0) for column in zip(*(states for _, states in runs), strict=True)]
    if not layout:
        return (outputs, *last)
    return (ops.transpose(builder, outputs, (2, 0, 1, 3)), *(_turn(builder, state) for state in last))


def _turn(builder: NetworkBuilder, value: Value) -> Value:
    return ops.transpose(builder, value, (1, 0, 2))


def _name(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _check_lengths(lengths: Any, steps: int) -> None:
    if lengths is not None and (isinstance(lengths, Tensor) or (np.asarray(lengths) != steps).any()):
        raise Unsupported("goes over a part of the sequence only; pass sequences of full length")


def _backwards(direction: str, number: int) -> bool:
    return direction == "reverse" or number == 1


def _cells(w: Any, r: Any, b: Any, given: Sequence[str], usual: Sequence[str]) -> list[Cell]:
    """One per direction."""
    weights, recurrences = ops.as_constant(w, "the weight"), ops.as_constant(r, "the weight of the state")
    rows = weights.shape[1]
    shifts = np.zeros((len(weights), 2 * rows)) if b is None else ops.as_constant(b, "the bias")
    names, count = list(given or [*usual] * len(weights)), len(usual)
    if len(names) != count * len(weights) or any(name not in _FUNCTIONS for name in names):
        raise Unsupported(f"has the functions {', '.join(names)}; accepted are {', '.join(_FUNCTIONS)}")
    return [
        Cell(
            weights[number],
            recurrences[number],
            shifts[number, :rows],
            shifts[number, rows:],
            tuple(_FUNCTIONS[name] for name in names[number * count : (number + 1) * count]),
        )
        for number in range(len(weights))
    ]


def _states(builder: NetworkBuilder, initial: Sequence[Any], number: int, batch: int, size: int) -> list[Value]:
    return [np.zeros((batch, size)) if state is None else ops.take(builder, state, number, 0) for state in initial]


def _direction(
    builder: NetworkBuilder, step: Step, cell: Cell, x: Value, states: list[Value], backwards: bool
) -> tuple[list[Value], list[Value]]:
    """The outputs of all steps in their order, and the last states."""
    places = range(ops.shape_of(x)[0])
    outputs: list[Value] = []
    for place in reversed(places) if backwards else places:
        states = step(builder, cell, ops.take(builder, x, place, 0), states)
        outputs.append(states[0])
    return (outputs[::-1] if backwards else outputs), states
