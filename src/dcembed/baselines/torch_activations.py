"""The activations of networks as functions of torch, for gradients by its own means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcembed.errors import NetworkError
from dcembed.network.activations import Activation


def torch_activation(activation: Activation) -> Callable[[Any], Any]:
    """The function of torch that computes an activation of the table."""
    import torch
    import torch.nn.functional as F

    def power(a: Any, exponent: float, least: float) -> Any:
        return a.clamp_min(least) ** exponent + (a - least).clamp_max(0.0) * exponent * least ** (exponent - 1.0)

    functions: dict[str, Callable[..., Any]] = {
        "relu": lambda a: a.clamp_min(0.0),
        "softplus": lambda a: F.softplus(a, threshold=1e3),
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "elu": lambda a, alpha: F.elu(a, alpha),
        "gelu": F.gelu,
        "gelu_tanh": lambda a: F.gelu(a, approximate="tanh"),
        "silu": F.silu,
        "mish": F.mish,
        "softsign": F.softsign,
        "hardswish": F.hardswish,
        "sin": torch.sin,
        "erf": torch.erf,
        "arctan": torch.arctan,
        "exp": torch.exp,
        "square": torch.square,
        "log": lambda a, least: torch.log(a.clamp_min(least)) + (a - least).clamp_max(0.0) / least,
        "power": power,
    }
    if activation.name not in functions:
        raise NetworkError(f"This method computes gradients with torch, and the activation {activation} has no function there.")
    function = functions[activation.name]
    return lambda a: function(a, *activation.parameters)
