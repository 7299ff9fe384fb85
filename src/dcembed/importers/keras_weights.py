"""The weights in a Keras file: an HDF5 file that holds arrays of numbers and refers to nothing else, and is no larger than it looks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import h5py

from dcembed.errors import NetworkError
from dcembed.importers.archives import check_growth
from dcembed.importers.keras_backend import keras

Shapes = frozenset[tuple[int, ...]]


def read_shapes(source: Path | BinaryIO, path: Path) -> tuple[Shapes, int]:
    """The shapes of all arrays in an HDF5 file, and how many numbers they hold together; `path` is the file that messages name."""
    with h5py.File(source, "r") as file:
        arrays = list(_arrays(file, path))
        check_growth(sum(math.prod(array.shape) * array.dtype.itemsize for array in arrays), path)
        return frozenset(tuple(array.shape) for array in arrays), sum(math.prod(array.shape) for array in arrays)


def _arrays(group: Any, path: Path) -> Iterator[Any]:
    """Links are looked at before they are followed: one may lead out of the file, or in a circle."""
    seen: set[Any] = set()
    pending = [group]
    while pending:
        here = pending.pop()
        for name in here:
            if not isinstance(here.get(name, getlink=True), h5py.HardLink):
                raise NetworkError(f"{path} has weights that lie in another file ('{here.name}/{name}'); it was not followed there.")
            item = here[name]
            place = h5py.h5o.get_info(item.id).addr
            if place in seen:
                continue
            seen.add(place)
            if isinstance(item, h5py.Group):
                pending.append(item)
            elif _is_array(item):
                yield item
            else:
                raise NetworkError(f"{path} has something else than an array of numbers among its weights: '{here.name}/{name}'.")


def _is_array(item: Any) -> bool:
    if not isinstance(item, h5py.Dataset):
        return False
    if item.external or item.is_virtual:
        return False
    return item.dtype.kind in "fiub" and None not in (item.shape or ())


def make_initializer(shapes: Shapes, path: Path) -> Any:
    """An initializer that makes room for weights of these shapes alone: a description may ask for more than there is."""

    class FromFile(keras.initializers.Initializer):  # type: ignore[misc]
        def __call__(self, shape: Any, dtype: Any = None, **others: Any) -> Any:
            if tuple(shape) not in shapes:
                raise NetworkError(f"{path} describes a layer with weights of shape {tuple(shape)}, and there are none such in it.")
            return keras.ops.zeros(shape, dtype)

    return FromFile()
