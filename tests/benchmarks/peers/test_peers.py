"""The real packages on small problems."""

from __future__ import annotations

import pytest

import dcembed
from benchmarks.harness.outcome import check
from benchmarks.methods.table import METHODS
from benchmarks.problems.dispatch import dispatch_instance
from benchmarks.problems.instance import Instance
from dcembed.network.activations import find_activation
from problems import binary_problem, level_problem, quiet


@pytest.mark.parametrize("name", ["gurobi-ml", "pyscipopt-ml", "omlt"])
@pytest.mark.parametrize("problem", [binary_problem, level_problem])
def test_the_real_packages_reach_what_dcembed_reaches_on_other_small_problems(name, problem):
    if METHODS[name].missing_package() is not None:
        pytest.skip(f"{METHODS[name].missing_package()} is not installed")
    program, embedding = problem(3)
    ours = dcembed.solve(program, embedding, options=quiet(max_starts=5))
    outcome = METHODS[name].solve(program, (embedding,), [ours.x], quiet(time_limit=200.0))
    checked = check(Instance("small", program, (embedding,), []), outcome.points)
    assert checked.num_rejected == 0
    assert checked.trace[-1][1] <= ours.objective + 1e-5
    assert outcome.added_binaries > 0


@pytest.mark.parametrize("name", ["pyscipopt-ml", "omlt"])
@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_packages_that_take_smooth_networks_reach_what_dcembed_reaches(name, activation):
    if METHODS[name].missing_package() is not None:
        pytest.skip(f"{METHODS[name].missing_package()} is not installed")
    instance = dispatch_instance(2, 1, find_activation(activation))
    ours = dcembed.solve(instance.program, instance.embeddings, options=quiet(max_starts=5))
    outcome = METHODS[name].solve(instance.program, instance.embeddings, [ours.x], quiet(time_limit=200.0))
    checked = check(instance, outcome.points)
    assert outcome.status == "optimal"
    assert checked.num_rejected == 0
    assert checked.trace[-1][1] == pytest.approx(ours.objective, abs=1e-4)
    # One evaluation of each core, whose units are columns of their own.
    assert outcome.added_columns > 0
    assert outcome.added_binaries == 0
