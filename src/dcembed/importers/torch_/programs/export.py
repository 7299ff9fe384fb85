"""Read programs of torch.export: they are run on one point, node by node, and every operator that runs is lowered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import fx
from torch.utils import _pytree as pytree

from dcembed.arrays import Array
from dcembed.errors import DcembedError, ImportMismatchError, InputError, NetworkError, UnsupportedLayerError
from dcembed.importers import operations as ops
from dcembed.importers.check import check, draw_points
from dcembed.importers.lowering import Layer, Lowering
from dcembed.importers.request import Request
from dcembed.importers.torch_.aten import ACCEPTED
from dcembed.importers.torch_.files.safety import Refused
from dcembed.importers.torch_.programs.batch import FixedBatch
from dcembed.importers.torch_.programs.first_point import restrict
from dcembed.importers.torch_.programs.inputs import Layout, Layouts, arguments, batches, read_layouts
from dcembed.importers.torch_.programs.program import Input, Program, needed, read_code, recorded_sizes, returned, run
from dcembed.importers.torch_.programs.steps import GraphSteps
from dcembed.importers.torch_.recording.names import name_outputs, operator_name
from dcembed.importers.torch_.recording.outputs import drop_heads, join, read_outputs, with_choice
from dcembed.importers.torch_.recording.recorder import Recorder
from dcembed.importers.torch_.recording.rounding import softplus_error
from dcembed.importers.torch_.recording.watch import guard_comparison, plain_torch
from dcembed.network.builder import NetworkBuilder, Tensor
from dcembed.network.growth import UNLIMITED, Growth
from dcembed.network.network import Network

# Numbers that one value may be made of when a graph is read for a whole batch.
MOST_IN_BATCH = 20_000_000
SOURCE = "program of torch.export"


def read_exported(exported: Any) -> Program:
    """The program of a torch.export.ExportedProgram."""
    code = read_code(exported.module())
    inputs = tuple(_read_input(node, exported) for node in code.graph.nodes if node.op == "placeholder")
    structure = exported.call_spec.out_spec
    return Program(code, inputs, name_outputs(pytree.tree_unflatten([0] * structure.num_leaves, structure)))


def _read_input(node: fx.Node, exported: Any) -> Input:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        raise NetworkError(
            f"The input '{node.target}' of the program is {value!r}, which is not a tensor. Export a model of tensors alone."
        )
    sizes = recorded_sizes(node) or ()
    limits = exported.range_constraints.get(getattr(getattr(value.shape[0], "node", None), "expr", None)) if sizes else None
    low, high = (1, 2**31) if limits is None else (int(limits.lower), int(min(limits.upper, 2**31)))
    return Input(str(node.target), sizes, value.dtype, (max(low, 1), high))


@dataclass(frozen=True)
class _Reading:
    """A program that has been lowered.

    Parameters
    ----------
    builder
        Has made the values.
    values
        The outputs.
    double
        Whether the program ran in double precision.
    """

    builder: NetworkBuilder
    values: list[Tensor]
    double: bool

    def finish(self, request: Request | None = None) -> Network:
        """The network; without its last activations if the request is for logits."""
        values = self.values if request is None or not request.logits else drop_heads(self.values, request)
        return self.builder.finish(join(self.builder, values))


def load_program(program: Program, request: Request, growth: Growth = UNLIMITED) -> Network:
    """Lower a program, and compare the network with the program itself."""
    outputs = choose_outputs(program, request)
    layouts = read_layouts(program, request)
    try:
        reading = _read(program, layouts.likely, outputs, growth)
        _check(reading.finish(), program, layouts.likely, outputs, reading, growth)
        return reading.finish(request)
    except (ImportMismatchError, NetworkError, UnsupportedLayerError):
        found = None if layouts.otherwise is None else _load_whole(program, layouts, outputs, request, growth)
        if found is None:
            raise
        return found


def choose_outputs(program: Program, request: Request) -> list[int]:
    """The numbers of those that the user names, or of all that are computed."""
    leaves = returned(program.code)
    if request.outputs is None:
        chosen = [index for index, leaf in enumerate(leaves) if isinstance(leaf, fx.Node)]
        if not chosen:
            raise NetworkError("The program returns nothing that depends on its input. Accepted are models that return tensors.")
        return chosen
    unknown = [name for name in request.outputs if name not in program.outputs]
    if unknown:
        raise InputError(f"load_network: outputs has '{unknown[0]}', but the torch model returns {', '.join(program.outputs)}.")
    return [program.outputs.index(name) for name in request.outputs]


# Lowering.


def _read(program: Program, layout: Layout, outputs: Sequence[int], growth: Growth) -> _Reading:
    """In double precision, or in single precision if the program does not run in it."""
    _refuse_unknown(program, outputs)
    nodes = needed(program.code, outputs)
    try:
        return _record(program, layout, outputs, nodes, growth, double=True)
    except DcembedError:
        raise
    except Exception:
        try:
            return _record(program, layout, outputs, nodes, growth, double=False)
        except DcembedError:
            raise
        except Exception as error:
            raise NetworkError(f"The {SOURCE} itself fails on one point: {type(error).__name__}: {error}.") from error


def _refuse_unknown(program: Program, outputs: Sequence[int]) -> None:
    """Operators that are not run, whatever they do."""
    refused = {index: [node for node in sorted(needed(program.code, [index])) if isinstance(node.target, Refused)] for index in outputs}
    lowering = Lowering("torch", ACCEPTED, (1,))
    for place, node in enumerate(dict.fromkeys(node for nodes in refused.values() for node in nodes)):
        lowering.apply(Layer(place, node.name, operator_name(node.target)), None)
    try:
        lowering.raise_problems()
    except UnsupportedLayerError as error:
        good = [program.outputs[index] for index in outputs if not refused[index]]
        raise with_choice(error, [program.outputs[index] for index in outputs], good) from None


def _record(program: Program, layout: Layout, outputs: Sequence[int], nodes: set[fx.Node], growth: Growth, double: bool) -> _Reading:
    """Run the program on one point, and lower what it does."""
    size = sum(layout.find(name).size for name in layout.order)
    lowering = Lowering("torch", ACCEPTED, (size,), growth)
    # No number in the point is special.
    inputs = arguments(layout, np.random.default_rng(0).normal(size=(1, size)), program, double)
    recorder: Recorder
    steps = GraphSteps(FixedBatch(layout.batch, lambda tensor: recorder.memory.holds(tensor)))
    recorder = Recorder(lowering, steps)
    for source, tensor in zip(layout.sources, inputs, strict=True):
        if source.value is None:
            part = layout.parts[source.name]
            numbers = np.arange(part.start, part.stop).reshape(tensor.shape)
            recorder.memory.write(tensor, ops.pick(lowering.builder, lowering.builder.input, numbers))
    with plain_torch(), recorder:
        leaves = run(program.code, inputs, double, nodes, steps)
    return _Reading(lowering.builder, read_outputs(recorder, leaves, program.outputs, outputs), double)


def _load_whole(program: Program, layouts: Layouts, outputs: Sequence[int], request: Request, growth: Growth) -> Network | None:
    """Read for a whole batch: one point of it, or all of it if its rows are no points; None if neither is what the program does."""
    whole, batched = layouts.otherwise, layouts.likely
    assert whole is not None
    try:
        reading = _read(program, whole, outputs, growth if growth.most is not None else Growth(MOST_IN_BATCH))
    except (NetworkError, UnsupportedLayerError):
        return None
    for layout in (batched, whole):
        if layout is batched and any(not value.shape or value.shape[0] % (batched.batch or 1) for value in reading.values):
            continue
        network, logits = (
            _first_point(network, whole, batched, reading.values) if layout is batched else network
            for network in (reading.finish(), reading.finish(request))
        )
        try:
            _check(network, program, layout, outputs, reading, growth, (batched.batch or 1) if layout is batched else 1)
            return logits
        except (ImportMismatchError, NetworkError):
            continue
    return None


def _first_point(network: Network, whole: Layout, batched: Layout, values: Sequence[Tensor]) -> Network:
    batch = batched.batch or 1
    inputs = [np.arange(part.start, part.start + batched.find(name).size) for name, part in whole.parts.items()]
    sizes = [value.affine.num_rows for value in values]
    outputs = [np.arange(start, start + size // batch) for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False)]
    return restrict(network, np.concatenate(inputs), np.concatenate(outputs))


# The comparison.


def _check(
    network: Network, program: Program, layout: Layout, outputs: Sequence[int], reading: _Reading, growth: Growth, read_for: int = 1
) -> None:
    """`read_for` is how many points the values were read for."""
    nodes = needed(program.code, outputs)
    shapes = [value.shape if read_for == 1 else (value.shape[0] // read_for, *value.shape[1:]) for value in reading.values]

    def forward(points: Array) -> Array:
        parts = []
        with plain_torch(), guard_comparison(growth):
            for count, size, filled in batches(layout, points):
                results = run(program.code, arguments(layout, filled, program, reading.double), reading.double, nodes)
                arrays = [results[index].double().numpy() for index in outputs]
                parts.append(_rows(arrays, shapes, size if layout.is_batched else 1)[:count])
        return np.concatenate(parts)

    precision = "float64" if reading.double else "float32"
    points = draw_points(network, precision)
    check(network, forward, SOURCE, precision=precision, points=points, rounding=softplus_error(network, points))


def _rows(arrays: Sequence[Array], shapes: Sequence[tuple[int, ...]], count: int) -> Array:
    """What a batch of points gives, one row per point; `shapes` are those for one point.

    The batch axis is the first one that is as many times as long as for one point as there are points.
    """
    rows = []
    for array, shape in zip(arrays, shapes, strict=True):
        sizes = zip(shape, array.shape, strict=False)
        axis = next((axis for axis, (one, several) in enumerate(sizes) if several == count * one), None)
        if array.size % count or (axis is None and count > 1):
            raise NetworkError(
                f"The {SOURCE} gives values of shape {array.shape} for a batch of {count} points, and {shape} for one: it mixes the points. "
                "Accepted are models which treat every point of a batch on its own."
            )
        rows.append(np.moveaxis(array, axis, 0).reshape(count, -1) if axis else array.reshape(count, -1))
    return np.concatenate(rows, axis=1)
