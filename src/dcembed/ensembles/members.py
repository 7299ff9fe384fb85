"""The members of an ensemble, from whatever the user has of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.ensembles.sklearn_ import read_sklearn
from dcembed.errors import DcembedError, InputError, NetworkError
from dcembed.importers import load_network
from dcembed.network.network import Network
from dcembed.reading import require_iterable, show


@dataclass(frozen=True, eq=False)
class Members:
    """Networks that share their inputs.

    Parameters
    ----------
    networks
        One for each member, all with as many outputs.
    columns
        For each member, which inputs of the ensemble are its own; None for all of them, in order.
    num_inputs, input_names
        Of the ensemble.
    weights
        Of the members in their mean, shape (M,); their sum is 1.
    """

    networks: tuple[Network, ...]
    columns: tuple[Array | None, ...]
    num_inputs: int
    input_names: tuple[str, ...] | None
    weights: Array


def read_members(given: Any) -> Members:
    """Load what the user gave: a list of models, or one model of scikit-learn that has several inside."""
    model = read_sklearn(given)
    columns: tuple[Array | None, ...]
    if model is None:
        models = _read_list(given)
        networks = [_load(member, number, None) for number, member in enumerate(models)]
        columns, num_inputs, names, weights = (None,) * len(networks), networks[0].num_inputs, None, _equal(len(networks))
    else:
        networks = [_load(member, number, model.outputs) for number, member in enumerate(model.members)]
        num_inputs = networks[0].num_inputs if model.num_inputs is None else model.num_inputs
        weights = _equal(len(networks)) if model.weights is None else model.weights / model.weights.sum()
        columns, names = model.columns, model.input_names
    # Sizes come first: members that encode their columns have other names, too, and the number of their inputs is what says so.
    _check_sizes(networks, columns, num_inputs)
    return Members(tuple(networks), columns, num_inputs, names or _names(networks), weights)


def _equal(size: int) -> Array:
    return np.full(size, 1.0 / size)


def _read_list(given: Any) -> tuple[Any, ...]:
    if isinstance(given, str | bytes | dict) or not hasattr(given, "__iter__") or isinstance(given, Network):
        raise InputError(
            f"ensemble: members is not accepted: a list of networks, models or paths of files is expected, or one fitted BaggingRegressor "
            f"or VotingRegressor of scikit-learn; received {show(given)}. Put the members into a list."
        )
    models = require_iterable(given, "ensemble: members")
    if not models:
        raise InputError("ensemble: members is an empty list. At least one network is needed.")
    return models


def _load(model: Any, number: int, outputs: str | None) -> Network:
    try:
        return load_network(model, outputs=outputs)
    except DcembedError as error:
        # Its kind stays, so that a missing package or a layer that cannot be embedded is what it was.
        raise type(error)(f"ensemble: member {number} cannot be read. {error}") from error


def _names(networks: Sequence[Network]) -> tuple[str, ...] | None:
    """The names of the inputs, which all members that have names have to agree on."""
    named = [(number, network.input_names) for number, network in enumerate(networks) if network.input_names is not None]
    for number, names in named:
        first, expected = named[0]
        if names != expected:
            raise NetworkError(
                f"ensemble: member {number} has inputs with the names {', '.join(names or ())}, but member {first} has "
                f"{', '.join(expected or ())}. Members share their inputs: train them on the same columns, in the same order."
            )
    return named[0][1] if named else None


def _check_sizes(networks: Sequence[Network], columns: Sequence[Array | None], num_inputs: int) -> None:
    num_outputs = networks[0].num_outputs
    for number, (network, own) in enumerate(zip(networks, columns, strict=True)):
        expected = num_inputs if own is None else own.size
        if network.num_inputs != expected:
            raise NetworkError(
                f"ensemble: member {number} has {network.num_inputs} inputs where {expected} are expected. Members share their inputs: "
                + ("all need the same number of them." if own is None else "one that encodes its columns cannot be in a bag of columns.")
            )
        if network.num_outputs != num_outputs:
            raise NetworkError(
                f"ensemble: member {number} has {network.num_outputs} outputs, but member 0 has {num_outputs}. "
                "All members predict the same quantities: pass networks with the same number of outputs."
            )
