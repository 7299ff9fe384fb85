"""Odd arguments of everything public raise DcembedError, or are taken; nothing else is raised, and the message names the argument."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.sparse as sp

import dcembed
from dcembed.network.affine import Affine

NETWORK = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
PROGRAM = dcembed.Program(cost=[1.0, 0.5], lb=0, ub=2)
EMBEDDING = dcembed.Embedding(NETWORK, [0], [1])
BUILDER = dcembed.NetworkBuilder((2,))
INPUT = BUILDER.input
RUN = {"verbose": False, "max_starts": 1, "max_iterations": 0}


def outside():
    """A sparse matrix with an entry beyond its end, which compiled code would follow."""
    matrix = sp.csr_array(np.eye(2))
    matrix.indices[0] = 10**8
    return matrix


class Odd:
    pass


ODD = [
    None, "text", "", b"bytes", True, 3, -1, 2.5, float("nan"), float("inf"), 10**400, 1j, [], [[]], (), {}, {"a": 1}, {1: 2}, [1, 2, 3],
    [[1, 2], [3]], [None], ["a"], [[["a"]]], np.array([1, None], dtype=object), np.zeros(0), np.zeros((2, 2, 2)), np.array("x"),
    np.full(3, np.nan), np.ones(3, dtype=complex), Odd(), Odd, range(3), {1, 2}, sp.eye_array(3), outside(), np.datetime64("2020-01-01"),
    np.ma.masked_array([1, 2], [False, True]), [10**400], np.array(["a", "b"]), ..., np.ones((2, 2)), slice(1), "\0", "a" * 5000,
]  # fmt: skip

CALLS = {
    dcembed.AffineInputs: {"matrix": np.eye(2), "offset": [0.0, 0.0]},
    dcembed.ConeConstraint: {"matrix": np.eye(2), "offset": [0.0, 0.0], "sizes": [2], "names": ["a"]},
    dcembed.Embedding: {"network": NETWORK, "inputs": [0], "outputs": [1], "support": None},
    dcembed.support: {
        "data": [[0.0], [0.5], [1.0]],
        "kind": "network",
        "weight": 1.0,
        "coverage": 1.0,
        "points": 3,
        "clusters": 2,
        "shape": "box",
        "network": NETWORK,
        "threshold": 0.0,
        "targets": [0.0, 1.0, 2.0],
        "scaler": ([0.0], [1.0]),
        "discrete": [],
        "seed": 0,
    },
    dcembed.Indicator: {"column": 0, "value": 1, "coefficients": [1.0, 2.0], "lb": 0.0, "ub": 1.0, "name": "n"},
    dcembed.QuadraticConstraint: {"quadratic": np.eye(2), "coefficients": [1.0, 1.0], "ub": 1.0, "name": "q"},
    dcembed.Program: {
        "cost": [1.0, 2.0],
        "quadratic": np.eye(2),
        "offset": 0.0,
        "rows": [[1.0, 1.0]],
        "row_lb": [0.0],
        "row_ub": [1.0],
        "lb": [0.0, 0.0],
        "ub": [1.0, 1.0],
        "integer": [0],
        "indicators": (),
        "quadratic_constraints": (),
        "cones": (),
        "maximize": False,
        "column_names": ["a", "b"],
        "row_names": ["r"],
        "concave": np.eye(2),
    },
    dcembed.Network: {
        "num_inputs": 1,
        "stages": NETWORK.stages,
        "output": NETWORK.output,
        "input_names": ["a"],
        "activations": NETWORK.activations,
    },
    dcembed.Ensemble: {
        "num_inputs": 1,
        "stages": NETWORK.stages,
        "output": NETWORK.output,
        "input_names": ["a"],
        "activations": NETWORK.activations,
        "members": NETWORK.output,
        "weights": [1.0],
        "combination": "at_most",
        "parameter": 1.0,
        "as_rows": False,
    },
    dcembed.ensemble: {"members": [NETWORK, NETWORK], "output": "agreement", "k": 1.0, "agree": 1, "sense": "<=", "as_rows": True},
    dcembed.stop: {},
    dcembed.split_quadratic: {"quadratic": np.eye(2), "maximize": False, "scale": [1.0, 1.0]},
    NETWORK.__call__: {"points": [[1.0]]},
    Affine: {"weights": {0: np.eye(2)}, "bias": [0.0, 0.0]},
    dcembed.build_mlp: {"weights": [np.ones((2, 1)), np.ones((1, 2))], "biases": [None, None], "activation": "tanh"},
    dcembed.NetworkBuilder: {"input_shape": (2,)},
    BUILDER.linear: {"value": INPUT, "weight": np.ones((2, 2)), "bias": np.ones(2)},
    BUILDER.relu: {"value": INPUT},
    BUILDER.leaky_relu: {"value": INPUT, "slope": 0.1},
    BUILDER.clip: {"value": INPUT, "low": 0.0, "high": 1.0},
    BUILDER.scale: {"value": INPUT, "factor": 2.0},
    BUILDER.shift: {"value": INPUT, "amount": 2.0},
    BUILDER.add: {"left": INPUT, "right": INPUT},
    BUILDER.concat: {"values": [INPUT, INPUT], "axis": 0},
    BUILDER.reshape: {"value": INPUT, "shape": (1, 2)},
    BUILDER.finish: {"output": INPUT},
    dcembed.load_network: {"model": NETWORK, "input_shape": 2, "inputs": ["a"], "outputs": ["b"], "architecture": "relu"},
    dcembed.save_network: {"network": NETWORK, "path": "net.npz"},
    dcembed.load_result: {"path": "result.npz"},
    dcembed.solve: {"program": PROGRAM, "embeddings": [EMBEDDING], "start": [0.0, 0.0], "options": RUN},
    dcembed.prove: {"program": PROGRAM, "embeddings": [EMBEDDING], "point": [0.0, 0.0], "time_limit": 0.1, "options": RUN},
    dcembed.compile: {"program": PROGRAM, "embeddings": [EMBEDDING], "options": RUN},
    dcembed.verify: {"program": PROGRAM, "embeddings": [EMBEDDING], "w": [0.0, 0.0]},
    dcembed.Options: {name: getattr(dcembed.Options(), name) for name in dcembed.Options.__dataclass_fields__},
}
ARGUMENTS = [(call, name) for call, good in CALLS.items() for name in good]


@pytest.mark.parametrize(("call", "name"), ARGUMENTS, ids=[f"{call.__qualname__}-{name}" for call, name in ARGUMENTS])
def test_odd_arguments_raise_our_own_error(tmp_path, monkeypatch, call, name):
    monkeypatch.chdir(tmp_path)
    # A run with the default options is a valid one, and a long one.
    odd = [value for value in ODD if not (value is None or (isinstance(value, dict) and not value))] if name == "options" else ODD
    refused = 0
    for value in odd:
        try:
            call(**{**CALLS[call], name: value})
        except dcembed.DcembedError:
            refused += 1
    assert refused


@pytest.mark.parametrize("call", CALLS, ids=[call.__qualname__ for call in CALLS])
def test_every_argument_is_tried(call):
    known = [name for name in inspect.signature(call).parameters if name not in ("self", "growth", "args", "kwargs")]
    assert set(known) <= set(CALLS[call])


def test_everything_public_is_tried():
    # Those that begin processes are tried in tests/crew.
    begin = {"Workers", "RayExecutor"}
    given_back = begin | {"CompiledProblem", "Support", "Iteration", "Result", "Status", "Verification", "DcembedError", "__version__"}
    assert {call.__name__ for call in CALLS} >= {name for name in dcembed.__all__ if name not in given_back}


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (
            dcembed.Program,
            {"cost": None},
            "Program: cost is not accepted: numbers are expected, received NoneType None (entries are missing).",
        ),
        (
            dcembed.Program,
            {"cost": [1.0], "maximize": "yes"},
            "Program: maximize is not accepted: True or False is expected, received str 'yes'.",
        ),
        (
            dcembed.Program,
            {"cost": [1.0], "cones": [3]},
            "Program: cones[0] is not accepted: a ConeConstraint is expected, received int 3.",
        ),
        (
            dcembed.solve,
            {"program": "a.lp", "embeddings": []},
            "solve: program is not accepted: a Program is expected, received str 'a.lp'.",
        ),
        (
            dcembed.solve,
            {"program": PROGRAM, "embeddings": NETWORK},
            "solve: embeddings is not accepted: a list of Embedding objects is expected, received Network Network(1 inputs -> 2 -> 1 outputs).",
        ),
        (dcembed.Program, {"cost": [1.0, 1.0], "rows": outside()}, "Program: rows is not accepted: the sparse matrix is damaged ("),
        (dcembed.Options, {"time_limit": "60"}, "Options: time_limit='60' is not accepted. Give a number of seconds, at least 0."),
        (
            dcembed.save_network,
            {"network": None, "path": "a.npz"},
            "save_network: network is not accepted: a Network is expected, received ",
        ),
    ],
)
def test_the_argument_and_what_was_received_are_named(call, arguments, message):
    with pytest.raises(dcembed.DcembedError) as error:
        call(**arguments)
    assert str(error.value).startswith(message)


def test_options_are_given_by_name():
    with pytest.raises(dcembed.DcembedError, match=r"options are given by name, as in Options\(time_limit=60\); received int 3"):
        dcembed.Options(3)
