"""Recurrent layers."""

from __future__ import annotations

from functools import partial

from ..models import make, node
from .case import RNG


def steps(kind, inputs, gates, outputs="y", one=False, **attributes):
    """A recurrent layer of three inputs and two units over four steps, between transpositions that bring the batch axis to the front."""
    both, layout = attributes.get("direction") == "bidirectional", attributes.get("layout", 0)
    shapes = {"w": (gates * 2, 3), "r": (gates * 2, 2), "b": (gates * 4,), "h": (1, 2)}
    constants = {name: RNG.normal(size=(1 + both, *shape)) for name, shape in shapes.items() if name in inputs.split()}
    names = " ".join("raw" if name == "y" else name for name in outputs.split())
    perm = ([1, 0, 2] if outputs != "y" else [2, 0, 1, 3]) if not layout else [0, 1, 2, 3]
    first = [] if layout else [node("Transpose", "x", "t", perm=[1, 0, 2])]
    layer = node(kind, inputs if layout else inputs.replace("x", "t", 1), names, hidden_size=2, **attributes)
    nodes = [*first, layer, node("Transpose", "raw", perm=perm)]
    shape = (1 if one else "batch", 4, 3)
    # The reference goes forward only and knows few functions, and onnxruntime has no other layout.
    plain = not {"direction", "activations"} & attributes.keys()
    return partial(make, nodes, shape, 17, constants), {"reference": plain, "runtime": not layout}


CASES = {
    "RNN": steps("RNN", "x w r b", 1),
    "RNN relu": steps("RNN", "x w r", 1, activations=["Relu"]),
    "RNN state": steps("RNN", "x w r b", 1, "all y"),
    "LSTM": steps("LSTM", "x w r b", 4),
    "LSTM states": steps("LSTM", "x w r b", 4, "all last y"),
    "LSTM started": steps("LSTM", "x w r b _ h h", 4, one=True),
    "LSTM both": steps("LSTM", "x w r b", 4, direction="bidirectional"),
    "LSTM reverse": steps("LSTM", "x w r b", 4, direction="reverse"),
    "LSTM layout": steps("LSTM", "x w r b", 4, layout=1),
    "GRU": steps("GRU", "x w r b", 3),
    "GRU reset after": steps("GRU", "x w r b", 3, linear_before_reset=1),
    "GRU both": steps("GRU", "x w r b", 3, direction="bidirectional"),
}
