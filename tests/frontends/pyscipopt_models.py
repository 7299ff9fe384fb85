"""What the tests with PySCIPOpt models share."""

from __future__ import annotations

from tests.frontends.problems import make_network

NETWORK = make_network(2, (5,), 0)


def written(model, tmp_path, kind="lp"):
    path = tmp_path / f"model.{kind}"
    model.writeProblem(str(path), verbose=False)
    # The header of CIP files counts the solves.
    return path.read_text().partition("OBJECTIVE")[2] if kind == "cip" else path.read_text()


def inputs_of(model):
    x = model.addMatrixVar(2, lb=-1, ub=1, name="x")
    return x, [x[0], x[1]]


def add_cardinality(model, v, y):
    model.addConsCardinality(v, 1, name="few")
