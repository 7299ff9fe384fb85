"""What the pictures show."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.metrics import references
from benchmarks.harness.records import Record
from benchmarks.methods.table import METHODS
from benchmarks.report.charts import LOOKS, draw_npi, rivals
from benchmarks.report.comparison import compare
from benchmarks.report.names import spread


def record(method: str, size: str, at: float, trial: int = 0, end: float = -10.0) -> Record:
    trace = ((at, end),) if at < 10.0 else ()
    return Record("water", size, trial, method, 10.0, "0", "finished", initial_objective=0.0, start_objective=0.0, trace=trace)


def test_every_method_has_a_look_of_its_own():
    assert set(LOOKS) == set(METHODS)
    assert len({colour for colour, _ in LOOKS.values()}) == len(LOOKS)


def test_the_best_of_the_others_and_whoever_is_ahead_are_named_in_the_picture(tmp_path):
    runs = [record("dcembed", "25", 2.0), record("greedy", "25", 3.0), record("shared", "25", 4.0), record("omlt", "25", 10.0)]
    runs += [record("dcembed", "50", 2.0), record("greedy", "50", 0.5), record("big-m", "50", 1.0), record("omlt", "50", 10.0)]
    # At this size all others are at the start: none of them is the best.
    runs += [record("dcembed", "100", 2.0), record("two-path", "100", 10.0)]
    (sweep,) = compare(runs, references(runs))
    assert rivals(sweep) == ["big-m", "greedy"]
    assert (tmp_path / draw_npi([sweep], tmp_path)).stat().st_size > 10_000


def test_names_are_moved_apart_and_stay_beside_the_picture():
    placed = spread(np.array([0.0, 1.0, 50.0, 99.0, 100.0]), 13.0, 100.0)
    assert np.all(np.diff(placed) >= 13.0 - 1e-3)
    assert placed[-1] <= 100.0
    assert spread(np.array([]), 13.0, 100.0).size == 0
