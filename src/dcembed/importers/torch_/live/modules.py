"""Read modules: torch runs a copy of the module on one point, and every operator that runs is lowered."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from dcembed.arrays import Array
from dcembed.errors import DcembedError, ImportMismatchError, InputError, NetworkError
from dcembed.importers import operations as ops
from dcembed.importers.check import Forward, check, draw_points
from dcembed.importers.lowering import Lowering
from dcembed.importers.request import Request
from dcembed.importers.torch_.aten import ACCEPTED
from dcembed.importers.torch_.live.arguments import Arguments, Shapes, read_arguments
from dcembed.importers.torch_.live.copy import copy_module, resting
from dcembed.importers.torch_.live.places import Places, has_layers
from dcembed.importers.torch_.live.second_try import load_by_export
from dcembed.importers.torch_.live.shapes import find_shapes
from dcembed.importers.torch_.recording.outputs import choose_outputs, drop_heads, find_rows, flatten, join, output_names, read_outputs
from dcembed.importers.torch_.recording.recorder import Recorder, refuse
from dcembed.importers.torch_.recording.rounding import softplus_error
from dcembed.importers.torch_.recording.watch import plain_torch
from dcembed.importers.torch_.script.modules import Scripted
from dcembed.network.growth import UNLIMITED, Growth
from dcembed.network.network import Network

# The point at which a module is run; no number in it is special.
SEED = 20240502


class _ModelFails(Exception):
    """The module itself cannot be run; the cause is what the user gets to read."""

    def __init__(self, error: DcembedError) -> None:
        super().__init__(str(error))
        self.error = error


def load_module(model: nn.Module, request: Request, growth: Growth = UNLIMITED) -> Network:
    """Read a module, by running it on one point or, if it is another one then, by torch.export."""
    with resting(model):
        return _load_in_a_precision(model, request, growth)


def _load_in_a_precision(model: nn.Module, request: Request, growth: Growth) -> Network:
    first: DcembedError | None = None
    # A module that converts to single precision on its way cannot be run in double precision.
    for dtype in (torch.float64, torch.float32):
        try:
            return _load(copy_module(model, dtype), request, dtype, growth)
        except _ModelFails as failure:
            first = first or failure.error
    assert first is not None
    raise first


def _load(model: nn.Module, request: Request, dtype: torch.dtype, growth: Growth) -> Network:
    if not has_layers(model):
        raise NetworkError(f"The network is empty: {type(model).__name__} has no layer. Pass a model with at least one.")
    arguments = read_arguments(model, request)
    try:
        shapes = find_shapes(model, arguments, request, dtype)
    except InputError as error:
        raise _ModelFails(error) from None
    try:
        return _load_by_running(model, arguments, shapes, request, dtype, growth)
    except (ImportMismatchError, NetworkError, _ModelFails) as error:
        # Of TorchScript nothing is known that could be exported.
        if isinstance(model, Scripted):
            raise
        return _load_by_export(model, arguments, shapes, request, dtype, error.error if isinstance(error, _ModelFails) else error)


def _load_by_running(
    model: nn.Module, arguments: Arguments, shapes: Shapes, request: Request, dtype: torch.dtype, growth: Growth
) -> Network:
    lowering, recorder, returned = _record(model, arguments, shapes, dtype, growth)
    leaves = flatten(returned)
    depends = [isinstance(leaf, torch.Tensor) and recorder.memory.holds(leaf) for leaf in leaves]
    chosen = choose_outputs(returned, depends, request)
    values = read_outputs(recorder, leaves, output_names(returned), chosen)
    network = lowering.builder.finish(join(lowering.builder, values))
    forward = _forward(model, arguments, shapes, dtype, chosen)
    _check(network, forward, "float32" if recorder.rounds or dtype is torch.float32 else "float64")
    return network if not request.logits else lowering.builder.finish(join(lowering.builder, drop_heads(values, request)))


def _load_by_export(
    model: nn.Module, arguments: Arguments, shapes: Shapes, request: Request, dtype: torch.dtype, error: DcembedError
) -> Network:
    """The second try; what comes out is compared with the module itself."""
    network, wanted, chosen = load_by_export(model, arguments, shapes, request, dtype, error)
    _check(network, _forward(model, arguments, shapes, dtype, chosen), "float32" if dtype is torch.float32 else "float64")
    return wanted


def _record(model: nn.Module, arguments: Arguments, shapes: Shapes, dtype: torch.dtype, growth: Growth) -> tuple[Lowering, Recorder, Any]:
    """Run the module on one point, and lower what it does."""
    size = sum(math.prod(shapes[name]) for name in arguments.names)
    lowering = Lowering("torch", ACCEPTED, (size,), growth)
    places = Places(model)
    recorder = Recorder(lowering, places)
    inputs = arguments.split(np.random.default_rng(SEED).normal(size=(1, size)), shapes, dtype)
    start = 0
    for tensor in inputs.values():
        numbers = np.arange(start, start + tensor.numel()).reshape(tensor.shape)
        recorder.memory.write(tensor, ops.pick(lowering.builder, lowering.builder.input, numbers))
        start += tensor.numel()
    try:
        with plain_torch(), places.followed(), recorder:
            returned = arguments.call(model, inputs, dtype)
    except DcembedError:
        raise
    except Exception as error:
        if recorder.refused is not None:
            raise recorder.refused from None
        reason = _explain(error, places.failed)
        if reason is not None:
            lowering.apply(places.last(), partial(refuse, reason))
            lowering.raise_problems()
        shown = ", ".join(f"{name}: {shapes[name]}" for name in arguments.names)
        raise _ModelFails(
            NetworkError(
                f"The torch model itself fails on one point ({shown}), at {places.where()}: {type(error).__name__}: {error}. "
                "Is this the shape of one point, without the batch axis? It can be passed as input_shape."
            )
        ) from error
    return lowering, recorder, returned


def _explain(error: Exception, module: nn.Module | None) -> str | None:
    """Why a module fails on one point, or on numbers that are not whole, where that is no mistake of the user."""
    if isinstance(module, nn.Embedding | nn.EmbeddingBag):
        return "looks up rows of a table by the input, which is an index there"
    if "Expected more than 1 value per channel" in str(error):
        return "normalizes with the batch itself, also at inference"
    return None


def _forward(model: nn.Module, arguments: Arguments, shapes: Shapes, dtype: torch.dtype, chosen: list[int]) -> Forward:
    def run(points: Array) -> Any:
        with plain_torch():
            return arguments.call(model, arguments.split(points, shapes, dtype), dtype)

    return lambda points: find_rows(run, points, chosen)


def _check(network: Network, forward: Forward, precision: str) -> None:
    points = draw_points(network, precision)
    check(network, forward, "torch model", precision=precision, points=points, rounding=softplus_error(network, points))
