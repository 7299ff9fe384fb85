"""Points are measured before they count."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.harness.outcome import check, known_bound, outcome_of
from benchmarks.problems.instance import Instance
from problems import binary_problem, quiet


def test_points_are_measured_by_the_harness_and_not_believed():
    program, embedding = binary_problem(0)
    instance = Instance("binaries", program, (embedding,), [])
    result = dcembed.solve(program, embedding, options=quiet())
    checked = check(instance, outcome_of(result).points)
    assert checked.trace[-1][1] == pytest.approx(result.objective)
    assert checked.num_rejected == 0
    lies = [(0.1, np.ones(program.num_columns)), (0.2, result.x), (0.3, result.x)]
    checked = check(instance, lies)
    assert checked.num_rejected == 1
    assert [seconds for seconds, _ in checked.trace] == [0.2]
    assert checked.largest_violation > 1e-3


def test_a_bound_is_taken_over_where_there_is_one():
    program, embedding = binary_problem(0)
    assert outcome_of(dcembed.solve(program, embedding, options=quiet())).bound is None
    proved = dcembed.solve(program, embedding, options=quiet(prove=True))
    assert proved.status is dcembed.Status.OPTIMAL
    assert outcome_of(proved).bound == proved.bound
    assert [known_bound(value) for value in (-np.inf, np.nan, 1e20, -1e30, -2.5)] == [None, None, None, None, -2.5]
