"""The settings that methods get."""

from __future__ import annotations

import pytest

from benchmarks.harness.job import Job, perform
from benchmarks.harness.process import Line
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


@pytest.mark.parametrize("name", ["big-m", "big-m-obbt", "big-m-cuts"])
def test_encodings_come_to_their_end_where_they_are_to_be_proved(name, data_folder):
    pytest.importorskip("gurobipy")
    fields = perform(Job("water", "2", 0, name, 60.0), Line())
    assert fields["status"] == "optimal"
    assert fields["objective"] == fields["bound"] == -2.0


def test_encodings_have_the_solver_that_gets_them_furthest():
    chosen = {name: METHODS["big-m"].settings(experiment).get("solver") for name, experiment in EXPERIMENTS.items()}
    assert {name for name, solver in chosen.items() if solver == "gurobi"} == {name for name in EXPERIMENTS if name.startswith("small")}
    assert chosen["water"] == "scip"
