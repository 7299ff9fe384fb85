"""The inputs of a Keras model: which of them become inputs of the network, which are constants, and what the model is called with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.importers.keras_.backend import keras
from dcembed.importers.lowering import unknown_input
from dcembed.importers.request import Request

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """One input of a model.

    Parameters
    ----------
    shape
        Of one point, without the batch axis; None where it is not known.
    dtype
        What the model takes.
    value
        Of an input that is a constant, for one point; None for one that is part of the points.
    """

    name: str
    shape: Shape | None
    dtype: str
    value: Array | None = None

    @property
    def size(self) -> int:
        """Numbers in one point."""
        return math.prod(self.shape or ())


@dataclass(frozen=True)
class Inputs:
    """All inputs of a model.

    Parameters
    ----------
    items
        In the order of the model.
    structure
        How they are packed for a call.
    order
        The names of those that points are made of, one after the other.
    batch
        How many points the model takes at a time; None for any number.
    """

    items: tuple[Input, ...]
    structure: Any
    order: tuple[str, ...]
    batch: int | None = None

    @property
    def free(self) -> list[Input]:
        """The inputs that points are made of, in the order in which they are in a point."""
        named = {item.name: item for item in self.items}
        return [named[name] for name in self.order]

    @property
    def shape(self) -> Shape | None:
        """The shape of one point of all of them, with a batch axis; None where some shape is not known."""
        return None if any(item.shape is None for item in self.free) else (1, sum(item.size for item in self.free))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names where each of several inputs is one number, as in models of named columns."""
        return self.order if len(self.order) > 1 and all(item.size == 1 for item in self.free) else None

    def pack(self, values: Mapping[str, Any]) -> Any:
        """What the model is called with."""
        return keras.tree.pack_sequence_as(self.structure, [values[item.name] for item in self.items])

    def split(self, points: Array) -> dict[str, Array]:
        """The values of all inputs at points (k, n_in)."""
        ends = np.cumsum([item.size for item in self.free])[:-1]
        parts = dict(zip(self.order, np.split(points, ends, axis=1), strict=True))
        return {
            item.name: parts[item.name].reshape(-1, *(item.shape or ()))
            if item.value is None
            else np.repeat(item.value[None], len(points), axis=0)
            for item in self.items
        }


def read_inputs(model: Any, request: Request) -> Inputs:
    """The inputs of a model, as the user asks for them."""
    items, structure = _declared(model)
    fixed = request.fixed or {}
    order = request.choose_inputs("Keras", [item.name for item in items])
    named = [_with_own_shape(item, (request.input_shapes or {}).get(item.name)) for item in items]
    shaped = [_with_shape(item, request.input_shape, len(order)) if item.name in order else item for item in named]
    _check_types([item for item in shaped if item.name in order])
    valued = [_with_value(item, fixed[item.name]) if item.name in fixed else item for item in shaped]
    sizes = {tensor.shape[0] for tensor in getattr(model, "inputs", None) or []}
    return Inputs(tuple(valued), structure, order, max((size for size in sizes if size is not None), default=None))


def check_shapes(inputs: Inputs) -> None:
    """Raise InputError if the shape of an input is not known."""
    for item in inputs.free:
        if item.shape is None:
            several = f"that of its input '{item.name}' is free" if len(inputs.items) > 1 else "the model does not say it"
            raise unknown_input("Keras", several)


def _declared(model: Any) -> tuple[list[Input], Any]:
    """What the model says of its inputs; one that was built by a call has no tensors for them, but keeps their shapes."""
    tensors = getattr(model, "inputs", None)
    if tensors:
        items = [Input(_name(tensor), _sizes(tensor.shape), str(tensor.dtype)) for tensor in tensors]
        own = getattr(model, "_inputs_struct", None)
        return items, (tensors if len(tensors) > 1 else tensors[0]) if own is None else own
    shapes = (model.get_build_config() or {}).get("input_shape")
    found: list[Input] = []
    dtype = str(getattr(model, "input_dtype", None) or keras.config.floatx())

    def walk(shape: Any, name: str) -> Any:
        if isinstance(shape, dict):
            return {key: walk(shape[key], str(key)) for key in sorted(shape)}
        if shape is not None and any(isinstance(size, list | tuple | dict) for size in shape):
            return [walk(part, f"input_{number}") for number, part in enumerate(shape)]
        found.append(Input(name, None if shape is None else _sizes(shape), dtype))
        return 0

    structure = walk(shapes, "input")
    return found, structure


def _name(tensor: Any) -> str:
    """That of the input layer: a tensor may have one of its own."""
    history = getattr(tensor, "_keras_history", None)
    return str(history.operation.name if history is not None else tensor.name)


def _sizes(shape: Sequence[int | None]) -> Shape | None:
    sizes = tuple(shape)[1:]
    return None if None in sizes else tuple(int(size) for size in sizes if size is not None)


def _check_types(items: Sequence[Input]) -> None:
    for item in items:
        if "float" not in item.dtype:
            raise InputError(
                f"The input '{item.name}' of the Keras model has type {item.dtype}, and points are made of floats. Give it a value if it is a "
                f"constant: load_network(model, inputs={{'{item.name}': ...}}) with None for the others; or load the part of the model behind it."
            )


def _with_own_shape(item: Input, shape: Shape | None) -> Input:
    """The shape that the user gives to an input by its name; one that the model has already is the same."""
    if shape is None:
        return item
    if item.shape is not None and item.shape != shape:
        raise InputError(f"load_network: the input '{item.name}' of the Keras model has shape {item.shape}; input_shape says {shape}.")
    return Input(item.name, shape, item.dtype)


def _with_shape(item: Input, input_shape: Shape | None, count: int) -> Input:
    """The user's `input_shape` is that of the only input, or of those whose own is not known."""
    if input_shape is None or (count > 1 and item.shape is not None):
        return item
    return Input(item.name, input_shape, item.dtype)


def _with_value(item: Input, value: Any) -> Input:
    """A value is given with or without the batch axis; one number stands for all of them."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise InputError(f"load_network: the value of the input '{item.name}' has type {array.dtype}; numbers are accepted.")
    shape = array.shape if item.shape is None else item.shape
    if array.shape == (1, *shape):
        array = array[0]
    if array.ndim and array.shape != shape:
        raise InputError(f"load_network: the value of the input '{item.name}' has shape {array.shape}; the Keras model takes {shape}.")
    return Input(item.name, shape, item.dtype, np.broadcast_to(array, shape))
