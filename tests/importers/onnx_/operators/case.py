"""How a case of an operator is written: nodes, the shape of the input, and what the result is compared with."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..models import make, node

RNG = np.random.default_rng(0)
GRID = ("batch", 4, 5, 6)
ROW = ("batch", 3)
TABLE = ("batch", 3, 4)
C = {
    "W": RNG.normal(size=(4, 3)),
    "V": RNG.normal(size=(3, 4)),
    "b": RNG.normal(size=4),
    "row": RNG.normal(size=(1, 4)),
    "p": np.array([0.5, 1.0, 2.0]),
    "q": np.array([0.5, 1.0, 2.0, 0.25]),
    "low": np.array(-0.4),
    "high": np.array(0.6),
    "one": np.array(1.0),
    "two": np.array(2.0),
    "three": np.array(3.0),
    "half": np.array(0.5),
    "flat": np.array([0, -1]),
    "grid": np.array([0, 2, 2]),
    "a0": np.array([0]),
    "a1": np.array([1]),
    "a2": np.array([2]),
    "a12": np.array([1, 2]),
    "i0": np.array(0),
    "i1": np.array(1),
    "i20": np.array([2, 0]),
    "mask": np.array([True, False, True]),
    "kernel": RNG.normal(size=(6, 4, 3, 2)),
    "kernel1": RNG.normal(size=(5, 3, 2)),
    "grouped": RNG.normal(size=(6, 2, 3, 3)),
    "spread": RNG.normal(size=(4, 3, 3, 2)),
    "spread2": RNG.normal(size=(4, 3, 2, 2)),
    "shift6": RNG.normal(size=6),
    "shift3": RNG.normal(size=3),
    "shift5": RNG.normal(size=5),
    "gamma": RNG.normal(size=4),
    "beta": RNG.normal(size=4),
    "mean": RNG.normal(size=4),
    "variance": RNG.uniform(0.5, 2.0, size=4),
    "matrices": RNG.normal(size=(3, 4, 2)),
    "left": RNG.normal(size=(2, 3)),
    "minus": np.array(-1),
}


def used(nodes):
    names = {name for item in nodes for name in item.input}
    return {name: value for name, value in C.items() if name in names}


def case(nodes, shape=ROW, opset=17, **options):
    nodes = nodes if isinstance(nodes, list) else [nodes]
    return partial(make, nodes, shape, opset, used(nodes) | options.pop("constants", {})), options


def positive(*nodes, **options):
    """Behind an exponential, where only positive numbers are defined."""
    return case([node("Exp", "x", "e"), *nodes], **options)
