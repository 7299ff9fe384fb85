"""Which values of an ONNX model become predictions: its outputs, some of them, or what goes into the sigmoid or softmax at the end."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from dcembed.errors import InputError
from dcembed.importers.onnx_.double import FLOAT_TYPES
from dcembed.importers.onnx_.heads import find_logits
from dcembed.importers.onnx_.inputs import type_name
from dcembed.importers.request import Request
from dcembed.network.builder import Head

Nodes = list[onnx.NodeProto]


def choose_outputs(graph: onnx.GraphProto, request: Request) -> tuple[Nodes, tuple[str, ...]]:
    """The nodes, and the names of the values that become predictions."""
    nodes = [_without_labels(node) for node in graph.node]
    if request.logits:
        return _choose_logits(graph, nodes, request)
    names = tuple(str(proto.name) for proto in graph.output) if request.outputs is None else request.outputs
    if not names:
        raise InputError("The ONNX model has no output. Name values that it computes: load_network(model, outputs=[...]).")
    computed = {name for node in graph.node for name in node.output} | {proto.name for proto in graph.output}
    for name in names:
        if name not in computed:
            raise InputError(f"load_network: the ONNX model computes no '{name}'. Its outputs are {_list(graph)}.")
    for proto in graph.output:
        if proto.name in names:
            _check_type(proto, graph)
    return nodes, names


def _without_labels(node: onnx.NodeProto) -> onnx.NodeProto:
    """A ZipMap writes the labels of the classes to their probabilities; the probabilities are what is embedded."""
    if node.op_type != "ZipMap":
        return node
    return onnx.helper.make_node("Identity", list(node.input), list(node.output), name=node.name)


def _check_type(proto: onnx.ValueInfoProto, graph: onnx.GraphProto) -> None:
    kind = proto.type
    is_float = kind.HasField("tensor_type") and kind.tensor_type.elem_type in (*FLOAT_TYPES, onnx.TensorProto.UNDEFINED)
    if is_float or kind.WhichOneof("value") is None or _makes(graph.node, proto.name, "ZipMap"):
        return
    others = [other.name for other in graph.output if other.name != proto.name]
    choice = (
        f"Choose others: load_network(model, outputs={others})." if others else "Name values before it: load_network(model, outputs=[...])."
    )
    raise InputError(
        f"The output '{proto.name}' of the ONNX model has type {type_name(proto)}, a label or an index; predictions are numbers. {choice}"
    )


def _makes(nodes: Sequence[onnx.NodeProto], name: str, kind: str) -> bool:
    return any(node.op_type == kind and name in node.output for node in nodes)


def _choose_logits(graph: onnx.GraphProto, nodes: Nodes, request: Request) -> tuple[Nodes, tuple[str, ...]]:
    """Outputs that do not end in such a function, such as labels, are left out. One may have that name itself."""
    if any(proto.name == "logits" for proto in graph.output):
        request.heads[:] = [None]
        return nodes, ("logits",)
    found: list[str] = []
    request.heads.clear()
    for proto in graph.output:
        cut = find_logits(graph, nodes, proto.name)
        if cut is not None:
            nodes = cut.nodes
            found.append(cut.logits)
            request.heads.append(cut.head)
    if not found:
        raise InputError(
            f'load_network: outputs="logits" does not apply: no output of the ONNX model ({_list(graph)}) ends in a sigmoid, softmax or '
            "log-softmax. Leave outputs out, or name the values that you want."
        )
    return nodes, tuple(found)


def side_by_side(heads: Sequence[Head | None], shapes: Sequence[tuple[int, ...]]) -> list[Head | None]:
    """The heads, more than one of those that stand side by side: a softmax is along one axis, and a value may have others beside it."""
    several = [
        head in ("softmax", "log_softmax") and sum(size > 1 for size in shape) > 1 for head, shape in zip(heads, shapes, strict=True)
    ]
    return [item for head, more in zip(heads, several, strict=True) for item in (head,) * (2 if more else 1)]


def _list(graph: onnx.GraphProto) -> str:
    return ", ".join(f"'{proto.name}'" for proto in graph.output) or "none"
