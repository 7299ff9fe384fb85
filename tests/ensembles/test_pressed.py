"""Which columns the host presses down or up, case by case. Column 0 is an input, column 1 the prediction."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import dcembed
from dcembed.ensembles.pressed import find_pressed

LINE = dcembed.build_mlp([[[1.0]]], [None])
INF = np.inf


def ask(embeddings=None, **fields) -> tuple[bool, bool]:
    """Whether column 1 is pressed down, and up, in a program with a binary column 2."""
    bounds = {"lb": [-1.0, -INF, 0.0], "ub": [1.0, INF, 1.0]}
    program = dcembed.Program(**({"cost": np.zeros(3), "integer": [2]} | bounds | fields))
    pressed = find_pressed(program, [dcembed.Embedding(LINE, [0], [1])] if embeddings is None else embeddings)
    return bool(pressed.down[1]), bool(pressed.up[1])


def row(**limits) -> dict:
    return {"rows": [[1.0, 2.0, 0.0]], **limits}


@pytest.mark.parametrize(
    ("fields", "down", "up"),
    [
        ({}, True, True),
        ({"cost": [0, 1.0, 0]}, True, False),
        ({"cost": [0, -1.0, 0]}, False, True),
        ({"cost": [0, 1.0, 0], "maximize": True}, False, True),
        ({"cost": [0, -1.0, 0], "maximize": True}, True, False),
        (row(row_ub=3.0), True, False),
        (row(row_lb=3.0), False, True),
        (row(row_lb=3.0, row_ub=3.0), False, False),
        ({"rows": [[0.0, -1.0, 0.0]], "row_ub": 3.0}, False, True),
        ({"rows": [[0.0, -1.0, 0.0]], "row_lb": 3.0}, True, False),
        ({"rows": [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]], "row_ub": [1.0, INF], "row_lb": [-INF, 0.0]}, False, False),
        ({"rows": sp.csr_array((np.zeros(1), ([0], [1])), shape=(1, 3)), "row_lb": 0.0, "row_ub": 0.0}, True, True),
        ({"ub": [1.0, 4.0, 1.0]}, True, False),
        ({"lb": [-1.0, -4.0, 0.0]}, False, True),
        ({"lb": [-1.0, -4.0, 0.0], "ub": [1.0, 4.0, 1.0]}, False, False),
        ({"integer": [1, 2]}, False, False),
        ({"indicators": [dcembed.Indicator(2, 1, [0.0, 1.0, 0.0], ub=1.0)]}, True, False),
        ({"indicators": [dcembed.Indicator(2, 0, [0.0, 1.0, 0.0], lb=1.0)]}, False, True),
        ({"indicators": [dcembed.Indicator(2, 0, [0.0, -1.0, 0.0], lb=1.0)]}, True, False),
        ({"quadratic": np.diag([0.0, 1.0, 0.0])}, False, False),
        ({"concave": np.diag([0.0, 1.0, 0.0])}, False, False),
        ({"quadratic_constraints": [dcembed.QuadraticConstraint(np.diag([1.0, 0, 0]), [0.0, 1.0, 0.0], 1.0)]}, False, False),
        ({"cones": [dcembed.ConeConstraint(np.eye(3)[:2], np.zeros(2), [2])]}, False, False),
    ],
)
def test_uses_of_a_column(fields, down, up):
    assert ask(**fields) == (down, up)


def test_inputs_of_networks_and_predictions_of_two_are_not_pressed():
    plain = dcembed.Embedding(LINE, [0], [1])
    assert ask([plain, dcembed.Embedding(LINE, [1], [0])]) == (False, False)
    assert ask([plain, dcembed.Embedding(LINE, dcembed.AffineInputs([[0.0, 2.0, 0.0]]), [0])]) == (False, False)
    assert ask([plain, dcembed.Embedding(LINE, [2], [1])]) == (False, False)
