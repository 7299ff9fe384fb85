"""Where a graph is while it runs: the layer that a node belongs to, as the user knows it, and the points in its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import fx

from dcembed.importers.lowering import Layer
from dcembed.importers.torch_.programs.batch import FixedBatch

_CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")


class GraphSteps:
    """Follows the nodes of a graph.

    Parameters
    ----------
    fixed
        Takes the size of a batch out of the graph.
    """

    def __init__(self, fixed: FixedBatch) -> None:
        self._fixed = fixed
        self._node: fx.Node | None = None
        self._count = -1

    def before(self, node: fx.Node, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments of the node that runs next."""
        self._node = node
        self._count += 1
        return self._fixed.for_one_point(node, args)

    def after(self, node: fx.Node, value: Any) -> None:
        """The value of a node is known."""
        self._fixed.note(node, value)

    def at(self, operator: str) -> Layer:
        """The layer of the node that runs: a layer of torch.nn, or the operator itself."""
        return _describe(self._node, self._count, operator)


def _describe(node: fx.Node | None, index: int, operator: str) -> Layer:
    """What an error calls a node."""
    layers = [] if node is None else [entry for entry in _modules(node) if entry[1].startswith("torch.nn") and not _holds_others(entry[1])]
    if layers:
        return Layer(index, layers[-1][0] or "model", layers[-1][1].rpartition(".")[2])
    return Layer(index, "model" if node is None else node.name, f"torch.{operator}")


def _holds_others(kind: str) -> bool:
    return kind.rpartition(".")[2] in _CONTAINERS


def _modules(node: fx.Node) -> list[tuple[str, str]]:
    """The modules that a node was traced in, outermost first: their names in the model and their classes."""
    stack = (node.meta.get("nn_module_stack") or {}).values()
    return [(str(path), kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}") for path, kind in stack]
