"""Functions of one number by name, as files and users write them: "tanh", "leaky_relu(0.1)".

Each is there twice: as operations of a network, and in plain numpy to compare with.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.importers import operations as ops
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.reading import show

# No name with its numbers is longer. A name, and brackets that no character of a name can begin, are read in one pass.
MOST_CHARACTERS = 100
_CALL = re.compile(r"([A-Za-z][\w\s-]*)(?:\(([^()]*)\))?")

SELU_SCALE, SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717


@dataclass(frozen=True)
class NamedFunction:
    """A function of one number, with its parameters.

    Parameters
    ----------
    name
        In `FUNCTIONS`.
    parameters
        Numbers that go with the name, such as the slope of a leaky ReLU.
    """

    name: str
    parameters: tuple[float, ...] = ()

    def __str__(self) -> str:
        return self.name if not self.parameters else f"{self.name}({', '.join(f'{value:g}' for value in self.parameters)})"

    def build(self, builder: NetworkBuilder, value: Tensor) -> Tensor:
        """The function of a computed value."""
        return ops.as_tensor(FUNCTIONS[self.name].build(builder, value, *self.parameters))

    def evaluate(self, points: Array) -> Array:
        """The function in plain numpy."""
        return np.asarray(FUNCTIONS[self.name].evaluate(points, *self.parameters))


def read_function(text: Any, where: str) -> NamedFunction:
    """The function that a text names; `where` is what a message calls the text.

    Examples
    --------
    >>> str(read_function("Leaky-ReLU (0.1)", "architecture"))
    'leaky_relu(0.1)'
    """
    match = _CALL.fullmatch(text.strip()) if isinstance(text, str) and len(text) <= MOST_CHARACTERS else None
    name = _NAMES.get(_plain(match[1])) if match else None
    if match is None or name is None:
        raise InputError(f"{where}: {show(text)} is not the name of an activation. Accepted are {', '.join(map(_form, FUNCTIONS))}.")
    parameters = _read_parameters(match[2], where, text)
    known = FUNCTIONS[name]
    if not known.least <= len(parameters) <= known.most:
        raise InputError(f"{where}: '{text}' has {len(parameters)} numbers; {_numbers(known)} is accepted{_for_example(name)}.")
    if not all(known.range[0] < value < known.range[1] for value in parameters):
        raise InputError(f"{where}: the number in '{text}' must be above {known.range[0]:g} and finite.")
    return NamedFunction(name, parameters or known.default)


def _numbers(row: _Row) -> str:
    return "none" if row.most == 0 else "one" if row.least == 1 else "one or none"


def _for_example(name: str) -> str:
    return f", for example {_form(name)}" if FUNCTIONS[name].least else ""


def _read_parameters(text: str | None, where: str, whole: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",")) if text and text.strip() else ()
    except ValueError:
        raise InputError(f"{where}: '{whole}' has something in its brackets that is not a number.") from None


def _plain(name: str) -> str:
    """So that leaky_relu, LeakyReLU and Leaky-ReLU are the same."""
    return re.sub(r"[\s_-]", "", name).lower()


def _form(name: str) -> str:
    known = FUNCTIONS[name]
    return f"{name}({known.example})" if known.least else name


@dataclass(frozen=True)
class _Row:
    """How a function is built and evaluated, and the numbers it takes: how many, their defaults, their open range."""

    build: Callable[..., Any]
    evaluate: Callable[..., Any]
    least: int = 0
    most: int = 0
    default: tuple[float, ...] = ()
    range: tuple[float, float] = (-np.inf, np.inf)
    example: str = ""


def _table(name: str, evaluate: Callable[..., Any], **numbers: Any) -> _Row:
    """A function that is an activation of networks."""
    return _Row(lambda builder, value, *parameters: builder.activate(value, find_activation(name, parameters)), evaluate, **numbers)


def _elu_value(a: Array, alpha: float) -> Array:
    return np.where(a > 0, a, alpha * (np.exp(np.minimum(a, 0.0)) - 1.0))


def _softplus_value(a: Array) -> Array:
    value: Array = np.logaddexp(a, 0.0)
    return value


def _gelu_tanh_value(a: Array) -> Any:
    return a / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))


_ALPHA: dict[str, Any] = {"most": 1, "default": (1.0,), "range": (0.0, np.inf)}

FUNCTIONS: dict[str, _Row] = {
    "linear": _Row(lambda builder, value: value, np.asarray),
    "relu": _Row(ops.relu, lambda a: np.maximum(a, 0.0)),
    "leaky_relu": _Row(ops.leaky_relu, lambda a, slope: np.where(a > 0, a, slope * a), least=1, most=1, example="0.01"),
    "relu6": _Row(ops.relu6, lambda a: np.clip(a, 0.0, 6.0)),
    "hard_sigmoid": _Row(ops.hard_sigmoid, lambda a: np.clip(a / 6.0 + 0.5, 0.0, 1.0)),
    "hard_tanh": _Row(lambda builder, value: ops.clip(builder, value, -1.0, 1.0), lambda a: np.clip(a, -1.0, 1.0)),
    "tanh": _table("tanh", np.tanh),
    "sigmoid": _table("sigmoid", scipy.special.expit),
    "softplus": _table("softplus", _softplus_value),
    "elu": _table("elu", _elu_value, **_ALPHA),
    "selu": _Row(ops.selu, lambda a: SELU_SCALE * _elu_value(a, SELU_ALPHA)),
    "celu": _Row(ops.celu, lambda a, alpha: np.where(a > 0, a, alpha * np.expm1(np.minimum(a, 0.0) / alpha)), **_ALPHA),
    "gelu": _table("gelu", lambda a: a / 2 * (1 + scipy.special.erf(a / np.sqrt(2)))),
    "gelu_tanh": _table("gelu_tanh", _gelu_tanh_value),
    "silu": _table("silu", lambda a: a * scipy.special.expit(a)),
    "mish": _table("mish", lambda a: a * np.tanh(_softplus_value(a))),
    "softsign": _table("softsign", lambda a: a / (1 + np.abs(a))),
    "hardswish": _table("hardswish", lambda a: a * np.clip(a + 3, 0, 6) / 6),
    "log_sigmoid": _Row(ops.log_sigmoid, lambda a: -_softplus_value(-a)),
    "sin": _table("sin", np.sin),
    "arctan": _table("arctan", np.arctan),
    "exp": _table("exp", np.exp),
    "square": _table("square", np.square),
}

# Other names of the same functions.
_ALIASES = {"identity": "linear", "none": "linear", "logistic": "sigmoid", "swish": "silu", "sine": "sin", "atan": "arctan"}
_NAMES = {_plain(name): name for name in FUNCTIONS} | _ALIASES
