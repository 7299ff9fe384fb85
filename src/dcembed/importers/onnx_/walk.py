"""Walk an ONNX graph node by node: constants are folded, subgraphs whose conditions are constants are walked in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper

from dcembed.arrays import Array
from dcembed.errors import NetworkError
from dcembed.importers import operations as ops
from dcembed.importers.lowering import UNKNOWN, Layer, Lowering
from dcembed.importers.onnx_.double import read_weights
from dcembed.importers.onnx_.files import to_array
from dcembed.importers.onnx_.folding import fold, is_folded
from dcembed.importers.onnx_.functions import MOST_NODES
from dcembed.importers.onnx_.graph import Placed, name_of, order_nodes
from dcembed.importers.onnx_.operators import SUBGRAPHS, find_operator
from dcembed.importers.onnx_.operators.comparisons import refuse_comparison
from dcembed.importers.operations import Unsupported

Values = dict[str, Any]

# Times that a loop may run: every turn is a few stages more.
MOST_TURNS = 500


@dataclass
class Walk:
    """What stays the same from node to node.

    Parameters
    ----------
    opsets
        Versions of the operators, by domain.
    batch
        Size of the batch axis where it is fixed, else 0 or None.
    steps
        Nodes that were walked, the bodies of loops as often as they run.
    """

    lowering: Lowering
    opsets: Mapping[str, int]
    batch: int | None = None
    steps: int = field(default=0)


def walk_nodes(nodes: Placed, values: Values, walk: Walk) -> None:
    """Add the results of all nodes to the values."""
    for place, node in nodes:
        walk.steps += 1
        if walk.steps > MOST_NODES:
            raise NetworkError(f"The ONNX model has more than {MOST_NODES} nodes when its loops are written out. Export a smaller model.")
        layer = Layer(place, name_of(node), ".".join(filter(None, (node.domain, node.op_type))))
        inputs = [_get(values, name, layer) for name in node.input]
        if node.op_type == "Reshape" and walk.batch and len(inputs) == 2:
            inputs[1] = _for_one_point(inputs[1], walk.batch)
        result = walk.lowering.apply(layer, _find(node, inputs, values, walk), *inputs, **_attributes(node))
        parts = result if isinstance(result, tuple) else (result,)
        values.update(dict.fromkeys(node.output, UNKNOWN))
        values.update(zip(node.output, parts, strict=False))


def _get(values: Values, name: str, layer: Layer) -> Any:
    """A missing optional input is written as an empty name."""
    if name and name not in values:
        raise NetworkError(f"The ONNX graph is broken at {layer}: its input '{name}' is not computed before it.")
    return values[name] if name else None


def _for_one_point(shape: Any, batch: int) -> Any:
    """A reshape that repeats the fixed batch size keeps the batch axis."""
    if not isinstance(shape, np.ndarray) or shape.size == 0 or shape[0] != batch:
        return shape
    return np.concatenate([[1], shape[1:]])


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    read = {attribute.name: _read(helper.get_attribute_value(attribute)) for attribute in node.attribute}
    # Into how many pieces something is split is not always written down.
    return {"num_outputs": len(node.output)} | read if node.op_type == "Split" else read


def _read(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return to_array(value)
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _find(node: onnx.NodeProto, inputs: Sequence[Any], values: Values, walk: Walk) -> Callable[..., Any] | None:
    if is_folded(node, inputs):
        return lambda builder, *args, **kwargs: fold(node, args, walk.opsets, builder.growth)
    if node.domain == "" and node.op_type in SUBGRAPHS:
        return lambda builder, *args, **kwargs: _WALKED[node.op_type](values, walk, *args, **kwargs)
    return refuse_comparison(inputs, find_operator(node.domain, node.op_type, walk.opsets.get(node.domain, 1)))


# Subgraphs.


def _if(values: Values, walk: Walk, condition: Any, then_branch: Any, else_branch: Any) -> tuple[Any, ...]:
    if not isinstance(condition, np.ndarray | np.generic):
        raise Unsupported("decides by a value that is computed from the input. Export the branch that is taken")
    branch = then_branch if np.asarray(condition).reshape(-1)[0] else else_branch
    return tuple(_walk_graph(branch, values, walk))


def _loop(values: Values, walk: Walk, count: Any, condition: Any, *carried: Any, body: Any) -> tuple[Any, ...]:
    """The body as often as it runs, when that does not depend on the input."""
    most = MOST_TURNS + 1 if count is None else _whole(count, "the number of times that it runs")
    goes_on = True if condition is None else condition
    state, scanned = list(carried), []
    for turn in range(most):
        if not _whole(goes_on, "the condition that ends it"):
            break
        if turn == MOST_TURNS:
            raise Unsupported(f"runs more than {MOST_TURNS} times. Export a model of fewer steps")
        inputs = dict(zip((value.name for value in body.input), (np.asarray(turn), np.asarray(goes_on), *state), strict=True))
        goes_on, *results = _walk_graph(body, values | inputs, walk)
        state, rows = results[: len(carried)], results[len(carried) :]
        scanned.append(rows)
    if any(value is UNKNOWN for rows in scanned for value in rows):
        return (*state, *(UNKNOWN for _ in scanned[0]))
    return (*state, *(_stack(walk, column) for column in zip(*scanned, strict=True)))


def _sequence_map(values: Values, walk: Walk, sequence: Any, *others: Any, body: Any) -> tuple[Any, ...]:
    """The body once for every value of a sequence, with the value of the same place of other sequences."""
    names = [str(value.name) for value in body.input]
    rows = []
    for place, value in enumerate(sequence):
        taken = [other[place] if isinstance(other, list) else other for other in others]
        rows.append(_walk_graph(body, values | dict(zip(names, (value, *taken), strict=True)), walk))
    return tuple(list(column) for column in zip(*rows, strict=True))


def _whole(value: Any, what: str) -> int:
    if not isinstance(value, np.ndarray | np.generic | bool):
        raise Unsupported(f"runs as often as the input says: {what} is computed. Export the model with a fixed number of steps")
    return int(np.asarray(value).reshape(-1)[0])


def _stack(walk: Walk, rows: Sequence[Any]) -> Any:
    builder = walk.lowering.builder
    return ops.concat(builder, [ops.reshape(builder, row, (1, *row.shape)) for row in rows], 0)


def _walk_graph(graph: onnx.GraphProto, values: Values, walk: Walk) -> list[Any]:
    """The outputs of a subgraph, which sees all values before it."""
    names = [str(value.name) for value in graph.output]
    everything = {tensor.name for tensor in graph.initializer} | {tensor.values.name for tensor in graph.sparse_initializer}
    weights: dict[str, Array] = read_weights(graph, everything, walk.lowering.builder.growth)
    inner = values | weights
    walk_nodes(order_nodes(graph.node, names), inner, walk)
    return [inner.get(name, UNKNOWN) for name in names]


_WALKED: dict[str, Callable[..., Any]] = {"If": _if, "Loop": _loop, "SequenceMap": _sequence_map}
