"""Local functions of an ONNX model: how large the model becomes when they are written out, which is found before it is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx
import onnx.inliner

from dcembed.errors import NetworkError
from dcembed.importers.onnx_.graph import all_nodes

# A network for an optimization model has tens or hundreds of nodes.
MOST_NODES = 5_000

Key = tuple[str, str, str]


def inline(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its local functions written out."""
    if not model.functions:
        return model
    _check_size(model)
    try:
        return onnx.inliner.inline_local_functions(model)
    except Exception as error:
        raise NetworkError(f"The functions of the ONNX model cannot be written out: {error}. Export the model without them.") from error


def _check_size(model: onnx.ModelProto) -> None:
    bodies = {(function.domain, function.name, function.overload): function.node for function in model.functions}
    sizes: dict[Key, int] = {}
    for key in _callees_first(bodies):
        sizes[key] = _written_out(bodies[key], sizes)
    total = _written_out(model.graph.node, sizes)
    if total > MOST_NODES:
        raise NetworkError(
            f"The ONNX model has functions that write out to {total if total < 10**9 else 'more than 10^9'} nodes; "
            f"at most {MOST_NODES} are accepted. Export a smaller model, or one without functions."
        )


def _callees_first(bodies: dict[Key, Sequence[onnx.NodeProto]]) -> Iterator[Key]:
    """Every function after those that it calls; a function that comes back to itself is an error."""
    done: set[Key] = set()
    for first in bodies:
        path: list[Key] = [first]
        while path:
            key = path[-1]
            waiting = next((called for called in _calls(bodies[key], bodies) if called not in done), None)
            if waiting is None:
                path.pop()
                if key not in done:
                    done.add(key)
                    yield key
            elif waiting in path:
                raise NetworkError(f"The function '{waiting[1]}' of the ONNX model calls itself. Export the model without functions.")
            else:
                path.append(waiting)


def _calls(nodes: Sequence[onnx.NodeProto], bodies: dict[Key, Sequence[onnx.NodeProto]]) -> Iterator[Key]:
    return (key for node in all_nodes(nodes) if (key := (node.domain, node.op_type, node.overload)) in bodies)


def _written_out(nodes: Sequence[onnx.NodeProto], sizes: dict[Key, int]) -> int:
    return sum(sizes.get((node.domain, node.op_type, node.overload), 1) for node in all_nodes(nodes))
