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
from dcembed.importers.check import check
from dcembed.importers.lowering import Lowering
from dcembed.importers.request import Request
from dcembed.importers.aten import OPERATORS
from dcembed.importers.torch_inputs import Layout, arguments, batches, read_layouts
from dcembed.importers.torch_mutation import without_mutation
from dcembed.importers.torch_program import Input, Program, name_outputs, read_code, returned, run
from dcembed.importers.torch_walk import walk
from dcembed.network.builder import Tensor
from dcembed.network.growth import UNLIMITED, Growth
from dcembed.network.network import Network

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
    first: DcembedError | None = None
    for layout in read_layouts(program, request):
        try:
            return _load_layout(program, layout, request, growth)
        except (ImportMismatchError, NetworkError, UnsupportedLayerError) as error:
            first = first or error
    assert first is not None
    raise first


def _load_layout(program: Program, layout: Layout, request: Request, growth: Growth) -> Network:
    outputs = _choose_outputs(program, request)
    network = lower(program, layout, outputs, growth)
    return check_program(network, program, layout, outputs)


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


def lower(program: Program, layout: Layout, outputs: Sequence[int], growth: Growth) -> Network:
    """The network of a program."""
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
    return lowering.finish(flat[0] if len(flat) == 1 else lowering.builder.concat(flat))


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
    return check(network, lambda points: forward(points, double), what, precision="float64" if double else "float32")


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
