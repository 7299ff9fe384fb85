"""The nodes of an ONNX graph that its outputs need, each after those whose results it takes.

Files are found whose constants are defined behind their use. Nodes that no chosen output needs, such as those that make
labels of the scores of a classifier, are not looked at.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import onnx

from dcembed.errors import NetworkError

# Nodes with their places in the file, which messages give.
Placed = list[tuple[int, onnx.NodeProto]]


def order_nodes(nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]) -> Placed:
    """The nodes that `outputs` need with their places in the file, in the order of the file wherever that is an order of computation."""
    _check_names(nodes)
    makers = _find_makers(nodes)
    needs = _needed(nodes, makers, outputs)
    waiting = {place: len(before) for place, before in needs.items()}
    users: dict[int, list[int]] = {place: [] for place in needs}
    for place, before in needs.items():
        for maker in before:
            users[maker].append(place)
    ready = [place for place, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    ordered: Placed = []
    while ready:
        place = heapq.heappop(ready)
        ordered.append((place, nodes[place]))
        for user in users[place]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, user)
    if len(ordered) < len(needs):
        circle = min(place for place, count in waiting.items() if count)
        raise NetworkError(
            f"The ONNX graph is broken at layer {circle}, '{name_of(nodes[circle])}': it needs its own result. Export the model again."
        )
    return ordered


def name_of(node: onnx.NodeProto) -> str:
    """What messages call a node: its name, or that of its first result."""
    return str(node.name or (node.output[0] if node.output else ""))


def names_taken(node: onnx.NodeProto) -> list[str]:
    """The values that a node takes, those in its subgraphs included."""
    return [name for name in (*node.input, *_captured(node)) if name]


def all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes and those of their subgraphs."""
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from all_nodes(graph.node)


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs in the attributes of a node: branches and bodies of loops."""
    for attribute in node.attribute:
        yield from attribute.graphs
        if attribute.HasField("g"):
            yield attribute.g


def _captured(node: onnx.NodeProto) -> Iterator[str]:
    """Names in subgraphs that come from outside of them."""
    for graph in subgraphs(node):
        own = {value.name for value in (*graph.input, *graph.initializer)}
        own |= {name for inner in graph.node for name in inner.output}
        own |= {tensor.values.name for tensor in graph.sparse_initializer}
        outside = [name for inner in graph.node for name in names_taken(inner)]
        yield from (name for name in (*outside, *(value.name for value in graph.output)) if name not in own)


def _check_names(nodes: Sequence[onnx.NodeProto]) -> None:
    """Names that are not in UTF-8 come as bytes."""
    if any(not isinstance(name, str) for node in nodes for name in (node.op_type, node.domain, node.name, *node.input, *node.output)):
        raise NetworkError("The ONNX graph cannot be read: it has names that are not text. It is damaged; export the model again.")


def _find_makers(nodes: Sequence[onnx.NodeProto]) -> dict[str, list[int]]:
    makers: dict[str, list[int]] = {}
    for place, node in enumerate(nodes):
        for name in node.output:
            makers.setdefault(name, []).append(place)
    return makers


def _needed(nodes: Sequence[onnx.NodeProto], makers: dict[str, list[int]], outputs: Iterable[str]) -> dict[int, set[int]]:
    """Places of the nodes that are needed -> places of those whose results they take."""
    needs: dict[int, set[int]] = {}
    pending = [places[-1] for name in outputs if (places := makers.get(name))]
    while pending:
        place = pending.pop()
        if place not in needs:
            needs[place] = {maker for name in names_taken(nodes[place]) if (maker := _maker(makers.get(name), place)) is not None}
            pending.extend(needs[place])
    return needs


def _maker(places: list[int] | None, user: int) -> int | None:
    """The last node before the user that makes a value, or the first behind it."""
    if not places:
        return None
    position = bisect_left(places, user)
    return places[position - 1] if position else places[0]
