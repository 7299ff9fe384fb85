"""Read ONNX models, from a file or a ModelProto.

The nodes that the outputs need are walked, and the network that comes out is compared with them, in double precision. Values have
the shape they have for one point: a batch axis has size 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from dcembed.arrays import Array
from dcembed.errors import InputError, NetworkError
from dcembed.importers.check import check
from dcembed.importers.lowering import UNKNOWN, Lowering, unknown_input
from dcembed.importers.onnx_.double import count_numbers, node_in_double, read_weights
from dcembed.importers.onnx_.evaluation import Evaluation, make_evaluator
from dcembed.importers.onnx_.files import check_proto, read_file
from dcembed.importers.onnx_.functions import inline
from dcembed.importers.onnx_.graph import Placed, all_nodes, names_taken, order_nodes
from dcembed.importers.onnx_.inputs import Inputs, read_inputs
from dcembed.importers.onnx_.operators import ACCEPTED
from dcembed.importers.onnx_.outputs import choose_outputs, side_by_side
from dcembed.importers.onnx_.patterns import replace_patterns
from dcembed.importers.onnx_.walk import Values, Walk, walk_nodes
from dcembed.importers.operations import as_tensor, select, shape_of
from dcembed.importers.request import Request
from dcembed.network.growth import Growth, growth_of
from dcembed.network.network import Network

# Places of a 64x64 image, and numbers of a convolution as a sparse matrix: hundreds of megabytes.
MOST_PLACES, MOST_IN_CONVOLUTION = 4_096, 30_000_000


@dataclass(frozen=True)
class _Model:
    """What of a model the chosen outputs need, in double precision."""

    nodes: Placed
    weights: dict[str, Array]
    inputs: Inputs
    outputs: tuple[str, ...]
    opsets: dict[str, int]
    growth: Growth

    def forward(self) -> Evaluation:
        """What the model itself gives."""
        evaluator = make_evaluator([node for _, node in self.nodes], self.outputs, self.opsets)
        return Evaluation(evaluator, self.weights, self.inputs, self.outputs)


def load(source: Any, request: Request) -> Network:
    """Read an ONNX file or ModelProto."""
    request.allow_only("ONNX model", "inputs", "fixed", "outputs", "input_shapes")
    model = _read(source, request)
    lowering, values = _walk(model)
    lowering.raise_problems()
    _check_shapes(model)
    results = [_result(values, name) for name in model.outputs]
    if request.logits:
        request.heads[:] = side_by_side(request.heads, [shape_of(result) for result in results])
    network = replace(lowering.finish(_join(lowering, results)), input_names=model.inputs.names)
    return check(network, model.forward(), "ONNX model")


def reference(source: Any, input_shape: tuple[int, ...]) -> Callable[[Array], Array]:
    """The predictions (k, n_out) of an ONNX file or ModelProto at points (k, n_in), as ONNX itself defines them, in double precision.

    Unlike `load` this takes every operator there is, since nothing is translated.
    """
    model = _read(source, Request())
    if model.inputs.unknown is not None:
        model = _read(source, Request(input_shape=input_shape))
    _check_shapes(model)
    return model.forward()


def _read(source: Any, request: Request) -> _Model:
    proto = inline(read_file(source) if isinstance(source, Path) else check_proto(source))
    graph = proto.graph
    if not graph.node:
        raise NetworkError("The network is empty: the ONNX graph has no node. Pass a model with at least one layer.")
    nodes, outputs = choose_outputs(graph, request)
    placed = [(place, node_in_double(node)) for place, node in order_nodes(nodes, outputs)]
    chosen = [node for _, node in placed]
    inputs = read_inputs(graph, chosen, request)
    growth = _growth(chosen, count_numbers(graph, chosen))
    ours = {item.name for item in (*inputs.free, *inputs.fixed)}
    needed = {name for node in chosen for name in names_taken(node)} | set(outputs)
    weights = read_weights(graph, needed - ours, growth)
    opsets = _opsets(proto)
    return _Model(replace_patterns(placed, weights, outputs, opsets[""]), weights, inputs, outputs, opsets, growth)


def _growth(nodes: Sequence[onnx.NodeProto], num_numbers: int) -> Growth:
    """The weights of a convolution stand at every place of its result."""
    growth = growth_of(num_numbers)
    if growth.most is None or not any(node.op_type in ("Conv", "ConvTranspose") for node in all_nodes(nodes)):
        return growth
    return Growth(max(growth.most, min(MOST_IN_CONVOLUTION, MOST_PLACES * num_numbers)))


def _opsets(model: onnx.ModelProto) -> dict[str, int]:
    """Versions of the operators; the oldest files do not say, and mean the first."""
    named = {"" if entry.domain == "ai.onnx" else entry.domain: int(entry.version) for entry in model.opset_import}
    return {"": 1, "ai.onnx.ml": 1} | named


def _walk(model: _Model) -> tuple[Lowering, Values]:
    known = model.inputs.unknown is None
    sizes = [item.size for item in model.inputs.free]
    lowering = Lowering("ONNX", ACCEPTED, (sum(sizes),) if known else None, model.growth)
    values: Values = {**model.weights, **{item.name: item.value for item in model.inputs.fixed}}
    starts = np.cumsum([0, *sizes])
    for item, start in zip(model.inputs.free, starts, strict=False):
        values[item.name] = _take(lowering, start, item.shape, item.size) if known else UNKNOWN
    walk_nodes(model.nodes, values, Walk(lowering, model.opsets, model.inputs.batch))
    return lowering, values


def _take(lowering: Lowering, start: int, shape: tuple[int, ...] | None, size: int) -> Any:
    """One input of the model: a piece of the input of the network."""
    return select(lowering.builder, lowering.input, lambda entries: entries[start : start + size].reshape(shape or ()))


def _check_shapes(model: _Model) -> None:
    unknown = model.inputs.unknown
    if unknown is not None:
        example = "(4,)" if len(model.inputs.free) == 1 else f"{{'{unknown.name}': (4,)}}"
        raise unknown_input("ONNX", f"its input '{unknown.name}' has axes of unknown size besides the batch axis", example)
    if any(item.size == 0 for item in model.inputs.free):
        raise InputError("An input of the ONNX model has an axis of size 0. Pass a model that takes numbers.")


def _result(values: Values, name: str) -> Any:
    if values.get(name, UNKNOWN) is UNKNOWN:
        raise NetworkError(
            f"The output '{name}' of the ONNX graph is not computed by any node, or only by one that gives it when asked for."
        )
    return values[name]


def _join(lowering: Lowering, results: list[Any]) -> Any:
    """Several outputs one after the other."""
    if len(results) == 1:
        return results[0]
    builder = lowering.builder
    return builder.concat([builder.reshape(as_tensor(result), (-1,)) for result in results])
