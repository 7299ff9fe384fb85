"""Find what goes into the sigmoid, softmax or log-softmax that an ONNX graph ends in, written as one node or as several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx
from onnx import helper

from dcembed.importers.onnx_.files import to_array
from dcembed.network.builder import Head

# What changes neither the numbers nor their order.
_PASSED = ("Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")
_HEADS: dict[str, Head] = {"LogSoftmax": "log_softmax", "Sigmoid": "sigmoid", "Softmax": "softmax"}
# A LinearClassifier means the class of the largest score, whatever is done with the scores.
_CLASSIFIER_LINKS: dict[bytes, Head] = {b"LOGISTIC": "classes", b"SOFTMAX": "softmax"}
# What probabilities are once they are divided by their sum.
_NORMALIZED: dict[Head, Head] = {"sigmoid": "classes", "classes": "classes", "softmax": "softmax", "binary": "binary"}
_LOGARITHMS: dict[Head, Head] = {"sigmoid": "log_sigmoid", "softmax": "log_softmax"}


@dataclass(frozen=True)
class Cut:
    """A graph without a head: the nodes that are left, the value that went into the head, and which one it was."""

    nodes: list[onnx.NodeProto]
    logits: str
    head: Head


# The value that went into a head, and which one it is.
_Inside = tuple[str, Head]


@dataclass(frozen=True)
class _Graph:
    """Which node makes a value, and which values are given."""

    makers: dict[str, onnx.NodeProto]
    given: dict[str, onnx.TensorProto]

    def kind(self, name: str) -> str:
        return str(self.makers[name].op_type) if name in self.makers else ""

    def inputs(self, name: str) -> list[str]:
        return list(self.makers[name].input)

    def is_one(self, name: str) -> bool:
        tensor = self.given.get(name)
        if self.kind(name) == "Constant":
            tensor = next((item.t for item in self.makers[name].attribute if item.name == "value"), None)
        return tensor is not None and bool(np.all(to_array(tensor) == 1))


def find_logits(graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto], output: str) -> Cut | None:
    """The graph without the head that `output` comes from; None if there is no head."""
    makers = {name: node for node in nodes for name in node.output}
    view = _Graph(makers, {tensor.name: tensor for tensor in graph.initializer})
    name, normalized = output, False
    # As many steps as there are nodes, so that a graph that goes round in a circle ends too.
    for _ in nodes:
        node = makers.get(name)
        if node is None:
            return None
        if node.op_type == "LinearClassifier":
            cut = _without_link(nodes, node, name)
            return _normalize(cut) if cut is not None and normalized else cut
        inside = _match(view, name)
        if inside is not None:
            cut = Cut(list(nodes), *inside)
            return _normalize(cut) if normalized else cut
        if node.op_type not in _PASSED and not _keeps_probabilities(node):
            return None
        normalized = normalized or node.op_type == "Normalizer"
        name = node.input[0]
    return None


def _keeps_probabilities(node: onnx.NodeProto) -> bool:
    """Converters divide probabilities by their sum once more."""
    return node.op_type == "Normalizer" and any(item.name == "norm" and item.s == b"L1" for item in node.attribute)


def _normalize(cut: Cut) -> Cut | None:
    head = _NORMALIZED.get(cut.head)
    return None if head is None else replace(cut, head=head)


def _without_link(nodes: Sequence[onnx.NodeProto], node: onnx.NodeProto, name: str) -> Cut | None:
    """The classifier with its bare scores."""
    links = [_CLASSIFIER_LINKS[item.s] for item in node.attribute if item.name == "post_transform" and item.s in _CLASSIFIER_LINKS]
    if not links or list(node.output).index(name) != 1:
        return None
    bare = onnx.NodeProto()
    bare.CopyFrom(node)
    for item in bare.attribute:
        if item.name == "post_transform":
            item.CopyFrom(helper.make_attribute("post_transform", "NONE"))
    return Cut([bare if other is node else other for other in nodes], name, links[0])


def _match(graph: _Graph, name: str) -> _Inside | None:
    if graph.kind(name) in _HEADS:
        return graph.inputs(name)[0], _HEADS[graph.kind(name)]
    matcher = _MATCHERS.get(graph.kind(name))
    return matcher(graph, *graph.inputs(name)) if matcher else None


# Heads that are written out.


def _quotient(graph: _Graph, left: str, right: str) -> _Inside | None:
    """exp(a) / sum exp(a), or 1 / (1 + exp(-a))."""
    if graph.kind(left) == "Exp" and graph.kind(right) == "ReduceSum" and graph.inputs(right)[0] == left:
        return _without_largest(graph, graph.inputs(left)[0]), "softmax"
    return _reciprocal(graph, right) if graph.is_one(left) else None


def _without_largest(graph: _Graph, name: str) -> str:
    """A softmax is the same without the largest entry taken off."""
    if graph.kind(name) == "Sub":
        left, right = graph.inputs(name)
        if graph.kind(right) == "ReduceMax" and graph.inputs(right)[0] == left:
            return left
    return name


def _reciprocal(graph: _Graph, name: str) -> _Inside | None:
    """1 / (1 + exp(-a))."""
    if graph.kind(name) != "Add":
        return None
    for one, other in (graph.inputs(name), graph.inputs(name)[::-1]):
        if graph.is_one(one) and graph.kind(other) == "Exp":
            inner = graph.inputs(other)[0]
            return (graph.inputs(inner)[0], "sigmoid") if graph.kind(inner) == "Neg" else None
    return None


def _logarithm(graph: _Graph, name: str) -> _Inside | None:
    """log softmax(a), log sigmoid(a)."""
    inside = _match(graph, name) if graph.kind(name) in ("Div", "Reciprocal", "Sigmoid", "Softmax") else None
    return None if inside is None else (inside[0], _LOGARITHMS[inside[1]])


def _exponential(graph: _Graph, name: str) -> _Inside | None:
    """exp(log softmax(a))."""
    inside = _match(graph, name) if graph.kind(name) in ("LogSoftmax", "Sub") else None
    return None if inside is None else (inside[0], "softmax")


def _difference(graph: _Graph, left: str, right: str) -> _Inside | None:
    """a - log sum exp(a)."""
    if graph.kind(right) == "ReduceLogSumExp" and graph.inputs(right)[0] == left:
        return left, "log_softmax"
    if graph.kind(right) == "Log" and graph.kind(total := graph.inputs(right)[0]) == "ReduceSum":
        power = graph.inputs(total)[0]
        return (left, "log_softmax") if graph.kind(power) == "Exp" and graph.inputs(power)[0] == left else None
    return None


def _both_classes(graph: _Graph, *parts: str) -> _Inside | None:
    """1 - sigmoid(a) and sigmoid(a) side by side."""
    if len(parts) != 2 or graph.kind(parts[1]) != "Sigmoid" or graph.kind(parts[0]) != "Sub":
        return None
    one, second = graph.inputs(parts[0])
    return (graph.inputs(parts[1])[0], "binary") if graph.is_one(one) and second == parts[1] else None


_MATCHERS: dict[str, Callable[..., _Inside | None]] = {
    "Concat": _both_classes,
    "Div": _quotient,
    "Exp": _exponential,
    "Log": _logarithm,
    "Reciprocal": _reciprocal,
    "Sub": _difference,
}
