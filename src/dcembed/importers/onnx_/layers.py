"""What an ONNX file is made of, and which of it can be embedded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import onnx

from dcembed.importers.onnx_.files import parse_file
from dcembed.importers.onnx_.operators import is_known


@dataclass(frozen=True)
class Node:
    """One node of the graph: its place, what a person calls it, its operator, and whether that can be embedded."""

    index: int
    name: str
    kind: str
    is_known: bool


def list_layers(path: Path) -> list[Node]:
    """The nodes of a file in order. Weights are not read."""
    return [_read_layer(index, node) for index, node in enumerate(parse_file(path).graph.node)]


def _read_layer(index: int, node: onnx.NodeProto) -> Node:
    name = _as_text(node.name) or ", ".join(map(_as_text, node.output))
    return Node(index, name, _as_text(node.op_type), is_known(_as_text(node.domain), _as_text(node.op_type)))


def _as_text(name: str | bytes) -> str:
    """Names that are not in UTF-8 come as bytes."""
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")
