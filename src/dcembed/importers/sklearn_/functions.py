"""Functions of numpy and scipy that transformers apply to every entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from dcembed.importers import operations as ops
from dcembed.importers.operations import Unsupported, Value
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder, Tensor

Function = Callable[[NetworkBuilder, Value], Value]


def _activation(name: str) -> Function:
    return lambda builder, value: ops.activate(builder, value, find_activation(name))


FUNCTIONS: dict[Any, Function] = {
    np.exp: ops.exp,
    np.expm1: ops.expm1,
    np.exp2: lambda builder, value: ops.exp(builder, ops.multiply(builder, value, np.log(2.0))),
    np.log: ops.log,
    np.log1p: ops.log1p,
    np.log2: lambda builder, value: ops.log_of_base(builder, value, 2.0),
    np.log10: lambda builder, value: ops.log_of_base(builder, value, 10.0),
    np.sqrt: ops.sqrt,
    np.square: ops.square,
    np.sin: _activation("sin"),
    np.cos: ops.cos,
    np.sinh: ops.sinh,
    np.cosh: ops.cosh,
    np.tanh: _activation("tanh"),
    np.arctan: _activation("arctan"),
    np.absolute: ops.absolute,
    np.fabs: ops.absolute,
    np.negative: ops.negate,
    np.positive: lambda builder, value: value,
    scipy.special.expit: _activation("sigmoid"),
    scipy.special.erf: _activation("erf"),
}


def apply_function(builder: NetworkBuilder, function: Any, arguments: Any, value: Tensor) -> Tensor:
    """`function` of every entry, or Unsupported for one that is not known; None is the identity."""
    if function is None:
        return value
    known = FUNCTIONS.get(function) if not arguments and isinstance(function, np.ufunc) else None
    if known is None:
        name = getattr(function, "__name__", repr(function))
        raise Unsupported(
            f"calls {name}{' with arguments' if arguments else ''}, and what a Python function computes cannot be seen; known are "
            f"{', '.join(ufunc.__name__ for ufunc in FUNCTIONS)} of numpy and scipy.special, without arguments"
        )
    return ops.as_tensor(known(builder, value))
