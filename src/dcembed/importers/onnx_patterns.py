"""Functions that exporters write out with comparisons: replaced by what they are, for the walk and for the comparison with the model alike.

The softplus of PyTorch is x itself above a threshold, where the two differ by less than single precision shows. Its soft shrinkage is a
difference of signs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper

from dcembed.arrays import Array
from dcembed.importers.onnx_files import to_array
from dcembed.importers.onnx_graph import Placed, order_nodes

# Above this, x and softplus(x) differ by less than 4e-7.
LEAST_THRESHOLD = 15.0


@dataclass(frozen=True)
class _View:
    makers: dict[str, onnx.NodeProto]
    weights: Mapping[str, Array]

    def inputs(self, name: str, *kinds: str) -> list[str] | None:
        """What goes into the node that makes a value, if it is of one of these kinds."""
        node = self.makers.get(name)
        return list(node.input) if node is not None and node.op_type in kinds else None

    def number(self, name: str) -> float | None:
        """A constant that is one number."""
        array = self.weights.get(name)
        node = self.makers.get(name)
        if node is not None and node.op_type == "Constant":
            array = next((to_array(item.t) for item in node.attribute if item.name == "value"), None)
        return float(np.reshape(array, ())) if array is not None and array.size == 1 and array.dtype.kind in "fiu" else None


def replace_patterns(placed: Placed, weights: Mapping[str, Array], outputs: tuple[str, ...]) -> Placed:
    """The nodes with such functions in one node each."""
    view = _View({name: node for _, node in placed for name in node.output}, weights)
    replaced = {place: new for place, node in placed if node.op_type == "Where" and (new := _replace(view, node)) is not None}
    if not replaced:
        return placed
    nodes = [replaced.get(place, node) for place, node in placed]
    places = [place for place, _ in placed]
    # What only the comparisons needed goes.
    return [(places[index], node) for index, node in order_nodes(nodes, outputs)]


def _replace(view: _View, node: onnx.NodeProto) -> onnx.NodeProto | None:
    for matcher in _MATCHERS:
        found = matcher(view, *node.input)
        if found is not None:
            kind, source, attributes = found
            return helper.make_node(kind, [source], list(node.output), name=node.name, **attributes)
    return None


Found = tuple[str, str, dict[str, float]]


def _softplus(view: _View, condition: str, left: str, right: str) -> Found | None:
    """x where beta x > threshold, else softplus(beta x) / beta."""
    compared = view.inputs(condition, "Greater", "GreaterOrEqual")
    inside = view.inputs(right, "Softplus") or view.inputs((view.inputs(right, "Div") or [""])[0], "Softplus")
    if compared is None or inside is None or compared[0] != inside[0]:
        return None
    threshold = view.number(compared[1])
    same = inside[0] == left or left in (view.inputs(inside[0], "Mul") or [])
    return ("Identity", right, {}) if same and threshold is not None and threshold >= LEAST_THRESHOLD else None


def _soft_shrink(view: _View, condition: str, left: str, right: str) -> Found | None:
    """x - width sign(x) where |x| > width, else 0."""
    compared, moved = view.inputs(condition, "Greater", "GreaterOrEqual"), view.inputs(left, "Sub")
    if compared is None or moved is None or view.inputs(compared[0], "Abs") != [moved[0]] or not _is_zero(view, right):
        return None
    width, signs = view.number(compared[1]), view.inputs(moved[1], "Mul") or []
    if width is None or not any(view.inputs(name, "Sign") == [moved[0]] for name in signs) or width not in map(view.number, signs):
        return None
    return "Shrink", moved[0], {"lambd": width, "bias": width}


def _is_zero(view: _View, name: str) -> bool:
    return view.number(name) == 0.0 or 0.0 in map(view.number, view.inputs(name, "Mul") or [])


_MATCHERS: tuple[Callable[[_View, str, str, str], Found | None], ...] = (_softplus, _soft_shrink)
