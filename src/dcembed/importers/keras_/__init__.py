"""Read Keras 3 models: Sequential, functional and subclassed ones, nested or not, and files of them.

Values have the shape they have for a batch of one point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError
from dcembed.importers import operations as ops
from dcembed.importers.check import TOLERANCE, check
from dcembed.importers.keras_.backend import keras
from dcembed.importers.keras_.files.sizes import Limits
from dcembed.importers.keras_.inputs import Inputs, check_shapes, read_inputs
from dcembed.importers.keras_.layers.table import ACCEPTED
from dcembed.importers.keras_.outputs import Outputs, find_logits, join
from dcembed.importers.keras_.walk import ModelWalk
from dcembed.importers.lowering import UNKNOWN, Lowering
from dcembed.importers.operations import Value
from dcembed.importers.request import Request
from dcembed.network.network import Network


def load(model: Any, request: Request) -> Network:
    """Read a Keras model, or a file of one."""
    request.allow_only("Keras model", "inputs", "fixed", "outputs", "input_shapes")
    if isinstance(model, Path):
        from dcembed.importers.keras_.files.reading import read_file

        return _load(*read_file(model), request)
    _check_model(model)
    return _load(model, Limits(), request)


def _check_model(model: Any) -> None:
    if not isinstance(model, keras.Model):
        raise InputError(
            f"A Keras object of type {type(model).__name__} is not a model. Pass a keras.Model: Sequential, functional or subclassed."
        )
    if isinstance(model, keras.Sequential) and not model.layers:
        raise NetworkError("The network is empty: the Keras model has no layer. Pass a model with at least one.")
    if not model.built:
        raise NetworkError("The Keras model has no weights yet. Build it (model.build((None, number_of_inputs))), train it, then load it.")


def _load(model: Any, limits: Limits, request: Request) -> Network:
    inputs = read_inputs(model, request)
    lowering = Lowering("Keras", ACCEPTED, inputs.shape, limits.matrices)
    outputs, results = ModelWalk(lowering, limits.values).run_outputs(model, inputs.pack(_values(lowering, inputs)), request)
    lowering.raise_problems()
    check_shapes(inputs)
    network = replace(lowering.finish(join(lowering.builder, results)), input_names=inputs.names)
    check(network, _forward(model, inputs, outputs), "Keras model", precision=_precision(model))
    if not request.logits:
        return network
    # What goes into the last function is in the network that was compared.
    logits = join(lowering.builder, find_logits(results, outputs, request))
    return replace(lowering.finish(logits), input_names=inputs.names)


def _values(lowering: Lowering, inputs: Inputs) -> dict[str, Any]:
    """Of all inputs, for one point."""
    values: dict[str, Any] = {item.name: None if item.value is None else item.value[None] for item in inputs.items}
    start = 0
    for item in inputs.free:
        values[item.name] = UNKNOWN if lowering.input is UNKNOWN else _part(lowering, start, item.size, (1, *(item.shape or ())))
        start += item.size
    return values


def _part(lowering: Lowering, start: int, size: int, shape: tuple[int, ...]) -> Value:
    builder = lowering.builder
    return ops.reshape(builder, ops.select(builder, lowering.input, lambda a: a[:, start : start + size]), shape)


def _forward(model: Any, inputs: Inputs, outputs: Outputs) -> Callable[[Array], Array]:
    kinds = {item.name: item.dtype for item in inputs.items}

    def run(points: Array) -> Array:
        values = {name: keras.ops.convert_to_tensor(part, dtype=kinds[name]) for name, part in inputs.split(points).items()}
        results = keras.tree.flatten(model(inputs.pack(values), training=False))
        arrays = [keras.ops.convert_to_numpy(keras.ops.cast(results[number], "float64")) for number in outputs.chosen]
        # What mixes the points of a batch is left as it is, for `check` to see.
        return np.hstack([array.reshape(len(points), -1) for array in arrays]) if _is_batch(arrays, len(points)) else arrays[0]

    def in_batches(points: Array) -> Array:
        """Batches of the size that the model takes; the last one is filled up."""
        size = inputs.batch or len(points)
        rows = np.arange(-(-len(points) // size) * size) % len(points)
        return np.concatenate([run(points[part]) for part in rows.reshape(-1, size)])[: len(points)]

    return run if inputs.batch is None else in_batches


def _is_batch(arrays: list[Array], count: int) -> bool:
    return all(array.ndim > 0 and array.shape[0] == count for array in arrays)


def _precision(model: Any) -> str:
    """The coarsest type that a layer computes in. With most backends Keras computes in float32 where float64 is asked for."""
    used = {keras.backend.result_type(str(layer.compute_dtype)) for layer in model._flatten_layers()}
    return max((name for name in used if name in TOLERANCE), key=TOLERANCE.__getitem__, default="float32")
