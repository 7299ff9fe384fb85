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
        graph = onnx.load(str(path), load_external_data=False).graph
    except Exception as error:
        raise NetworkError(
            f"{path} is not a readable ONNX file ({type(error).__name__}). Export the model again, or check the download."
        ) from None
    return [
        OnnxLayer(index, node.name or ", ".join(node.output), node.op_type, node.domain in ("", "ai.onnx") and node.op_type in OPERATORS)
        for index, node in enumerate(graph.node)
    ]
