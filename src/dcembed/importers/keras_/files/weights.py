"""The weights in a Keras file: read without HDF5's library, looked at, and handed to Keras in a file of our own."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py

from dcembed.errors import NetworkError
from dcembed.importers.keras_.backend import keras
from dcembed.importers.keras_.files.hdf5_files import Node, arrays_of, read_hdf5


@dataclass(frozen=True)
class Weights:
    """What there is in an HDF5 file, the shapes of its arrays, and how many numbers they hold together."""

    root: Node
    shapes: frozenset[tuple[int, ...]]
    num_numbers: int


def read_weights(content: bytes, path: Path) -> Weights:
    """The weights in an HDF5 file; `path` is the file that messages name."""
    root = read_hdf5(content)
    arrays = list(arrays_of(root))
    if any(array.dtype.kind not in "fiu" for array in arrays):
        raise NetworkError(f"{path} has something else than arrays of numbers among its weights.")
    return Weights(root, frozenset(array.shape for array in arrays), sum(array.size for array in arrays))


def load_weights(model: Any, weights: Weights, name: str) -> None:
    """Give a model its weights: Keras reads them from files, and by the name of the file."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / name
        with h5py.File(target, "w") as file:
            _write(file, weights.root)
        model.load_weights(str(target))


def _write(group: Any, node: Node) -> None:
    for name, values in node.attributes.items():
        group.attrs[name] = values
    for name, member in node.members.items():
        if member.values is None:
            _write(group.create_group(name), member)
        else:
            group.create_dataset(name, data=member.values)


def make_initializer(weights: Weights, path: Path) -> Any:
    """An initializer that makes room for weights of these shapes alone: a description may ask for more than there is."""

    class FromFile(keras.initializers.Initializer):  # type: ignore[misc]
        def __call__(self, shape: Any, dtype: Any = None, **others: Any) -> Any:
            if tuple(shape) not in weights.shapes:
                raise NetworkError(f"{path} describes a layer with weights of shape {tuple(shape)}, and there are none such in it.")
            return keras.ops.zeros(shape, dtype)

    return FromFile()
