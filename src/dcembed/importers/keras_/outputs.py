"""The outputs of a Keras model: which of them become predictions, and what goes into a sigmoid or softmax at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dcembed.errors import InputError
from dcembed.importers import operations as ops
from dcembed.importers.operations import Value
from dcembed.importers.request import Request
from dcembed.network.builder import NetworkBuilder, Tensor


@dataclass(frozen=True)
class Outputs:
    """Names of all outputs of a model in its own order, and the places of those that become predictions."""

    names: tuple[str, ...]
    chosen: tuple[int, ...]


def name_outputs(structure: Any, layers: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Keys where the outputs are a mapping, else the names of the layers that give them, else numbers."""
    if isinstance(structure, dict):
        return tuple(str(key) for key in sorted(structure))
    if layers is not None and len(layers) == count:
        return tuple(map(str, layers))
    return ("output",) if count == 1 else tuple(f"output_{number}" for number in range(count))


def choose_outputs(names: tuple[str, ...], request: Request) -> Outputs:
    """The outputs that a user asks for, all by default."""
    if request.outputs is None:
        return Outputs(names, tuple(range(len(names))))
    for name in request.outputs:
        if name not in names:
            raise InputError(f"load_network: the Keras model has no output '{name}'. Its outputs are {', '.join(map(repr, names))}.")
    return Outputs(names, tuple(names.index(name) for name in request.outputs))


def join(builder: NetworkBuilder, values: Sequence[Value]) -> Tensor:
    """All values flattened, one after the other."""
    flat = [ops.reshape(builder, value, (-1,)) for value in values]
    return ops.as_tensor(ops.concat(builder, flat, 0) if len(flat) > 1 else flat[0])


def find_logits(values: Sequence[Value], outputs: Outputs, request: Request) -> list[Value]:
    """What goes into the sigmoid, softmax or log-softmax at the end of each output that has one."""
    found = [logits for value in values if (logits := ops.drop_head(value)) is not None]
    if not found:
        names = ", ".join(f"'{outputs.names[number]}'" for number in outputs.chosen)
        raise InputError(
            f'load_network: outputs="logits" does not apply: no output of the Keras model ({names}) ends in a sigmoid, softmax or log-softmax. '
            "Leave outputs out."
        )
    request.heads[:] = [head for value in values for head in ops.heads_of(value)]
    return list(found)
