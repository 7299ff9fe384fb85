"""Tensors in the pickles of torch, read as data.

A pickle is a list of instructions for a machine with a stack. Python's own machine imports and calls what they name. This one knows the
instructions that torch writes for numbers, text, lists, dictionaries and tensors, and names mean what a table says (`objects`); every other
instruction and every other name is refused. What it makes stays in proportion to the file.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from dcembed.errors import InputError, NetworkError
from dcembed.importers.torch_.files.objects import Function, Record, RecordClass, find_object, set_state
from dcembed.importers.torch_.files.tensors import Storage
from dcembed.network.growth import growth_of

Read = Callable[[str], bytes]

# Instructions in one pickle. Each puts at most one value on the stack or into the memory, so that these are bounded as well.
MOST_INSTRUCTIONS = 2_000_000
# Bytes of a whole number, since torch knows those of 64 bits, and letters of a name.
MOST_BYTES = 8
MOST_LETTERS = 500
# Values in what is read, each counted as often as it stands there; more only in proportion to the bytes. And how deep they lie in each other.
ALWAYS_ALLOWED = 100_000
MOST_GROWTH = 8
MOST_NESTED = 60


@dataclass
class _Machine:
    """What was read so far: the stack above the last mark, the stacks below the marks, the values by number, and the storages by their keys."""

    stream: io.BytesIO
    read: Read
    where: str
    stack: list[Any] = field(default_factory=list)
    below: list[list[Any]] = field(default_factory=list)
    memory: dict[int, Any] = field(default_factory=dict)
    storages: dict[tuple[str, torch.dtype], Storage] = field(default_factory=dict)
    num_bytes: int = 0
    num_numbers: int = 0


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
        value = _run(_Machine(io.BytesIO(content), read, where))
        _check_nesting(value, max(ALWAYS_ALLOWED, MOST_GROWTH * len(content)))
    except (InputError, NetworkError):
        raise
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise NetworkError(f"{where} is damaged: {reason}. Write it again, or check the download.") from error
    return value


def _run(machine: _Machine) -> Any:
    for _ in range(MOST_INSTRUCTIONS):
        place = machine.stream.tell()
        code = _take(machine, 1)
        if code == b".":
            return machine.stack.pop()
        if code not in _INSTRUCTIONS:
            raise _refuse_instruction(machine, code, place)
        _INSTRUCTIONS[code](machine)
    raise ValueError(f"its pickle has more than {MOST_INSTRUCTIONS:,} instructions")


def _check_nesting(value: Any, most: int) -> None:
    """Lists that stand in each other again and again make a few bytes endless."""
    waiting, seen, count = [(value, 0)], set[int](), 0
    while waiting:
        item, depth = waiting.pop()
        count += 1
        if depth > MOST_NESTED or count > most:
            raise ValueError(f"its pickle holds values that are more than {MOST_NESTED} deep in each other, or more than {most:,} of them")
        waiting += [(inner, depth + 1) for inner in _inside(item, seen)]


def _inside(value: Any, seen: set[int]) -> list[Any]:
    """What lies in a value. Objects may refer to each other, so each is looked into once."""
    if isinstance(value, Record) and id(value) not in seen:
        seen.add(id(value))
        return list(value.attributes.values())
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []


# What is refused.


def _refuse_instruction(machine: _Machine, code: bytes, place: int) -> NetworkError:
    return NetworkError(
        f"{machine.where} is not read: its pickle has the instruction {code!r} at byte {place}, which torch does not write for tensors and "
        "plain values. Write it again with torch, or check the download."
    )


def _refuse_name(machine: _Machine, name: str) -> InputError:
    return InputError(
        f"{machine.where} is not read: its pickle asks for {name}, and a pickle runs what it asks for when it is opened. "
        "Accepted are tensors and plain numbers. Open it yourself if you trust it and pass the live model to load_network, store the "
        "network with dcembed.save_network, or export the model to ONNX."
    )


# Plain values.


def _take(machine: _Machine, count: int) -> bytes:
    content = machine.stream.read(count)
    if len(content) < count:
        raise ValueError("its pickle ends too early")
    return content


def _unpack(machine: _Machine, form: str) -> Any:
    return struct.unpack(form, _take(machine, struct.calcsize(form)))[0]


def _constant(value: Any) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(value)


def _number(form: str) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(_unpack(machine, form))


def _long(machine: _Machine) -> None:
    count = _unpack(machine, "<B")
    if count > MOST_BYTES:
        raise ValueError(f"its pickle has a whole number of {count} bytes, and at most {MOST_BYTES} are accepted")
    machine.stack.append(int.from_bytes(_take(machine, count), "little", signed=True))


def _text(form: str) -> Callable[[_Machine], None]:
    """After its length."""
    return lambda machine: machine.stack.append(_take(machine, _unpack(machine, form)).decode("utf-8", "surrogatepass"))


def _start(machine: _Machine) -> None:
    version = _unpack(machine, "<B")
    if version > 5:
        raise ValueError(f"its pickle is of version {version}, and those up to 5 are known")


# Tuples, lists and dictionaries.


def _mark(machine: _Machine) -> None:
    machine.below.append(machine.stack)
    machine.stack = []


def _pop_marked(machine: _Machine) -> list[Any]:
    values, machine.stack = machine.stack, machine.below.pop()
    return values


def _pop(machine: _Machine, count: int) -> list[Any]:
    if len(machine.stack) < count:
        raise ValueError("its pickle takes more values than there are")
    values, machine.stack[-count:] = machine.stack[-count:], []
    return values


def _tuple(count: int) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(tuple(_pop(machine, count)))


def _tuple_of_marked(machine: _Machine) -> None:
    values = tuple(_pop_marked(machine))
    machine.stack.append(values)


def _extend(machine: _Machine, values: list[Any]) -> None:
    if not isinstance(machine.stack[-1], list):
        raise ValueError(f"its pickle adds entries to a {type(machine.stack[-1]).__name__}")
    machine.stack[-1].extend(values)


def _set_items(machine: _Machine, values: list[Any]) -> None:
    if not isinstance(machine.stack[-1], dict):
        raise ValueError(f"its pickle sets entries of a {type(machine.stack[-1]).__name__}")
    keys = values[::2]
    if not all(isinstance(key, str | int | float) for key in keys):
        raise ValueError("its pickle has a dictionary with keys that are neither text nor numbers")
    machine.stack[-1].update(zip(keys, values[1::2], strict=True))


# Values by number.


def _put(form: str) -> Callable[[_Machine], None]:
    def put(machine: _Machine) -> None:
        machine.memory[_unpack(machine, form)] = machine.stack[-1]

    return put


def _put_next(machine: _Machine) -> None:
    machine.memory[len(machine.memory)] = machine.stack[-1]


def _get(form: str) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(machine.memory[_unpack(machine, form)])


# Names, and what is made by them.


def _line(machine: _Machine) -> str:
    content = machine.stream.readline()
    if not content.endswith(b"\n"):
        raise ValueError("its pickle ends too early")
    return content[:-1].decode()


def _find(machine: _Machine, module: Any, name: Any) -> None:
    if not all(isinstance(text, str) and text.isprintable() and len(text) <= MOST_LETTERS for text in (module, name)):
        raise ValueError("its pickle asks for something that is no name")
    found = find_object(module, name)
    if found is None:
        raise _refuse_name(machine, f"{module}.{name}")
    machine.stack.append(found)


def _new_object(machine: _Machine) -> None:
    kind, arguments = _pop(machine, 2)
    if not isinstance(kind, RecordClass) or not isinstance(arguments, tuple) or arguments:
        raise ValueError(f"its pickle makes an object of a {type(kind).__name__}, or gives arguments to its class")
    machine.stack.append(Record(kind.kind))


def _call(machine: _Machine) -> None:
    function, arguments = _pop(machine, 2)
    if not isinstance(function, Function) or not isinstance(arguments, tuple):
        raise ValueError(f"its pickle calls a {type(function).__name__}")
    value = function.call(*arguments)
    if isinstance(value, torch.Tensor):
        machine.num_numbers += value.numel()
        growth_of(machine.num_bytes).check(machine.num_numbers, machine.where)
    machine.stack.append(value)


def _set_state(machine: _Machine) -> None:
    (state,) = _pop(machine, 1)
    set_state(machine.stack[-1], state)


def _storage(machine: _Machine) -> None:
    (place,) = _pop(machine, 1)
    kind, dtype, key = place[:3]
    if kind != "storage" or not isinstance(dtype, torch.dtype) or not isinstance(key, str):
        raise ValueError("its pickle refers to something that is not a storage of numbers")
    if (key, dtype) not in machine.storages:
        machine.storages[key, dtype] = Storage(machine.read(key), dtype)
        machine.num_bytes += len(machine.storages[key, dtype].content)
    machine.stack.append(machine.storages[key, dtype])


_INSTRUCTIONS: dict[bytes, Callable[[_Machine], None]] = {
    b"\x80": _start,
    b"\x95": lambda machine: _unpack(machine, "<Q"),
    b"N": _constant(None),
    b"\x88": _constant(True),
    b"\x89": _constant(False),
    b"J": _number("<i"),
    b"K": _number("<B"),
    b"M": _number("<H"),
    b"G": _number(">d"),
    b"\x8a": _long,
    b"X": _text("<I"),
    b"\x8c": _text("<B"),
    b"\x8d": _text("<Q"),
    b"(": _mark,
    b")": _constant(()),
    b"\x85": _tuple(1),
    b"\x86": _tuple(2),
    b"\x87": _tuple(3),
    b"t": _tuple_of_marked,
    b"]": lambda machine: machine.stack.append([]),
    b"a": lambda machine: _extend(machine, _pop(machine, 1)),
    b"e": lambda machine: _extend(machine, _pop_marked(machine)),
    b"}": lambda machine: machine.stack.append({}),
    b"s": lambda machine: _set_items(machine, _pop(machine, 2)),
    b"u": lambda machine: _set_items(machine, _pop_marked(machine)),
    b"q": _put("<B"),
    b"r": _put("<I"),
    b"\x94": _put_next,
    b"h": _get("<B"),
    b"j": _get("<I"),
    b"c": lambda machine: _find(machine, _line(machine), _line(machine)),
    b"\x93": lambda machine: _find(machine, *_pop(machine, 2)),
    b"R": _call,
    b"\x81": _new_object,
    b"b": _set_state,
    b"Q": _storage,
}
