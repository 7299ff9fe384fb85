"""What a live module returns: one tensor, or several in tuples, dictionaries and dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from dcembed.arrays import Array
from dcembed.errors import DcembedError, InputError, NetworkError, UnsupportedLayerError
from dcembed.importers import operations as ops
from dcembed.importers.request import Request
from dcembed.importers.torch_.recording.names import name_outputs
from dcembed.importers.torch_.recording.recorder import Recorder
from dcembed.network.builder import NetworkBuilder, Tensor


def flatten(returned: Any) -> list[Any]:
    """All values that a module returns, one after the other."""
    return list(pytree.tree_leaves(_open(returned)))


def _open(value: Any) -> Any:
    """Dataclasses as dictionaries."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if getattr(value, field.name) is not None}
    return value


def output_names(returned: Any) -> tuple[str, ...]:
    """The names of all values that a module returns."""
    return name_outputs(_open(returned))


def choose_outputs(returned: Any, depends: Sequence[bool], request: Request) -> list[int]:
    """The numbers of those that the user names, or of all that depend on the input."""
    names = output_names(returned)
    if request.outputs is not None:
        for name in request.outputs:
            if name not in names:
                raise InputError(f"load_network: outputs has '{name}', but the torch model returns {', '.join(names)}.")
        return [names.index(name) for name in request.outputs]
    chosen = [place for place, computed in enumerate(depends) if computed]
    if not chosen:
        raise NetworkError(
            "The torch model returns nothing that depends on its input. Accepted are modules that return tensors computed from it."
        )
    return chosen


def join(builder: NetworkBuilder, values: Sequence[Tensor]) -> Tensor:
    """All outputs, one after the other."""
    flat = [builder.reshape(value, (-1,)) for value in values]
    return flat[0] if len(flat) == 1 else builder.concat(flat)


def drop_heads(values: Sequence[Tensor], request: Request) -> list[Tensor]:
    """The outputs, without the last sigmoid, softmax or log-softmax of those that end in one."""
    dropped = [ops.drop_head(value) for value in values]
    if all(value is None for value in dropped):
        raise InputError(
            'load_network: outputs="logits" asks for what goes into a last sigmoid, softmax or log-softmax, but the torch model does not '
            "end in one. Leave it out."
        )
    request.heads[:] = [head for value in values for head in ops.heads_of(value) or (None,)]
    return [value if head is None else head for value, head in zip(values, dropped, strict=True)]


def read_outputs(recorder: Recorder, leaves: Sequence[Any], names: Sequence[str], chosen: Sequence[int]) -> list[Tensor]:
    """The values of some of the outputs that a model returns; layers that others need do not matter."""
    causes = {place: _causes(recorder, leaves[place]) for place in chosen}
    try:
        recorder.lowering.raise_problems(frozenset().union(*causes.values()))
        return [_read_output(recorder, leaves[place], names[place]) for place in chosen]
    except (NetworkError, UnsupportedLayerError) as error:
        good = [names[place] for place in chosen if not causes[place] and _is_value(recorder, leaves[place])]
        raise with_choice(error, [names[place] for place in chosen], good) from error


def with_choice(error: DcembedError, names: Sequence[str], good: Sequence[str]) -> DcembedError:
    """An error of some outputs; it says which others can be chosen."""
    if not good:
        return error
    bad = [name for name in names if name not in good]
    return UnsupportedLayerError(
        f"{error}\nThis is about {_say(bad)}; {_say(good)} can be embedded: load_network(model, outputs={list(good)!r})."
    )


def _say(names: Sequence[str]) -> str:
    return f"the output{'s' if len(names) > 1 else ''} {', '.join(repr(name) for name in names)}"


def _causes(recorder: Recorder, leaf: Any) -> frozenset[int]:
    return recorder.memory.causes(leaf) if isinstance(leaf, torch.Tensor) else frozenset()


def _is_value(recorder: Recorder, leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and recorder.memory.holds(leaf) and isinstance(recorder.memory.read(leaf), Tensor)


def _read_output(recorder: Recorder, leaf: Any, name: str) -> Tensor:
    if not isinstance(leaf, torch.Tensor) or not recorder.memory.holds(leaf):
        raise NetworkError(f"The output '{name}' of the torch model does not depend on its input. Choose others by outputs=.")
    value = recorder.memory.read(leaf)
    if not isinstance(value, Tensor):
        raise UnsupportedLayerError(
            f"The output '{name}' of the torch model is a comparison, or holds places of entries (of a maximum, say), which jump. "
            "Choose the others by outputs=, or take the comparison out of the model and put it into the optimization model."
        )
    return value


def find_rows(run: Callable[[Array], Any], points: Array, chosen: Sequence[int]) -> Array:
    """What some outputs of a batch of points are, one row per point.

    A batch axis may be another one than the first: it is the first axis that is as many times as long as for one point as there are points.
    """
    several = flatten(run(points))
    if all(several[place].ndim and len(several[place]) == len(points) for place in chosen):
        return np.concatenate([_rows(several[place], 0, len(points)) for place in chosen], axis=1)
    one = flatten(run(points[:1]))
    return np.concatenate(
        [_rows(several[place], _batch_axis(one[place], several[place], len(points)), len(points)) for place in chosen], axis=1
    )


def _batch_axis(one: torch.Tensor, several: torch.Tensor, count: int) -> int:
    sizes = zip(one.shape, several.shape, strict=False)
    return next((axis for axis, (size, other) in enumerate(sizes) if other == count * size), 0)


def _rows(value: torch.Tensor, axis: int, count: int) -> Array:
    array = value.detach().double().numpy()
    if array.ndim <= axis or array.shape[axis] % count:
        raise NetworkError(
            f"The torch model gives values of shape {array.shape} for a batch of {count} points: it mixes the points of a batch. "
            "Accepted are models which treat every point of a batch on its own; of several outputs, those that do can be chosen by outputs=."
        )
    rows: Array = np.moveaxis(array, axis, 0).reshape(count, -1)
    return rows
