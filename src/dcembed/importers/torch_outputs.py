"""What a live module returns: one tensor, or several in tuples, dictionaries and dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError
from dcembed.importers.request import Request
from dcembed.importers.torch_program import name_outputs


def flatten(returned: Any) -> list[Any]:
    """All values that a module returns, one after the other."""
    return list(pytree.tree_leaves(_open(returned)))


def _open(value: Any) -> Any:
    """Dataclasses as dictionaries."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if getattr(value, field.name) is not None}
    return value


def choose_outputs(returned: Any, depends: Sequence[bool], request: Request) -> list[int]:
    """The numbers of those that the user names, or of all that depend on the input."""
    names = name_outputs(_open(returned))
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
