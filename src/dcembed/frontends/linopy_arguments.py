"""Inputs and outputs of a network as people write them in a linopy model: lists, mappings, and expressions with a dimension for the features."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import linopy
import numpy as np
import pandas as pd

from dcembed.errors import InputError
from dcembed.frontends.feature_names import check_names
from dcembed.frontends.linopy_batches import Dims
from dcembed.frontends.linopy_pieces import Piece, collect_dims, name_axes, read_piece

FEATURE_DIM, OUTPUT_DIM = "feature", "output"


def read_inputs(model: linopy.Model, inputs: Any, width: int, names: Sequence[str], dim: str | None) -> tuple[list[Piece], str]:
    """One piece for each feature, and what the dimension of the features is called."""
    if isinstance(inputs, Mapping):
        given = {str(key): value for key, value in inputs.items()}
        inputs = [given[key] for key in _by_name(list(given), names, "the inputs")]
    if isinstance(inputs, np.ndarray) and inputs.dtype == object:
        inputs = list(inputs)
    if isinstance(inputs, list | tuple):
        if len(inputs) != width:
            raise InputError(
                f"embed: inputs is a list of {len(inputs)}, but the network has {width} inputs. Give one entry for each feature, or one "
                "variable or expression with a dimension of the features, without a list around it."
            )
        return _read_list(model, inputs, "input"), dim or FEATURE_DIM
    whole = read_piece(inputs, "inputs", model)
    found = _feature_dim(whole, width, dim)
    if found is None:
        return [whole], FEATURE_DIM
    index = whole.constant.indexes.get(found)
    order: Sequence[int] = range(width)
    if names and index is not None and all(isinstance(entry, str) for entry in index):
        order = [list(index).index(key) for key in _by_name(list(index), names, f"the coordinates of '{found}'")]
    return [whole.part(f"input {number}", found, place) for number, place in enumerate(order)], str(found)


def _read_list(model: linopy.Model, values: Sequence[Any], what: str) -> list[Piece]:
    """One piece for each value; data without names of dimensions gets those of the others."""
    labels = [f"{what} {number}" + _called(value) for number, value in enumerate(values)]
    is_bare = [isinstance(value, np.ndarray | pd.Series | pd.DataFrame) for value in values]
    known = collect_dims([read_piece(v, label, model) for v, label, bare in zip(values, labels, is_bare, strict=True) if not bare])
    return [read_piece(name_axes(value, known, label), label, model) for value, label in zip(values, labels, strict=True)]


def _called(value: Any) -> str:
    name = getattr(value, "name", None)
    # An expression of linopy that has no name calls itself "None".
    return f" ('{name}')" if isinstance(name, str) and name not in ("", "None") else ""


def _by_name(given: list[str], names: Sequence[str], what: str) -> Sequence[str]:
    if not names:
        raise InputError(f"embed: {what} have names, but the network has no names of features. Give a list in their order.")
    check_names(given, names, f"embed: {what}")
    return names


def _feature_dim(piece: Piece, width: int, dim: str | None) -> Hashable | None:
    sizes = {d: piece.constant.sizes[d] for d in piece.dims}
    if dim is not None:
        if sizes.get(dim) != width:
            raise InputError(f"embed: inputs has the dimensions {_sizes(sizes)}; feature_dim='{dim}' should be one of {width} coordinates.")
        return dim
    fit = [d for d, size in sizes.items() if size == width]
    if FEATURE_DIM in fit:
        return FEATURE_DIM
    if width == 1:
        return None
    if len(fit) != 1:
        raise InputError(
            f"embed: inputs has the dimensions {_sizes(sizes)}, and {'none' if not fit else 'more than one'} of them has {width} coordinates, as many as "
            "the network has inputs. Say feature_dim=..., or give a list with one expression for each input."
        )
    return fit[0]


def _sizes(sizes: Mapping[Hashable, int]) -> str:
    return "(" + ", ".join(f"{dim}: {size}" for dim, size in sizes.items()) + ")"


def read_outputs(model: linopy.Model, outputs: Any, width: int, known: Dims, dim: str | None) -> tuple[list[Piece], str | None]:
    """One piece for each output, and the dimension that they came from."""
    if isinstance(outputs, list | tuple):
        if len(outputs) != width:
            raise InputError(f"embed: outputs is a list of {len(outputs)}, but the network has {width} outputs. Give one entry for each.")
        pieces, found = _read_list(model, outputs, "output"), (None if width == 1 else OUTPUT_DIM)
    else:
        whole = read_piece(outputs, "outputs", model)
        own = [d for d in whole.dims if d == dim or (dim is None and d not in known and whole.constant.sizes[d] == width)]
        if len(own) == 1 and whole.constant.sizes[own[0]] == width:
            pieces, found = [whole.part(f"output {number}", own[0], number) for number in range(width)], str(own[0])
        elif width == 1 and dim is None:
            pieces, found = [whole], None
        else:
            sizes = {d: whole.constant.sizes[d] for d in whole.dims}
            raise InputError(
                f"embed: outputs has the dimensions {_sizes(sizes)}, but the network has {width} outputs: beside those of the inputs ({', '.join(map(str, known)) or 'none'}) "
                f"one dimension of {width} coordinates is expected. Say output_dim=..., or give a list with one variable for each output."
            )
    for piece in pieces:
        missing = [str(d) for d in known if d not in piece.dims]
        if missing or piece.is_data:
            why = f"lacks the dimension '{missing[0]}' of the inputs, so one would stand for several predictions" if missing else "is data"
            raise InputError(f"embed: {piece.label} {why}. Leave outputs out to have the variable made.")
    return pieces, found
