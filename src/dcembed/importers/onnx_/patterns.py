"""Functions that exporters write out: replaced by what they are, for the walk and for the comparison with the model alike.

The softplus of PyTorch is x itself above a threshold, where the two differ by less than single precision shows. Its soft shrinkage is a
difference of signs. The constants of a GELU that is written out are rounded. Converters of scikit-learn divide probabilities by their
sum, which is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import onnx
from onnx import helper

from dcembed.arrays import Array
from dcembed.importers.onnx_.graph import Placed, order_nodes
from dcembed.importers.onnx_.polynomials import Polynomial, View, read_polynomial

# Above this, x and softplus(x) differ by less than 4e-7.
LEAST_THRESHOLD = 15.0
# Constants are written in single precision.
ROUNDING = 1e-6

# The operator that it is, its input, its attributes.
Found = tuple[str, str, dict[str, Any]]


def replace_patterns(placed: Placed, weights: Mapping[str, Array], outputs: tuple[str, ...], version: int) -> Placed:
    """The nodes with such functions in one node each."""
    view = View({name: node for _, node in placed for name in node.output}, weights)
    replaced = {place: new for place, node in placed if (new := _replace(view, node, version)) is not None}
    if not replaced:
        return placed
    nodes = [replaced.get(place, node) for place, node in placed]
    places = [place for place, _ in placed]
    # What nobody needs any more goes.
    return [(places[index], node) for index, node in order_nodes(nodes, outputs)]


def _replace(view: View, node: onnx.NodeProto, version: int) -> onnx.NodeProto | None:
    for matcher in _MATCHERS.get(node.op_type, ()):
        found = matcher(view, node, version)
        if found is not None:
            kind, source, attributes = found
            return helper.make_node(kind, [source], list(node.output), name=node.name, **attributes)
    return None


def _softplus(view: View, node: onnx.NodeProto, version: int) -> Found | None:
    """x where beta x > threshold, else softplus(beta x) / beta."""
    condition, left, right = node.input
    compared = view.inputs(condition, "Greater", "GreaterOrEqual")
    inside = view.inputs(right, "Softplus") or view.inputs((view.inputs(right, "Div") or [""])[0], "Softplus")
    if compared is None or inside is None or compared[0] != inside[0]:
        return None
    threshold = view.number(compared[1])
    same = inside[0] == left or left in (view.inputs(inside[0], "Mul") or [])
    return ("Identity", right, {}) if same and threshold is not None and threshold >= LEAST_THRESHOLD else None


def _soft_shrink(view: View, node: onnx.NodeProto, version: int) -> Found | None:
    """x - width sign(x) where |x| > width, else 0."""
    condition, left, right = node.input
    compared, moved = view.inputs(condition, "Greater", "GreaterOrEqual"), view.inputs(left, "Sub")
    if compared is None or moved is None or view.inputs(compared[0], "Abs") != [moved[0]] or not _is_zero(view, right):
        return None
    width, signs = view.number(compared[1]), view.inputs(moved[1], "Mul") or []
    if width is None or not any(view.inputs(name, "Sign") == [moved[0]] for name in signs) or width not in map(view.number, signs):
        return None
    return "Shrink", moved[0], {"lambd": width, "bias": width}


def _is_zero(view: View, name: str) -> bool:
    return view.number(name) == 0.0 or 0.0 in map(view.number, view.inputs(name, "Mul") or [])


def _gelu(view: View, node: onnx.NodeProto, version: int) -> Found | None:
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), multiplied in any order."""
    factors = _factors(view, node)
    tanh = [name for name in factors if view.inputs(name, "Tanh")]
    if len(tanh) != 1:
        return None
    slope, inside = math.sqrt(2.0 / math.pi), view.makers[tanh[0]].input[0]
    for x in factors:
        whole = read_polynomial(view, node.output[0], frozenset((x, tanh[0])))
        argument = read_polynomial(view, inside, frozenset((x,)))
        half = {((x, 1),): 0.5, tuple(sorted(((x, 1), (tanh[0], 1)))): 0.5}
        if _near(whole, half) and _near(argument, {((x, 1),): slope, ((x, 3),): slope * 0.044715}):
            return "Gelu", x, {"approximate": "tanh"}
    return None


def _factors(view: View, node: onnx.NodeProto) -> list[str]:
    """What a product is made of, three products and sums deep."""
    names = list(node.input)
    for _ in range(2):
        names = [name for item in names for name in (item, *(view.inputs(item, "Add", "Mul") or ()))]
    return list(dict.fromkeys(names))


def _near(left: Polynomial, right: Polynomial) -> bool:
    return left.keys() == right.keys() and all(abs(left[key] - right[key]) <= ROUNDING * abs(right[key]) for key in right)


def _softmax(view: View, node: onnx.NodeProto, version: int) -> Found | None:
    """exp(a) over its sum along one axis; a may have its largest entry taken off."""
    left, right = node.input
    power, total = view.inputs(left, "Exp"), view.inputs(right, "ReduceSum")
    if power is None or total is None or total[0] != left:
        return None
    axis = _only_axis(view, view.makers[right])
    # Before opset 13 a softmax goes over all axes from the one it names.
    if axis is None or (version < 13 and axis != -1):
        return None
    centred = view.inputs(power[0], "Sub")
    top = view.inputs(centred[1], "ReduceMax") if centred else None
    return "Softmax", centred[0] if centred and top and top[0] == centred[0] else power[0], {"axis": axis}


def _only_axis(view: View, node: onnx.NodeProto) -> int | None:
    if any(item.name == "keepdims" and not item.i for item in node.attribute):
        return None
    given = view.array(node.input[1]) if len(node.input) > 1 else None
    axes = [list(item.ints) for item in node.attribute if item.name == "axes"]
    chosen = given.reshape(-1).tolist() if given is not None else (axes or [[]])[0]
    return int(chosen[0]) if len(chosen) == 1 else None


def _sums_to_one(view: View, node: onnx.NodeProto, version: int) -> Found | None:
    """Probabilities of a linear classifier over their sum."""
    name = node.input[0]
    while view.inputs(name, "Cast", "Identity"):
        name = view.makers[name].input[0]
    maker = view.makers.get(name)
    if not _has(node, "norm", b"L1") or maker is None or maker.op_type != "LinearClassifier":
        return None
    one_score = any(item.name == "intercepts" and len(item.floats) == 1 for item in maker.attribute)
    sums = _has(maker, "post_transform", b"SOFTMAX") or (one_score and _has(maker, "post_transform", b"LOGISTIC"))
    return ("Identity", node.input[0], {}) if sums else None


def _has(node: onnx.NodeProto, name: str, value: bytes) -> bool:
    return any(item.name == name and item.s == value for item in node.attribute)


_MATCHERS: dict[str, tuple[Callable[[View, onnx.NodeProto, int], Found | None], ...]] = {
    "Div": (_softmax,),
    "Mul": (_gelu,),
    "Normalizer": (_sums_to_one,),
    "Where": (_softplus, _soft_shrink),
}
