"""Read and write networks as .npz files.

Two kinds of files are read. A plain multilayer perceptron has the keys W1, b1, ..., WL, bL: weights of shape
(outputs, inputs), biases optional; `mean` and `std`, where present, standardize the input first, (x - mean) / std. What is done
between the layers is in the key `activations`, a name or one name for each hidden layer, or is given by
`load_network(path, architecture=...)`. Such a file is compared with a forward pass in plain numpy and, where it has `check_points`
and `check_values`, with those. A file of `save_network` holds any network in skip form, and always has them; of an ensemble also its
members, without which it is read as the network that it is.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcembed.arrays import Array, Matrix
from dcembed.errors import InputError, NetworkError
from dcembed.importers.archives import DAMAGES, check_entries, read_array
from dcembed.importers.check import check, draw_points
from dcembed.importers.request import Request
from dcembed.importers.weights.chain import Layers, load_chain, read_checks
from dcembed.network.activations import ACTIVATIONS, RELU, Activation, find_activation
from dcembed.network.affine import Affine
from dcembed.network.ensemble import Ensemble
from dcembed.network.network import Network
from dcembed.reading import as_path, require
from dcembed.writing import write_whole

# Counted up when the keys of save_network change their meaning.
# The first format has ReLU units alone; networks of those are written in it, so that earlier versions read them too.
RELU_FORMAT, FORMAT = 1, 2
READ_VERSIONS = (RELU_FORMAT, FORMAT)
FORMAT_KEY = "dcembed_format"


def load(path: Path, request: Request) -> Network:
    """Read an .npz file; the number of inputs follows from the weights, so `input_shape` is not needed."""
    arrays = _read(path)
    if FORMAT_KEY not in arrays:
        request.allow_only(".npz file", "architecture")
        return _load_layers(arrays, request, path)
    request.allow_only("file of save_network")
    request.refuse_logits("file of save_network")
    return unpack_network(arrays, path)


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
    require(network, Network, "save_network: network")
    target = as_path(path, "save_network: path")
    if target.suffix.lower() != ".npz":
        raise InputError(f"save_network writes .npz files, received the path {target}. Give it the suffix .npz.")
    arrays = {**pack_network(network, "save_network"), **check_values(network)}
    # numpy's own keyword, allow_pickle, is a bool, and mypy takes it for one of the arrays.
    write_whole(target, lambda stream: np.savez_compressed(stream, **arrays))  # type: ignore[arg-type]


def pack_network(network: Network, who: str) -> dict[str, Array]:
    """All that a network has, as the arrays of a file; `who` keeps it, for messages."""
    version = RELU_FORMAT if network.is_piecewise_linear else FORMAT
    arrays = {FORMAT_KEY: np.array(version), "num_inputs": np.array(network.num_inputs), "num_stages": np.array(len(network.stages))}
    if network.input_names is not None:
        arrays["input_names"] = np.array(network.input_names, dtype=np.str_)
    for index, activation in enumerate(network.activations if version == FORMAT else (), start=1):
        arrays |= _pack_activation(activation, f"layer{index}", who)
    for index, affine in enumerate((*network.stages, network.output), start=1):
        arrays |= dict(_pack(affine, f"layer{index}"))
    return arrays | (_pack_ensemble(network) if isinstance(network, Ensemble) else {})


def check_values(network: Network) -> dict[str, Array]:
    """A few points and the predictions there, by which a damaged file is noticed."""
    points = draw_points(network)
    return {"check_points": points, "check_values": network(points)}


def _read(path: Path) -> dict[str, Array]:
    """Pickled entries are left out: they would run code. Numbers and text are all that is read."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if _is_wanted(entry.filename.removesuffix(".npy"))]
            check_entries(entries, path)
            return {entry.filename.removesuffix(".npy"): read_array(archive, entry) for entry in entries}
    except DAMAGES as error:
        raise NetworkError(f"{path} is not a readable .npz file: {error}. Write it again with numpy.savez.") from error


def _is_wanted(key: str) -> bool:
    return (
        re.fullmatch(
            r"[Wb]\d+|mean|std|activations|dcembed_format|num_inputs|num_stages|input_names|check_points|check_values|(layer\d+|members|ensemble)\..+",
            key,
        )
        is not None
    )


# W1, b1, ..., WL, bL.


def _load_layers(arrays: Mapping[str, Array], request: Request, path: Path) -> Network:
    count = sum(1 for key in arrays if re.fullmatch(r"W\d+", key))
    missing = [f"W{index}" for index in range(1, count + 1) if f"W{index}" not in arrays]
    if count == 0 or missing:
        raise NetworkError(
            f"{path} {'has no weights' if count == 0 else 'lacks ' + ', '.join(missing)}. "
            "Accepted are the keys W1, b1, ..., WL, bL (weights of shape (outputs, inputs)), or a file written by save_network."
        )
    weights = [_matrix(arrays, f"W{index}", path) for index in range(1, count + 1)]
    biases = [_vector(arrays[f"b{index}"], f"b{index}", path) if f"b{index}" in arrays else None for index in range(1, count + 1)]
    layers = Layers(weights, biases, *_standardization(arrays, weights[0].shape[1], path))
    return load_chain(layers, arrays.get("activations"), request, path, _HOW, read_checks(arrays, path))


_HOW = 'write it into the file as the key activations, numpy.savez(path, ..., activations="relu")'


def _matrix(arrays: Mapping[str, Array], key: str, path: Path) -> Array:
    array = arrays[key]
    if array.ndim != 2 or array.dtype.kind not in "fiu" or not array.size:
        raise NetworkError(
            f"{key} in {path} has shape {array.shape} and type {array.dtype}; a matrix of numbers (outputs, inputs) is accepted."
        )
    return array.astype(np.float64)


def _vector(array: Array, key: str, path: Path) -> Array:
    if array.dtype.kind not in "fiu":
        raise NetworkError(f"{key} in {path} has type {array.dtype}; a vector of numbers is accepted.")
    return array.astype(np.float64).reshape(-1)


def _standardization(arrays: Mapping[str, Array], size: int, path: Path) -> tuple[Array, Array]:
    mean = _vector(arrays.get("mean", np.zeros(size)), "mean", path)
    std = _vector(arrays.get("std", np.ones(size)), "std", path)
    if mean.shape != (size,) or std.shape != (size,):
        raise NetworkError(
            f"mean and std in {path} have shapes {mean.shape} and {std.shape}; the network has {size} inputs, so ({size},) is accepted."
        )
    if not (std > 0).all() or not np.isfinite(std).all() or not np.isfinite(mean).all():
        raise NetworkError(
            f"mean and std in {path} have entries that are not finite, or std some that are not positive. "
            "Drop constant inputs, or set their std to 1."
        )
    return mean, std


# The format of save_network: for layer l (the output is the last) its bias and, per source m, a dense or a sparse block.


def _pack(affine: Affine, name: str) -> Iterator[tuple[str, Array]]:
    yield f"{name}.bias", affine.bias
    for source, block in affine.weights.items():
        key = f"{name}.source{source}"
        if isinstance(block, np.ndarray):
            yield f"{key}.dense", block
        else:
            yield from ((f"{key}.{part}", np.asarray(getattr(block, part))) for part in ("data", "indices", "indptr", "shape"))


def _pack_activation(activation: Activation, name: str, who: str) -> dict[str, Array]:
    """By its name in the table: what it computes is not in the file."""
    if ACTIVATIONS.get(activation.name) is None or find_activation(activation.name, activation.parameters) != activation:
        raise InputError(f"{who} keeps activations by their names, and '{activation}' is not one of {', '.join(ACTIVATIONS)}.")
    return {f"{name}.activation": np.array(activation.name, dtype=np.str_), f"{name}.parameters": np.array(activation.parameters)}


def _pack_ensemble(ensemble: Ensemble) -> dict[str, Array]:
    """What an ensemble has beyond every network."""
    return {
        **dict(_pack(ensemble.members, "members")),
        "ensemble.weights": ensemble.weights,
        "ensemble.combination": np.array(ensemble.combination, dtype=np.str_),
        "ensemble.parameter": np.array(ensemble.parameter),
        "ensemble.as_rows": np.array(ensemble.as_rows),
    }


def _unpack_ensemble(network: Network, arrays: Mapping[str, Array]) -> Ensemble:
    parameter = _numbers(arrays, "ensemble.parameter", "f")
    if parameter.shape != ():
        raise ValueError(f"ensemble.parameter has shape {parameter.shape}")
    return Ensemble(
        network.num_inputs,
        network.stages,
        network.output,
        network.input_names,
        network.activations,
        members=_unpack(arrays, "members"),
        weights=_numbers(arrays, "ensemble.weights", "f"),
        combination=str(_numbers(arrays, "ensemble.combination", "U")),
        parameter=float(parameter),
        as_rows=bool(arrays.get("ensemble.as_rows", False)),
    )


def _unpack_activation(arrays: Mapping[str, Array], name: str) -> Activation:
    if f"{name}.activation" not in arrays:
        return RELU
    return find_activation(
        str(_numbers(arrays, f"{name}.activation", "U")), _numbers(arrays, f"{name}.parameters", "f").reshape(-1).tolist()
    )


def _unpack(arrays: Mapping[str, Array], name: str) -> Affine:
    # In the order of the file, so that sums are rounded as they were.
    sources = dict.fromkeys(int(match[1]) for key in arrays if (match := re.match(rf"{name}\.source(\d{{1,9}})\.", key)))
    return Affine({source: _unpack_block(arrays, f"{name}.source{source}") for source in sources}, _numbers(arrays, f"{name}.bias", "f"))


def _unpack_block(arrays: Mapping[str, Array], key: str) -> Matrix:
    if f"{key}.dense" in arrays:
        return _numbers(arrays, f"{key}.dense", "f")
    data = _numbers(arrays, f"{key}.data", "f")
    indices, indptr, shape = (_numbers(arrays, f"{key}.{part}", "iu") for part in ("indices", "indptr", "shape"))
    num_rows, num_columns = (int(size) for size in shape)
    block = sp.csr_array((data, indices, indptr), shape=(num_rows, num_columns))
    # Places outside of the matrix would be read from and written to all the same.
    block.check_format(full_check=True)
    return block


def _numbers(arrays: Mapping[str, Array], key: str, kinds: str) -> Array:
    if arrays[key].dtype.kind not in kinds:
        raise ValueError(f"{key} has type {arrays[key].dtype}")
    return arrays[key]


def unpack_network(arrays: Mapping[str, Any], path: Path) -> Network:
    """The network in the arrays of a file, compared with the predictions that the file has."""
    version = arrays[FORMAT_KEY]
    if version.shape != () or version.dtype.kind not in "iu" or version not in READ_VERSIONS:
        raise NetworkError(
            f"{path} has format {version} of save_network; this version of dcembed reads formats {' and '.join(map(str, READ_VERSIONS))}. "
            "Update dcembed, or save the network again."
        )
    try:
        num_stages, num_inputs = (int(_numbers(arrays, key, "iu")) for key in ("num_stages", "num_inputs"))
        layers = [_unpack(arrays, f"layer{index}") for index in range(1, num_stages + 2)]
        names = tuple(map(str, _numbers(arrays, "input_names", "U").reshape(-1))) if "input_names" in arrays else None
        activations = tuple(_unpack_activation(arrays, f"layer{index}") for index in range(1, num_stages + 1))
        network = Network(num_inputs, tuple(layers[:-1]), layers[-1], names, activations)
        ensemble = _unpack_ensemble(network, arrays) if "ensemble.combination" in arrays else None
        points, values = _numbers(arrays, "check_points", "f"), _numbers(arrays, "check_values", "f")
        if points.ndim != 2 or points.shape[1] != num_inputs or values.shape != (len(points), network.num_outputs) or not points.size:
            raise ValueError(f"check_points and check_values have shapes {points.shape} and {values.shape}")
    except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        if isinstance(error, NetworkError):
            raise NetworkError(f"{path}: {error}") from None
        raise NetworkError(f"{path} is damaged: {type(error).__name__}: {error}. Save the network again.") from error
    # An ensemble is evaluated by its members, and bounded and linearized by its stages: both have to be right.
    parts = [network] if ensemble is None else [network, ensemble]
    return [check(part, lambda _: values, "saved network", points=points, continued=True) for part in parts][-1]
