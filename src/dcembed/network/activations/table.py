"""All activations by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dcembed.errors import NetworkError
from dcembed.network.activations import smooth
from dcembed.network.activations.activation import Activation
from dcembed.network.activations.relu import relu

# A name and its parameters are what files keep.
ACTIVATIONS: dict[str, Callable[..., Activation]] = {
    "relu": relu,
    **{
        factory.__name__: factory
        for factory in (
            smooth.softplus,
            smooth.sigmoid,
            smooth.tanh,
            smooth.elu,
            smooth.gelu,
            smooth.gelu_tanh,
            smooth.silu,
            smooth.mish,
            smooth.softsign,
            smooth.hardswish,
            smooth.sin,
            smooth.erf,
            smooth.arctan,
            smooth.exp,
            smooth.square,
            smooth.log,
            smooth.power,
        )
    },
}


def find_activation(name: str, parameters: Sequence[float] = ()) -> Activation:
    """The activation of this name.

    Examples
    --------
    >>> import numpy as np
    >>> find_activation("elu", (0.5,)).value(np.array([2.0]))
    array([2.])
    """
    if name not in ACTIVATIONS:
        raise NetworkError(f"There is no activation '{name}'. Known are {', '.join(ACTIVATIONS)}.")
    try:
        return ACTIVATIONS[name](*map(float, parameters))
    except TypeError:
        raise NetworkError(f"The activation '{name}' does not take the parameters {tuple(parameters)}.") from None
