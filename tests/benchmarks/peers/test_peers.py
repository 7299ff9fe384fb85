"""The real packages on small problems."""

from __future__ import annotations

import pytest

import dcembed
from benchmarks.harness.outcome import check
from benchmarks.methods.table import METHODS
from benchmarks.problems.instance import Instance
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
