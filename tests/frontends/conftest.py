"""A gurobipy model to write in; the other tools make theirs where they need them."""

from __future__ import annotations

import pytest


@pytest.fixture
def env():
    gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")
    with gp.Env(params={"OutputFlag": 0}) as env:
        yield env


@pytest.fixture
def model(env):
    import gurobipy as gp

    with gp.Model(env=env) as model:
        yield model
