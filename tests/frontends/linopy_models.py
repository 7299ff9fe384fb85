"""Networks and coordinates of the tests with linopy models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

linopy = pytest.importorskip("linopy", reason="linopy is not installed")

from tests.frontends.problems import make_network  # noqa: E402

import dcembed  # noqa: E402
from dcembed.linopy import solve  # noqa: E402

NETWORK = make_network(2, (5,), 0)
NARROW = make_network(1, (4,), 1)
WIDE = dcembed.build_mlp([np.eye(2), [[1.0, 0.0], [0.0, 2.0], [1.0, -1.0]]], [None, None])
QUICK = {"verbose": False, "max_starts": 1}
TIME = pd.date_range("2030-01-01", periods=3, freq="h", name="time")
BUS = pd.Index(["north", "south"], name="bus")


def maximize(model, embedded, **options):
    """A few steps up the sum of the predictions, which every point is feasible for."""
    output = embedded.output
    model.add_objective((output if isinstance(output, linopy.LinearExpression) else 1 * output).sum(), sense="max", overwrite=True)
    return solve(model, **{**QUICK, "max_iterations": 4, **options})
