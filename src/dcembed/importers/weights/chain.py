"""Chains of linear layers: files that hold weights, and what is done between them.

Such a file has no graph, and no framework that could run it. What its layers are joined by must be said, by the file or by the user.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError
from dcembed.importers.check import check
from dcembed.importers.request import Request
from dcembed.importers.weights.named_functions import NamedFunction, read_function
from dcembed.network.builder import NetworkBuilder
from dcembed.network.network import Network
from dcembed.reading import show


@dataclass(frozen=True)
class Layers:
    """The linear layers of a file, and what is done to its inputs first: W_l (outputs, inputs), b_l or None, (x - mean) / std."""

    weights: Sequence[Array]
    biases: Sequence[Array | None]
    mean: Array
    std: Array

    def __str__(self) -> str:
        """The sizes, for messages."""
        sizes = [self.weights[0].shape[1], *(weight.shape[0] for weight in self.weights)]
        shown = [*sizes[:5], "...", *sizes[-2:]] if len(sizes) > 8 else sizes
        return f"{len(self.weights)} linear layers ({' -> '.join(map(str, shown))})"


@dataclass(frozen=True)
class Chain:
    """Linear layers, and the function after each of them; the last one is that of the output."""

    layers: Layers
    functions: Sequence[NamedFunction]


@dataclass(frozen=True)
class Checks:
    """Points (k, n_in) and the predictions there (k, n_out) that came with the weights."""

    points: Array
    values: Array


LINEAR = NamedFunction("linear")
CHECK_KEYS = ("check_points", "check_values")


def build_chain(chain: Chain) -> Network:
    """phi_L(W_L ... phi_1(W_1 (x - mean) / std + b_1) ... + b_L)."""
    layers = chain.layers
    builder = NetworkBuilder((layers.weights[0].shape[1],))
    with np.errstate(all="ignore"):
        value = builder.scale(builder.shift(builder.input, -layers.mean), 1.0 / layers.std)
        for index, (weight, bias, function) in enumerate(zip(layers.weights, layers.biases, chain.functions, strict=True), start=1):
            try:
                value = function.build(builder, builder.linear(value, weight, bias))
            except NetworkError as error:
                raise NetworkError(f"At layer {index}. {error}") from None
    return builder.finish(value)


def evaluate_chain(chain: Chain, points: Array) -> Array:
    """The same in plain numpy, to compare with."""
    layers = chain.layers
    value = (points - layers.mean) / layers.std
    for weight, bias, function in zip(layers.weights, layers.biases, chain.functions, strict=True):
        value = function.evaluate(value @ weight.T + (0.0 if bias is None else bias))
    return value


def load_chain(layers: Layers, stated: Any, request: Request, path: Path, how: str, checks: Checks | None = None) -> Network:
    """The network, compared with plain numpy and with the values that are in the file.

    Parameters
    ----------
    stated
        The architecture in the file; None where it does not say.
    how
        What to write into such a file so that it says so, for messages.
    checks
        What whoever wrote the file got; None where it is not in there.
    """
    chain = Chain(layers, _read_functions(layers, stated, request.architecture, path, how))
    network = _compare(chain)
    if checks is not None:
        _compare_with_file(network, chain, checks, path)
    if not request.logits:
        return network
    request.heads[:] = ["sigmoid"]
    return _compare(_before_link(chain, path))


def _compare(chain: Chain) -> Network:
    return check(build_chain(chain), lambda points: evaluate_chain(chain, points), "file")


def _compare_with_file(network: Network, chain: Chain, checks: Checks, path: Path) -> None:
    points, values = checks.points, checks.values
    if points.ndim != 2 or values.ndim != 2 or (*points.shape[1:], *values.shape[1:]) != (network.num_inputs, network.num_outputs):
        raise NetworkError(
            f"check_points and check_values in {path} have shapes {points.shape} and {values.shape}; "
            f"(k, {network.num_inputs}) and (k, {network.num_outputs}) are accepted."
        )
    check(
        network,
        lambda _: values,
        "file at its check_points",
        precision="float64" if values.dtype == np.float64 else "float32",
        points=points.astype(np.float64),
        advice="The check_values in the file are those of another network: of other weights, another normalization or other activations "
        f"than {', '.join(dict.fromkeys(map(str, chain.functions)))}.",
    )


def _before_link(chain: Chain, path: Path) -> Chain:
    *others, last = chain.functions
    if last.name != "sigmoid":
        raise InputError(
            f'load_network: outputs="logits" asks for what goes into a sigmoid at the end, and {path} ends with {last}. Leave it out.'
        )
    return Chain(chain.layers, [*others, LINEAR])


def read_checks(arrays: Mapping[str, Array], path: Path) -> Checks | None:
    """The check_points and check_values among the arrays of a file."""
    found = [name for name in CHECK_KEYS if name in arrays]
    if not found:
        return None
    if len(found) < len(CHECK_KEYS) or any(arrays[name].dtype.kind != "f" or not arrays[name].size for name in found):
        raise NetworkError(
            f"check_points and check_values of {path} go together, as matrices of floats; found are {_list_arrays(arrays, found)}."
        )
    return Checks(*(arrays[name] for name in CHECK_KEYS))


def _list_arrays(arrays: Mapping[str, Array], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {arrays[name].shape} {arrays[name].dtype}" for name in names)


# The architecture.


def _read_functions(layers: Layers, stated: Any, asked: Any, path: Path, how: str) -> list[NamedFunction]:
    in_file = None if stated is None else _expand(stated, layers, f"The architecture in {path}")
    by_user = None if asked is None else _expand(asked, layers, "load_network: architecture")
    if in_file is not None and by_user is not None and in_file != by_user:
        raise InputError(
            f"load_network: architecture says {_say(by_user)}, but {path} itself says {_say(in_file)}. Leave out architecture, or correct the file."
        )
    functions = by_user or in_file
    if functions is None and len(layers.weights) > 1:
        raise InputError(
            f'{path} holds {layers} and not what is done between them. Say it: load_network(path, architecture="relu"), or "tanh" and so on, '
            f"or a list with one name for each hidden layer; --architecture on the command line; or {how}."
        )
    return functions or [LINEAR]


def _expand(architecture: Any, layers: Layers, where: str) -> list[NamedFunction]:
    """One function for each layer. A single name is that of all hidden layers; a list may have one more for the output."""
    names = _as_list(architecture, where)
    num_hidden = len(layers.weights) - 1
    if isinstance(names, str):
        return [*[read_function(names, where)] * num_hidden, LINEAR]
    functions = [read_function(name, where) for name in names]
    if len(functions) not in (num_hidden, num_hidden + 1):
        raise InputError(
            f"{where} has {len(functions)} names for {layers}. Accepted are one name, or a list of {num_hidden} names, "
            f"one for each hidden layer, or of {num_hidden + 1}, with one for the output."
        )
    return functions if len(functions) > num_hidden else [*functions, LINEAR]


def _as_list(architecture: Any, where: str) -> str | list[Any]:
    """A name, or a list of names, which may be written in JSON."""
    if isinstance(architecture, np.ndarray) and architecture.dtype.kind in "US":
        architecture = architecture.astype(np.str_).tolist()
    if isinstance(architecture, str) and architecture.lstrip().startswith("["):
        try:
            architecture = json.loads(architecture)
        except (ValueError, RecursionError):
            raise InputError(f"{where}: {show(architecture)} is not a list in JSON.") from None
    if not isinstance(architecture, str | list | tuple):
        raise InputError(
            f"{where} is not accepted: the name of an activation or a list of names is expected, received {show(architecture)}."
        )
    return architecture if isinstance(architecture, str) else list(architecture)


def _say(functions: Sequence[NamedFunction]) -> str:
    return ", ".join(map(str, functions))
