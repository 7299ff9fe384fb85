"""The largest risk in a box: what every method without rows takes."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.problems.avoidance import NUM_INPUTS
from benchmarks.problems.boxes import build_boxes, find_boxes
from benchmarks.problems.data import MissingDataError
from benchmarks.problems.sizes import SizeError


@pytest.mark.parametrize(("size", "trial"), [("25", 0), ("100", 2)])
def test_a_box_spans_its_share_of_the_range_around_the_start_and_has_no_rows(size, trial):
    instance = build_boxes(size, trial)
    lb, ub, start = (values[:NUM_INPUTS] for values in (instance.program.lb, instance.program.ub, instance.starts[0]))
    assert instance.program.num_rows == 0
    np.testing.assert_allclose(ub - lb, int(size) / 100)
    np.testing.assert_allclose(start, (ub + lb) / 2)


def test_minus_the_score_of_the_trial_is_minimized():
    instance = build_boxes("50", 1)
    inputs = np.full(NUM_INPUTS, 0.1)
    scores = instance.embeddings[0].network(inputs)
    assert instance.program.cost @ np.concatenate([inputs, scores]) == pytest.approx(-scores[1])
    assert "largest score 1" in instance.name


def test_a_box_beyond_the_range_and_a_network_that_is_not_there_are_refused():
    with pytest.raises(SizeError, match="100 at most; received '120'"):
        build_boxes("120", 0)
    with pytest.raises(MissingDataError, match="train_avoidance 9"):
        find_boxes("25", 9)
