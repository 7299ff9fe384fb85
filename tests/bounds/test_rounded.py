"""Bounds of whole objectives are rounded up, others are not."""

from __future__ import annotations

import pytest

from dcembed import Embedding, Program, build_mlp
from dcembed.bounds.certify import rounded
from dcembed.embedded.elimination import eliminate

HAT = build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])


def _embedded(cost, offset=0.0, integer=(0, 1), quadratic=None, concave=None):
    lb, ub = [0.0, 0.0, -9.0], [3.0, 3.0, 9.0]
    program = Program(cost, quadratic, offset, lb=lb, ub=ub, integer=list(integer), concave=concave, rows=[[0.0, 1.0, 1.0]], row_ub=2.0)
    return eliminate(program, [Embedding(HAT, [0], [2])])


@pytest.mark.parametrize(
    ("bound", "offset", "expected"), [(1.2, 0.0, 2.0), (2.0, 0.0, 2.0), (2.0 + 1e-8, 0.0, 2.0 + 1e-8), (1.2, 0.5, 1.5), (-1.7, 0.0, -1.0)]
)
def test_a_whole_objective_is_rounded_up(bound, offset, expected):
    assert rounded(_embedded([1.0, -2.0, 0.0], offset), bound) == pytest.approx(expected, abs=1e-12)


def test_others_are_not():
    square = [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert rounded(_embedded([1.0, -0.5, 0.0]), 1.2) == 1.2
    assert rounded(_embedded([1.0, 1.0, 0.0], integer=(0,)), 1.2) == 1.2
    assert rounded(_embedded([1.0, 1.0, 1.0]), 1.2) == 1.2
    assert rounded(_embedded([1.0, 1.0, 0.0], quadratic=square), 1.2) == 1.2
    assert rounded(_embedded([1.0, 1.0, 0.0], concave=square), 1.2) == 1.2
    assert rounded(_embedded([1.0, 1.0, 0.0]), float("-inf")) == float("-inf")
