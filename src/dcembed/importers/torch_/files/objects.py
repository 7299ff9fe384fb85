"""What the names in the pickles of torch stand for.

A pickle names functions and classes of Python. Here a name is text that is looked up in a short table: it stands for a type of numbers, for a
class of the file itself, or for one of a few functions that put numbers together. No other name stands for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from dcembed.errors import NetworkError
from dcembed.importers.torch_.files.tensors import STORAGES, Storage, tensor_from_bytes


@dataclass(frozen=True, eq=False)
class Record:
    """An object of a class that is defined in the file itself: the name of the class and the attributes."""

    kind: str
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordClass:
    """A class that is defined in the file itself."""

    kind: str


@dataclass(frozen=True)
class Function:
    """A function of the table."""

    name: str
    call: Callable[..., Any]


def find_object(module: str, name: str) -> RecordClass | Function | torch.dtype | None:
    """What a name stands for; None if it stands for nothing.

    Examples
    --------
    >>> find_object("torch", "FloatStorage")
    torch.float32
    >>> find_object("os", "system")
    """
    if module.partition(".")[0] == "__torch__":
        return RecordClass(f"{module}.{name}")
    return STORAGES.get(name) if module == "torch" else _FUNCTIONS.get(f"{module}.{name}")


def set_state(owner: Any, state: Any) -> None:
    """Give an object its attributes. Of a dictionary they say nothing about its entries."""
    if isinstance(owner, dict):
        return
    if not isinstance(owner, Record):
        raise NetworkError(f"A {type(owner).__name__} has no attributes to set.")
    if not isinstance(state, dict):
        raise NetworkError(
            f"An object of {owner.kind} is stored in a form of its own (__getstate__), and only its own code can read it; "
            "that code is not run. Export the model to ONNX and pass the .onnx file."
        )
    owner.attributes.update(state)


def _rebuild_tensor(storage: Any, offset: int, sizes: Sequence[int], strides: Sequence[int], *_: Any) -> torch.Tensor:
    if not isinstance(storage, Storage):
        raise NetworkError(f"A tensor is made of a {type(storage).__name__}, which is not a storage of numbers.")
    return tensor_from_bytes(storage, sizes, strides, offset)


def _dictionary() -> dict[str, Any]:
    """Its entries follow one by one."""
    return {}


def _first(value: Any, *_: Any) -> Any:
    return value


_CALLS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _dictionary,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils._rebuild_parameter": _first,
    "torch.jit._pickle.restore_type_tag": _first,
    "torch.jit._pickle.build_intlist": _first,
    "torch.jit._pickle.build_boollist": _first,
    "torch.jit._pickle.build_doublelist": _first,
    "torch.jit._pickle.build_tensorlist": _first,
}
_FUNCTIONS = {name: Function(name, call) for name, call in _CALLS.items()}
