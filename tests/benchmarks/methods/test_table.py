"""The settings that methods get."""

from __future__ import annotations

import pytest

from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import EXPERIMENTS
from dcembed import Options, Program
from dcembed.baselines import BASELINES


@pytest.mark.parametrize("name", ["ipopt", "ipopt-lbfgs"])
def test_ipopt_is_ended_by_its_own_limit_not_by_that_of_our_baselines(name, monkeypatch):
    heard = []
    monkeypatch.setitem(BASELINES, name, lambda program, embeddings, start, options: heard.append(options.max_iterations))
    for experiment in EXPERIMENTS.values():
        METHODS[name].solve(Program(cost=[1.0]), [], [], Options(**METHODS[name].settings(experiment)))
    assert set(heard) == {3000}
