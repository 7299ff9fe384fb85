"""What activations are made of here, and the methods that do not take all of it: both by trying."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dcembed
from dcembed.baselines import BASELINES
from dcembed.errors import DcembedError, NetworkError
from dcembed.importers import operations as ops
from dcembed.importers.keras_.layers.activations import FUNCTIONS
from dcembed.importers.operations import Unsupported
from dcembed.importers.torch_.aten import OPERATORS
from dcembed.network.activations import find_activation
from dcembed.network.builder import NetworkBuilder
from dcembed.options import FORMULATIONS
from docs.what_goes_in.rows import Row

# Entries that there are, so that softmax is none of two, and can be halved by gated units.
_SIZE = 4
# Arguments that handlers need beside the value, where they have no default.
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "threshold": (0.0, 0.0),
    "prelu": (np.array([0.25]),),
    "clamp": (-1.0, 1.0),
    "maximum": (np.array(0.0),),
    "softmax": (1,),
    "log_softmax": (1,),
}


def find_units(row: Row) -> list[str] | str:
    """The activations of which a row is made, by name; where its handler refuses every value, the reason."""
    builder = NetworkBuilder((_SIZE,))
    value = ops.reshape(builder, builder.input, (1, _SIZE))
    try:
        result = _handler(row)(builder, value)
    except Unsupported as reason:
        return str(reason)
    network = builder.finish(ops.as_tensor(ops.reshape(builder, result, (-1,))))
    return sorted({activation.name for activation in network.activations})


def _handler(row: Row) -> Callable[..., Any]:
    """Of the first name that stands for a function."""
    for name in row.names("torch"):
        if name in OPERATORS:
            return lambda builder, value: OPERATORS[name](builder, value, *_ARGUMENTS.get(name, ()))
    for name in row.names("keras"):
        if name in FUNCTIONS:
            return FUNCTIONS[name]
    raise LookupError(f"The row '{row.title}' has no function whose units could be looked at; name one of torch or of keras.activations.")


def relu_only_methods() -> tuple[list[str], list[str]]:
    """The baselines, and the formulations of `dcembed.solve`, that refuse a network of tanh units."""
    builder = NetworkBuilder((1,))
    network = builder.finish(builder.activate(builder.input, find_activation("tanh")))
    program = dcembed.Program(cost=[0.0, 1.0], lb=[-1.0, -np.inf], ub=[1.0, np.inf])
    embedding = dcembed.Embedding(network, [0], [1])

    def refuses(solve: Callable[..., Any], **settings: Any) -> bool:
        try:
            solve(program, [embedding], options=dcembed.Options(time_limit=0.2, verbose=False, **settings))
        except NetworkError as error:
            return "ReLU units alone" in str(error)
        except DcembedError:
            # A package that is not installed, say.
            return False
        return False

    baselines = [name for name, solve in BASELINES.items() if refuses(solve)]
    return baselines, [name for name in FORMULATIONS if refuses(dcembed.solve, formulation=name)]
