"""Recurrent layers in plain numpy. The reference goes in one direction only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from dcembed.arrays import Array

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "Relu": lambda a: np.maximum(a, 0.0),
    "Sigmoid": scipy.special.expit,
    "Tanh": np.tanh,
}


def rnn(x: Array, w: Array, r: Array, b: Array | None = None, lengths: Any = None, h: Array | None = None, **attributes: Any) -> Any:
    """h' = f(W x + R h + b)."""

    def step(gates: Array, recurrent: Array, states: list[Array], f: list[Any], _: Any) -> list[Array]:
        return [f[0](gates + recurrent)]

    return _run(step, x, w, r, b, [h], ["Tanh"], **attributes)


def lstm(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Any = None,
    h: Array | None = None,
    c: Array | None = None,
    **attributes: Any,
) -> Any:
    """Gates i, o, f and c: c' = f c + i g(c), h' = o h(c')."""

    def step(gates: Array, recurrent: Array, states: list[Array], f: list[Any], _: Any) -> list[Array]:
        i, o, forget, new = np.split(gates + recurrent, 4, axis=1)
        memory = f[0](forget) * states[1] + f[0](i) * f[1](new)
        return [f[0](o) * f[2](memory), memory]

    return _run(step, x, w, r, b, [h, c], ["Sigmoid", "Tanh", "Tanh"], **attributes)


def gru(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Any = None,
    h: Array | None = None,
    linear_before_reset: int = 0,
    **attributes: Any,
) -> Any:
    """Gates z, r and h: h' = (1 - z) g(h) + z h."""

    def step(gates: Array, recurrent: Array, states: list[Array], f: list[Any], inner: Callable[[Array], Array]) -> list[Array]:
        (gz, gr, gh), (rz, rr, rh) = np.split(gates, 3, axis=1), np.split(recurrent, 3, axis=1)
        update, reset = f[0](gz + rz), f[0](gr + rr)
        new = f[1](gh + (reset * rh if linear_before_reset else inner(reset * states[0])))
        return [(1.0 - update) * new + update * states[0]]

    return _run(step, x, w, r, b, [h], ["Sigmoid", "Tanh"], **attributes)


def _run(
    step: Callable[..., list[Array]],
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    initial: list[Array | None],
    functions: list[str],
    direction: str = "forward",
    activations: Any = None,
    layout: int = 0,
    **others: Any,
) -> tuple[Array, ...]:
    if layout:
        x, initial = x.swapaxes(0, 1), [None if state is None else state.swapaxes(0, 1) for state in initial]
    size, count = r.shape[2], len(functions)
    named = [_FUNCTIONS[name] for name in (activations or functions * len(w))]
    outputs, ends = np.zeros((len(x), len(w), x.shape[1], size)), []
    for number in range(len(w)):
        shift = np.zeros(2 * w.shape[1]) if b is None else b[number]
        own, recurrent = shift[: w.shape[1]], shift[w.shape[1] :]
        states = [np.zeros((x.shape[1], size)) if state is None else state[number] for state in initial]
        last = r[number][-size:], recurrent[-size:]
        for place in range(len(x))[:: -1 if direction == "reverse" or number else 1]:
            parts = x[place] @ w[number].T + own, states[0] @ r[number].T + recurrent
            states = step(*parts, states, named[number * count :], lambda state, last=last: state @ last[0].T + last[1])
            outputs[place, number] = states[0]
        ends.append(states)
    finals = [np.stack(column) for column in zip(*ends, strict=True)]
    return (outputs.transpose(2, 0, 1, 3), *(final.swapaxes(0, 1) for final in finals)) if layout else (outputs, *finals)
