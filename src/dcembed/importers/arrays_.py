"""Read and write networks as .npz files.

Two kinds of files are read. A plain multilayer perceptron has the keys W1, b1, ..., WL, bL: weights of shape
(outputs, inputs), ReLU between the layers, biases optional; `mean` and `std`, where present, standardize the input first,
(x - mean) / std. A file of `save_network` holds any network in skip form.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.errors import InputError, NetworkError
from dcembed.importers.check import check, draw_points
from dcembed.network.affine import Affine
from dcembed.network.builder import NetworkBuilder
from dcembed.network.network import Network

# Counted up when the keys of save_network change their meaning.
FORMAT_VERSION = 1
FORMAT_KEY = "dcembed_format"


def load(path: Path, input_shape: tuple[int, ...] | None) -> Network:
    """Read an .npz file; the number of inputs follows from the weights, so `input_shape` is not needed."""
    arrays = _read(path)
    return _load_saved(arrays, path) if FORMAT_KEY in arrays else _load_layers(arrays, path)


def save_network(network: Network, path: str | Path) -> None:
    """Write `network` to an .npz file that `load_network` reads back exactly.

    A few points and the predictions there go with it, so that a damaged file is noticed.

    Examples
    --------
    >>> import tempfile
    >>> import dcembed
    >>> hat = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     dcembed.save_network(hat, f"{folder}/hat.npz")
    ...     again = dcembed.load_network(f"{folder}/hat.npz")
    >>> again([[1.5]])
    array([[0.5]])
    """
    target = Path(path)
    if target.suffix.lower() != ".npz":
        raise InputError(f"save_network writes .npz files, received the path {target}. Give it the suffix .npz.")
    points = draw_points(network)
    arrays = {FORMAT_KEY: np.array(FORMAT_VERSION), "num_inputs": np.array(network.num_inputs), "num_stages": np.array(len(network.stages))}
    arrays |= {"check_points": points, "check_values": network(points)}
    if network.input_names is not None:
        arrays["input_names"] = np.array(network.input_names, dtype=np.str_)
    for index, affine in enumerate((*network.stages, network.output), start=1):
        arrays |= dict(_pack(affine, f"layer{index}"))
    # numpy's own keyword, allow_pickle, is a bool, and mypy takes it for one of the arrays.
    np.savez_compressed(target, **arrays)  # type: ignore[arg-type]


def _read(path: Path) -> dict[str, Array]:
    """Pickled entries are left out: they would run code. Numbers and text are all that is read."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files if _is_wanted(key)}
    except (OSError, ValueError, EOFError, KeyError, AttributeError, zipfile.BadZipFile) as error:
        raise NetworkError(f"{path} is not a readable .npz file: {error}. Write it again with numpy.savez.") from error


def _is_wanted(key: str) -> bool:
    return (
        re.fullmatch(r"[Wb]\d+|mean|std|dcembed_format|num_inputs|num_stages|input_names|check_points|check_values|layer\d+\..+", key)
        is not None
    )


# W1, b1, ..., WL, bL.


def _load_layers(arrays: Mapping[str, Array], path: Path) -> Network:
    count = sum(1 for key in arrays if re.fullmatch(r"W\d+", key))
    missing = [f"W{index}" for index in range(1, count + 1) if f"W{index}" not in arrays]
    if count == 0 or missing:
        raise NetworkError(
            f"{path} {'has no weights' if count == 0 else 'lacks ' + ', '.join(missing)}. "
            "Accepted are the keys W1, b1, ..., WL, bL (weights of shape (outputs, inputs)), or a file written by save_network."
        )
    weights = [_matrix(arrays, f"W{index}", path) for index in range(1, count + 1)]
    biases = [np.asarray(arrays[f"b{index}"], dtype=np.float64) if f"b{index}" in arrays else None for index in range(1, count + 1)]
    mean, std = _standardization(arrays, weights[0].shape[1], path)
    network = build_chain(weights, biases, mean, std)
    return check(network, lambda points: evaluate_chain(points, weights, biases, mean, std), "file")


def _matrix(arrays: Mapping[str, Array], key: str, path: Path) -> Array:
    array = arrays[key]
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise NetworkError(
            f"{key} in {path} has shape {array.shape} and type {array.dtype}; a matrix of numbers (outputs, inputs) is accepted."
        )
    return array.astype(np.float64)


def _standardization(arrays: Mapping[str, Array], size: int, path: Path) -> tuple[Array, Array]:
    mean = np.asarray(arrays.get("mean", np.zeros(size)), dtype=np.float64)
    std = np.asarray(arrays.get("std", np.ones(size)), dtype=np.float64)
    if mean.shape != (size,) or std.shape != (size,):
        raise NetworkError(
            f"mean and std in {path} have shapes {mean.shape} and {std.shape}; the network has {size} inputs, so ({size},) is accepted."
        )
    if not (std > 0).all():
        raise NetworkError(f"std in {path} has entries that are not positive. Drop constant inputs, or set their std to 1.")
    return mean, std


def build_chain(weights: Sequence[Array], biases: Sequence[Array | None], mean: Array, std: Array) -> Network:
    """W_L relu(... relu(W_1 (x - mean) / std + b_1)) + b_L."""
    builder = NetworkBuilder((weights[0].shape[1],))
    value = builder.scale(builder.shift(builder.input, -mean), 1.0 / std)
    for index, (weight, bias) in enumerate(zip(weights, biases, strict=True), start=1):
        try:
            with np.errstate(all="ignore"):
                value = builder.linear(value if index == 1 else builder.relu(value), weight, bias)
        except NetworkError as error:
            raise NetworkError(f"At layer {index}. {error}") from None
    return builder.finish(value)


def evaluate_chain(points: Array, weights: Sequence[Array], biases: Sequence[Array | None], mean: Array, std: Array) -> Array:
    """The same in plain numpy, to check against."""
    value = (points - mean) / std
    for index, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        value = (value if index == 0 else np.maximum(value, 0.0)) @ weight.T + (0.0 if bias is None else bias)
    return value


# The format of save_network: for layer l (the output is the last) its bias and, per source m, a dense or a sparse block.


def _pack(affine: Affine, name: str) -> Iterator[tuple[str, Array]]:
    yield f"{name}.bias", affine.bias
    for source, block in affine.weights.items():
        key = f"{name}.source{source}"
        if isinstance(block, np.ndarray):
            yield f"{key}.dense", block
        else:
            yield from ((f"{key}.{part}", np.asarray(getattr(block, part))) for part in ("data", "indices", "indptr", "shape"))


def _unpack(arrays: Mapping[str, Array], name: str) -> Affine:
    sources = sorted({int(match[1]) for key in arrays if (match := re.match(rf"{name}\.source(\d+)\.", key))})
    return Affine({source: _unpack_block(arrays, f"{name}.source{source}") for source in sources}, arrays[f"{name}.bias"])


def _unpack_block(arrays: Mapping[str, Array], key: str) -> Matrix:
    if f"{key}.dense" in arrays:
        return arrays[f"{key}.dense"]
    parts = tuple(arrays[f"{key}.{part}"] for part in ("data", "indices", "indptr"))
    num_rows, num_columns = (int(size) for size in arrays[f"{key}.shape"])
    return sp.csr_array(parts, shape=(num_rows, num_columns))


def _load_saved(arrays: Mapping[str, Any], path: Path) -> Network:
    version = int(arrays[FORMAT_KEY])
    if version != FORMAT_VERSION:
        raise NetworkError(
            f"{path} has format {version} of save_network; this version of dcembed reads format {FORMAT_VERSION}. "
            "Update dcembed, or save the network again."
        )
    try:
        layers = [_unpack(arrays, f"layer{index}") for index in range(1, int(arrays["num_stages"]) + 2)]
        names = tuple(map(str, arrays["input_names"].reshape(-1))) if "input_names" in arrays else None
        network = Network(int(arrays["num_inputs"]), tuple(layers[:-1]), layers[-1], names)
        points, values = np.asarray(arrays["check_points"]), np.asarray(arrays["check_values"])
    except (KeyError, ValueError, TypeError) as error:
        if isinstance(error, NetworkError):
            raise
        raise NetworkError(f"{path} is damaged: {type(error).__name__}: {error}. Save the network again.") from error
    return check(network, lambda _: values, "saved network", points=points)
