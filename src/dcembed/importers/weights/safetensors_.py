"""Read the state dict of a multilayer perceptron from a .safetensors file.

The file holds arrays and no graph: linear layers `<prefix>.weight` (outputs, inputs) and `<prefix>.bias` (optional). What is done between
them is in its metadata, {"activation": "tanh"} or {"activations": '["tanh", "relu"]'}, or is given by `load_network(path, architecture=...)`.
It is compared with a forward pass in plain numpy and, where it has the arrays `check_points` and `check_values`, with those.
A file with anything else in it is refused. Layers whose names differ in numbers only are taken in the order of the numbers (0, 2, 10);
others are placed where their shapes fit, and a file whose layers fit in more than one order is refused too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors

from dcembed.arrays import Array
from dcembed.errors import NetworkError, UnsupportedLayerError
from dcembed.importers.request import Request
from dcembed.importers.weights.chain import CHECK_KEYS, Layers, load_chain, read_checks
from dcembed.network.network import Network

# Keys of the metadata that may say what is done between the layers.
STATED = ("activations", "activation", "architecture")
_HOW = 'write it into the metadata of the file, safetensors.torch.save_file(weights, path, metadata={"activation": "relu"})'
# Work of putting layers in order, in groups that are looked at or remembered: a fraction of a second, some tens of megabytes.
MOST_WORK = 3_000_000
# Layers that a message lists.
MOST_SHOWN = 20


def load(path: Path, request: Request) -> Network:
    """Read a .safetensors file; the number of inputs follows from the weights, so `input_shape` is not needed."""
    request.allow_only("safetensors file", "architecture")
    arrays, metadata = _read(path)
    checks = read_checks(arrays, path)
    arrays = {key: array for key, array in arrays.items() if key not in CHECK_KEYS}
    if not arrays:
        raise NetworkError(f"The network is empty: {path} holds no arrays.")
    _refuse_others(arrays, path)
    prefixes = _order({key.removesuffix("weight"): array for key, array in arrays.items() if _ends(key, "weight")}, path)
    weights = [arrays[f"{prefix}weight"].astype(np.float64) for prefix in prefixes]
    biases = [arrays[f"{prefix}bias"].astype(np.float64) if f"{prefix}bias" in arrays else None for prefix in prefixes]
    size = weights[0].shape[1]
    stated = next((metadata[key] for key in STATED if key in metadata), None)
    return load_chain(Layers(weights, biases, np.zeros(size), np.ones(size)), stated, request, path, _HOW, checks)


def _read(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    try:
        with safetensors.safe_open(str(path), framework="numpy") as file:
            return {key: np.asarray(file.get_tensor(key)) for key in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError, TypeError, ValueError, AttributeError) as error:
        raise NetworkError(f"{path} cannot be read as safetensors with numpy: {error}. Save float32 or float64 weights again.") from error


def _ends(key: str, word: str) -> bool:
    return key == word or key.endswith(f".{word}")


def _refuse_others(arrays: dict[str, Array], path: Path) -> None:
    """Any array that is not part of a linear layer means a layer which cannot be seen in the file."""
    layers = {key.removesuffix("weight") for key, array in arrays.items() if _ends(key, "weight") and array.ndim == 2 and array.size}
    known = {f"{prefix}{part}" for prefix in layers for part in ("weight", "bias")}
    others = [
        f"  '{key}': shape {array.shape}, {array.dtype}" for key, array in arrays.items() if key not in known or array.dtype.kind != "f"
    ]
    if others or not layers:
        raise UnsupportedLayerError(
            f"{path} is not the state dict of a plain multilayer perceptron; these entries do not belong to one:\n"
            + "\n".join(others)
            + "\nAccepted are linear layers only: <prefix>.weight with two axes, not empty, and <prefix>.bias. "
            "Pass the live model instead, or export it to ONNX."
        )


def _order(weights: dict[str, Array], path: Path) -> list[str]:
    """The prefixes in the one order in which the shapes fit."""
    groups: dict[str, list[str]] = {}
    for prefix in sorted(weights, key=_natural_key):
        groups.setdefault(re.sub(r"\d+", "#", prefix), []).append(prefix)
    orders, is_complete = _chains(list(groups.values()), weights)
    if len(orders) != 1 or not is_complete:
        shapes = ", ".join(f"'{prefix}weight' {weights[prefix].shape}" for prefix in sorted(weights, key=_natural_key)[:MOST_SHOWN])
        more = f" and {len(weights) - MOST_SHOWN} more" if len(weights) > MOST_SHOWN else ""
        problem = "fit one another in more than one order" if len(orders) > 1 else "do not fit one another in any order"
        raise NetworkError(
            f"The layers of {path} {problem if is_complete else 'can be put together in too many ways to try all of them'}: {shapes}{more}. "
            "Number them in order (0.weight, 1.weight, ...), or export the model to ONNX."
        )
    return orders[0]


def _natural_key(text: str) -> list[tuple[int, str]]:
    """So that 2 comes before 10: numbers by their length, then by their digits; some are too long for Python to convert."""
    parts = re.split(r"(\d+)", text)
    return [(len(digits := part.lstrip("0")), digits) if part.isdecimal() else (-1, part) for part in parts]


def _chains(groups: list[list[str]], weights: dict[str, Array]) -> tuple[list[list[str]], bool]:
    """Orders in which each layer takes what the one before gives; within a group the order is fixed.

    Two orders are enough to know that there is more than one. The second value tells whether the search came to its end.
    """
    total, orders, work = len(weights), list[list[str]](), 0
    # Each entry: how many of each group are placed, the layer placed last, and the entry before.
    pending: list[_Place] = [_Place((0,) * len(groups), None, None, 0)]
    while pending and len(orders) < 2:
        place = pending.pop()
        if place.depth == total:
            orders.append(place.path())
        following = _followers(place, groups, weights)
        # Each of them remembers a number for every group, so many layers with names of their own are costly long before there are many steps.
        work += (1 + len(following)) * len(groups)
        if work > MOST_WORK:
            return orders, False
        pending += [place.then(index, layer) for index, layer in following]
    return orders, True


def _followers(place: _Place, groups: list[list[str]], weights: dict[str, Array]) -> list[tuple[int, str]]:
    """The layers that may come next, with the numbers of their groups."""
    left = [(index, group[placed]) for index, (group, placed) in enumerate(zip(groups, place.placed, strict=True)) if placed < len(group)]
    if place.layer is None:
        return left
    size = weights[place.layer].shape[0]
    return [(index, layer) for index, layer in left if weights[layer].shape[1] == size]


@dataclass(frozen=True)
class _Place:
    """A way to begin the chain of layers."""

    placed: tuple[int, ...]
    layer: str | None
    before: _Place | None
    depth: int

    def then(self, index: int, layer: str) -> _Place:
        """The same with one more layer, of the group with this number."""
        placed = (*self.placed[:index], self.placed[index] + 1, *self.placed[index + 1 :])
        return _Place(placed, layer, self, self.depth + 1)

    def path(self) -> list[str]:
        """The layers from the first to this one."""
        layers: list[str] = []
        place: _Place | None = self
        while place is not None and place.layer is not None:
            layers.append(place.layer)
            place = place.before
        return layers[::-1]
