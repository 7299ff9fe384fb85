"""Inputs with names: columns of a DataFrame, labels of a Series, keys of a dict, put into the order in which the model was fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dcembed.errors import InputError
from dcembed.frontends.messages import warn_user
from dcembed.network.network import Network

# Names that a message lists before it counts the rest.
MAX_NAMES = 8


def by_name(value: Any, network: Network, function: str = "add_predictor_constr") -> Any:
    """`value` with its features in the order of `network.input_names`; as it is where either side has no names.

    A DataFrame must have exactly these columns, in any order. A Series is one evaluation, with a label for each feature; for a network
    with a single input it is one evaluation for each of its entries. The keys of a dict are names, or tuples that end in one; a dict
    whose keys are no texts is taken in its order. A list may hold one dict for each evaluation.
    """
    if hasattr(value, "columns"):
        return _frame_by_name(value, network, function)
    if hasattr(value, "to_frame") and hasattr(value, "index"):
        return _frame_by_name(_as_frame(value, network), network, function)
    if isinstance(value, Mapping):
        return _mapping_by_name(value, network, function)
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        return [by_name(item, network, function) for item in value]
    return value


def _as_frame(series: Any, network: Network) -> Any:
    """A Series as the DataFrame that was meant."""
    is_column = network.num_inputs == 1 and tuple(series.index) != network.input_names
    if not is_column:
        return series.to_frame().T
    return series.to_frame(network.input_names[0]) if series.name is None and network.input_names else series.to_frame()


def _frame_by_name(frame: Any, network: Network, function: str) -> Any:
    names, columns = network.input_names, list(frame.columns)
    if names is None:
        return frame
    if columns == list(range(network.num_inputs)):
        warn_user(
            f"{function}: the columns of the inputs are numbered, but the model was fitted with names ({_list(names)}). They are "
            "taken in the order of the fit; name the columns to have them matched."
        )
        return frame
    check_names(columns, names, f"{function}: the columns of the inputs")
    return frame[list(names)]


def _mapping_by_name(mapping: Mapping[Any, Any], network: Network, function: str) -> Any:
    names = network.input_names
    if names is None:
        return mapping
    evaluations: dict[Any, dict[Any, Any]] = {}
    for key, value in mapping.items():
        place = key if isinstance(key, tuple) and key else (key,)
        evaluations.setdefault(place[:-1], {})[place[-1]] = value
    keys = [name for row in evaluations.values() for name in row]
    if not any(key in names for key in keys) and (network.num_inputs == 1 or not all(isinstance(key, str) for key in keys)):
        return mapping
    for row in evaluations.values():
        check_names(list(row), names, f"{function}: the keys of the inputs")
    rows = [[row[name] for name in names] for row in evaluations.values()]
    return rows[0] if len(rows) == 1 else rows


def check_names(received: Sequence[Any], names: Sequence[str], what: str) -> None:
    """Raise InputError unless `received` are the names, each once."""
    missing = [name for name in names if name not in received]
    surplus = [name for name in received if name not in names]
    twice = sorted({name for name in names if received.count(name) > 1})
    if missing or surplus or twice:
        wrong = [f"{label}: {_list(found)}." for label, found in (("Missing", missing), ("Surplus", surplus), ("Twice", twice)) if found]
        raise InputError(
            f"{what} are not the features that the model was fitted on. {' '.join(wrong)} "
            f"Expected, in any order: {_list(names)}. For inputs by position pass a list or an array without names."
        )


def _list(names: Sequence[Any]) -> str:
    rest = len(names) - MAX_NAMES
    return ", ".join(repr(name) for name in names[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")
