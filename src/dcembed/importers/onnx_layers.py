"""What an ONNX file is made of, and which of it can be embedded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import onnx

from dcembed.errors import NetworkError
from dcembed.importers.onnx_operations import OPERATORS


@dataclass(frozen=True)
class OnnxLayer:
    """One node of the graph."""

    index: int
    name: str
    kind: str
    is_known: bool


def list_layers(path: Path) -> list[OnnxLayer]:
    """The nodes of a file in order. Weights are not read."""
    try:
        return [_read_layer(index, node) for index, node in enumerate(onnx.load(str(path), load_external_data=False).graph.node)]
    except Exception as error:
        raise NetworkError(
            f"{path} is not a readable ONNX file ({type(error).__name__}). Export the model again, or check the download."
        ) from None


def _read_layer(index: int, node: onnx.NodeProto) -> OnnxLayer:
    is_known = node.domain in ("", "ai.onnx") and node.op_type in OPERATORS
    return OnnxLayer(index, _as_text(node.name) or ", ".join(map(_as_text, node.output)), _as_text(node.op_type), is_known)


def _as_text(name: str | bytes) -> str:
    """Names that are not in UTF-8 come as bytes."""
    return name if isinstance(name, str) else name.decode("utf-8", "backslashreplace")
