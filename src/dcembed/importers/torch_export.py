"""Read what torch.export gives: an ExportedProgram, a .pt2 file, or a live module that is exported here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import fx
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from dcembed.arrays import Array
from dcembed.errors import DcembedError, ImportMismatchError, InputError, NetworkError, UnsupportedLayerError
from dcembed.importers import operations as ops
from dcembed.importers.check import check, draw_points
from dcembed.importers.lowering import Lowering
from dcembed.importers.request import Request
from dcembed.importers.aten import OPERATORS
from dcembed.importers.torch_first_point import restrict
from dcembed.importers.torch_inputs import Layout, Layouts, arguments, batches, read_layouts
from dcembed.importers.torch_mutation import without_mutation
from dcembed.importers.torch_program import Input, Program, name_outputs, read_code, returned, run
from dcembed.importers.torch_rounding import softplus_error
from dcembed.importers.torch_walk import walk
from dcembed.network.builder import Tensor
from dcembed.network.growth import UNLIMITED, Growth
from dcembed.network.network import Network

# Numbers that one value may be made of when a graph is read for a whole batch.
MOST_IN_BATCH = 20_000_000
ACCEPTED = ", ".join(sorted(OPERATORS))


def read_exported(exported: Any) -> Program:
    """The program of a torch.export.ExportedProgram."""
    code = read_code(exported.module(check_guards=False))
    inputs = tuple(_read_input(node, exported) for node in code.graph.nodes if node.op == "placeholder")
    structure = exported.call_spec.out_spec
    names = name_outputs(pytree.tree_unflatten([0] * structure.num_leaves, structure))
    return Program("program of torch.export", code, inputs, names)


def _read_input(node: fx.Node, exported: Any) -> Input:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        raise NetworkError(f"The input '{node.name}' of the program is {value!r}, which is not a tensor. Export a model of tensors alone.")
    sizes = tuple(size if isinstance(size, int) else None for size in value.shape)
    limits = exported.range_constraints.get(getattr(getattr(value.shape[0], "node", None), "expr", None)) if sizes else None
    low, high = (1, 2**31) if limits is None else (int(limits.lower), int(min(limits.upper, 2**31)))
    return Input(node.name, sizes, value.dtype, (max(low, 1), high))


def load_program(program: Program, request: Request, growth: Growth = UNLIMITED) -> Network:
    """Lower a program and compare it with itself, run by torch."""
    outputs = _choose_outputs(program, request)
    layouts = read_layouts(program, request)
    try:
        return check_program(lower(program, layouts.likely, outputs, growth)[0], program, layouts.likely, outputs)
    except (ImportMismatchError, NetworkError, UnsupportedLayerError):
        if layouts.otherwise is None:
            raise
        found = _load_whole(program, layouts, outputs, growth)
        if found is None:
            raise
        return found


def _load_whole(program: Program, layouts: Layouts, outputs: Sequence[int], growth: Growth) -> Network | None:
    """Read for a whole batch: one point of it, or all of it if its rows are no points; None if neither is what the program does."""
    whole, batched = layouts.otherwise, layouts.likely
    assert whole is not None
    limit = growth if growth.most is not None else Growth(MOST_IN_BATCH)
    try:
        network, sizes = lower(program, whole, outputs, limit)
    except (NetworkError, UnsupportedLayerError):
        return None
    for candidate, layout in ((_first_point(network, whole, batched, sizes), batched), (network, whole)):
        try:
            return check_program(candidate, program, layout, outputs)
        except (ImportMismatchError, NetworkError):
            continue
    return None


def _first_point(network: Network, whole: Layout, batched: Layout, sizes: Sequence[int]) -> Network:
    batch = batched.batch or 1
    inputs = [np.arange(part.start, part.start + batched.find(name).size) for name, part in whole.parts.items()]
    starts = np.cumsum([0, *sizes])
    outputs = [np.arange(start, start + size // batch) for start, size in zip(starts, sizes, strict=False)]
    return restrict(network, np.concatenate(inputs), np.concatenate(outputs))


def _choose_outputs(program: Program, request: Request) -> list[int]:
    leaves = returned(program.code.graph)
    if request.outputs is None:
        chosen = [index for index, leaf in enumerate(leaves) if isinstance(leaf, fx.Node)]
        if not chosen:
            raise NetworkError(f"The {program.what} returns nothing that depends on its input. Accepted are models that return tensors.")
        return chosen
    unknown = [name for name in request.outputs if name not in program.outputs]
    if unknown:
        raise InputError(
            f"load_network: outputs has '{unknown[0]}', which the model does not. Its outputs are {', '.join(program.outputs)}."
        )
    return [program.outputs.index(name) for name in request.outputs]


def lower(program: Program, layout: Layout, outputs: Sequence[int], growth: Growth) -> tuple[Network, list[int]]:
    """The network of a program, and how many numbers each of the outputs has."""
    size = layout.batch or 1
    zeros = np.zeros((size, sum(layout.find(name).size for name in layout.order)))
    code = without_mutation(program.code, arguments(layout, zeros, program, double=False))
    alone = len(layout.order) == 1
    shape = layout.find(layout.order[0]).shape if alone else (zeros.shape[1],)
    lowering = Lowering("torch", ACCEPTED, shape or (1,), growth)
    values = [_input_value(lowering, layout, source) for source in layout.sources]
    results = walk(lowering, code, values, outputs, layout.batch)
    lowering.raise_problems()
    flat = [lowering.builder.reshape(ops.as_tensor(result), (-1,)) for result in results]
    network = lowering.finish(flat[0] if len(flat) == 1 else lowering.builder.concat(flat))
    return network, [value.affine.num_rows for value in flat]


def _input_value(lowering: Lowering, layout: Layout, source: Any) -> Any:
    if source.value is not None:
        return source.value
    if len(layout.order) == 1:
        return lowering.builder.reshape(lowering.input, source.shape)
    part = layout.parts[source.name]
    return ops.select(lowering.builder, lowering.input, lambda entries: entries[part].reshape(source.shape))


def check_program(network: Network, program: Program, layout: Layout, outputs: Sequence[int]) -> Network:
    """In double precision, or in single precision where the program insists on it."""

    def forward(points: Array, double: bool) -> Array:
        parts = []
        for count, size, filled in batches(layout, points):
            results = run(program.code, arguments(layout, filled, program, double), double)
            parts.append(_rows([results[index] for index in outputs], layout, size)[:count])
        return np.concatenate(parts)

    return compare(network, forward, program.what)


def compare(network: Network, forward: Callable[[Array, bool], Array], what: str) -> Network:
    """`forward` takes points, and whether to compute in double precision."""
    try:
        forward(np.zeros((2, network.num_inputs)), True)
        double = True
    except Exception:
        double = False
    precision = "float64" if double else "float32"
    points = draw_points(network, precision)
    rounding = softplus_error(network, points)
    return check(network, lambda points: forward(points, double), what, precision=precision, points=points, rounding=rounding)


def _rows(results: Sequence[Any], layout: Layout, size: int) -> Array:
    """What a batch of points gives, one row per point."""
    batched = any(source.batched for source in layout.sources)
    arrays = [result.double().numpy() for result in results]
    if not batched:
        return np.concatenate([array.reshape(1, -1) for array in arrays], axis=1)
    wrong = [array.shape for array in arrays if array.ndim == 0 or len(array) != size]
    if wrong:
        raise NetworkError(
            f"The model gives values of shape {wrong[0]} for a batch of {size} points: it mixes the points of a batch. "
            "Accepted are models which treat every point of a batch on its own."
        )
    return np.concatenate([array.reshape(size, -1) for array in arrays], axis=1)
