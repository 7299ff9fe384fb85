"""Objectives that are not convex, in the packages of others."""

from __future__ import annotations

import pytest

import dcembed
from benchmarks.harness.outcome import check
from benchmarks.methods.table import METHODS
from benchmarks.problems.instance import Instance
from problems import quiet


@pytest.mark.parametrize("name", ["gurobi-ml", "pyscipopt-ml", "omlt"])
def test_an_objective_that_is_not_convex_comes_whole(name):
    if METHODS[name].missing_package() is not None:
        pytest.skip(f"{METHODS[name].missing_package()} is not installed")
    # x0 x1 - y over [-1, 2]^2 with y = max(x0, 0) + max(-x1, 0): best at (2, -1), where it is -2 - 3.
    convex, concave = dcembed.split_quadratic([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]])
    program = dcembed.Program(cost=[0, 0, -1.0], quadratic=convex, concave=concave, lb=[-1.0, -1.0, -9.0], ub=[2.0, 2.0, 9.0])
    network = dcembed.build_mlp([[[1.0, 0.0], [0.0, -1.0]], [[1.0, 1.0]]], [None, None])
    embedding = dcembed.Embedding(network, [0, 1], [2])
    outcome = METHODS[name].solve(program, (embedding,), [], quiet(time_limit=100.0))
    checked = check(Instance("saddle", program, (embedding,), []), outcome.points)
    assert checked.trace[-1][1] == pytest.approx(-5.0, abs=1e-5)
    assert outcome.bound == pytest.approx(-5.0, abs=1e-3)
