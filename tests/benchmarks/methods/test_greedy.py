"""The greedy of water treatment."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.harness.outcome import check
from benchmarks.methods.greedy import solve
from benchmarks.problems.experiments import EXPERIMENTS
from problems import quiet


@pytest.mark.parametrize(("size", "expected"), [("25", 12.33), ("50", 17.00)])
@pytest.mark.usefixtures("data_folder")
def test_the_greedy_counts_what_the_specification_says(size, expected):
    counts = []
    for cohort in range(3):
        instance = EXPERIMENTS["water"].build(size, cohort)
        outcome = solve(instance.program, instance.embeddings, instance.starts, quiet())
        checked = check(instance, outcome.points)
        assert checked.num_rejected == 0
        counts.append(-checked.trace[-1][1])
    assert np.mean(counts) == pytest.approx(expected, abs=0.01)
