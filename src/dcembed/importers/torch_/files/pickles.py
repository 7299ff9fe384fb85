"""Tensors in the pickles of torch, read without running anything.

A pickle names functions and classes to call. Here a name stands for one of a few functions of this file, which do nothing but put numbers
together, or it is refused; nothing is ever looked up by it.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from dcembed.errors import InputError, NetworkError

Read = Callable[[str], bytes]

STORAGES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}


@dataclass(eq=False)
class Record:
    """An object of a class that is defined in the file itself: the name of the class and the attributes."""

    kind: str
    attributes: dict[str, Any] = field(default_factory=dict)

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):
            raise NetworkError(
                f"An object of {self.kind} is stored in a form of its own (__getstate__), and only its own code can read it; "
                "that code is not run. Export the model to ONNX and pass the .onnx file."
            )
        self.attributes = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Record:
        copied = Record(self.kind)
        memo[id(self)] = copied
        copied.attributes = copy.deepcopy(self.attributes, memo)
        return copied


def read_pickle(content: bytes, read: Read, where: str) -> Any:
    """What a pickle of torch holds: tensors, numbers, lists and dictionaries of them, and objects of classes in the file.

    Parameters
    ----------
    content
        The pickle.
    read
        Gives the bytes of a storage by its key.
    where
        What is read, for messages.
    """
    try:
        return _Reader(content, read, where).load()
    except (InputError, NetworkError):
        raise
    except Exception as error:
        raise NetworkError(f"{where} is damaged: {type(error).__name__}: {error}. Write it again, or check the download.") from error


def tensor_from_bytes(content: bytes, dtype: torch.dtype, sizes: Sequence[int], strides: Sequence[int], offset: int) -> torch.Tensor:
    """A tensor of its own memory; sizes and strides that reach beyond the bytes are an error of torch."""
    if min((*sizes, *strides, offset), default=0) < 0:
        raise NetworkError(f"A tensor of sizes {tuple(sizes)} and strides {tuple(strides)} cannot be.")
    if 0 in sizes:
        return torch.empty(tuple(sizes), dtype=dtype)
    # A view of few bytes can claim any size by strides of zero: its entries are counted before they are copied.
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    stored = len(content) // dtype.itemsize
    if last >= stored or torch.Size(sizes).numel() > max(stored, MOST_REPEATED):
        raise NetworkError(f"A tensor of sizes {tuple(sizes)} does not fit the {len(content)} bytes that are stored for it.")
    flat = torch.frombuffer(bytearray(content), dtype=dtype, count=stored)
    return torch.as_strided(flat, tuple(sizes), tuple(strides), offset).clone()


# Entries of a tensor that repeats its numbers by strides of zero.
MOST_REPEATED = 1_000_000


class _Reader(pickle.Unpickler):
    def __init__(self, content: bytes, read: Read, where: str) -> None:
        super().__init__(io.BytesIO(content))
        self._read = read
        self._where = where
        self._functions = _make_functions()

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "__torch__":
            return _record_class(f"{module}.{name}")
        if module == "torch" and name in STORAGES:
            return STORAGES[name]
        if (module, name) in self._functions:
            return self._functions[module, name]
        raise self._refusal(module, name)

    def persistent_load(self, pid: Any) -> tuple[bytes, torch.dtype]:
        kind, dtype, key = pid[:3]
        if kind != "storage" or not isinstance(dtype, torch.dtype):
            raise NetworkError(f"{self._where} refers to {pid[:1]}, which is not a storage of numbers.")
        return self._read(str(key)), dtype

    def _refusal(self, module: str, name: str) -> InputError:
        return InputError(
            f"{self._where} is not read: its pickle asks for {module}.{name}, and a pickle runs what it asks for when it is opened. "
            "Accepted are tensors and plain numbers. Open it yourself if you trust it and pass the live model to load_network, store the "
            "network with dcembed.save_network, or export the model to ONNX."
        )


def _record_class(kind: str) -> type[Record]:
    """A class whose new objects say what they are."""
    return type("ScriptRecord", (Record,), {"__new__": lambda cls: Record(kind)})


def _make_functions() -> dict[tuple[str, str], Any]:
    """New ones for every pickle, since a pickle may also set attributes of what it names."""

    def rebuild_tensor(storage: tuple[bytes, torch.dtype], offset: int, sizes: Sequence[int], strides: Sequence[int], *_: Any) -> Any:
        content, dtype = storage
        return tensor_from_bytes(content, dtype, sizes, strides, offset)

    def first(value: Any, *_: Any) -> Any:
        return value

    lists = [("torch.jit._pickle", f"build_{kind}list") for kind in ("int", "bool", "double", "tensor")]
    plain = [("torch._utils", "_rebuild_parameter"), ("torch.jit._pickle", "restore_type_tag"), *lists]
    return {("collections", "OrderedDict"): dict, ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor} | dict.fromkeys(plain, first)
