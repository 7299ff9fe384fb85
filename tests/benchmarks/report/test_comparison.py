"""Records summed up, on traces made by hand."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pytest

from benchmarks.harness.metrics import references, with_starts
from benchmarks.harness.records import Record
from benchmarks.report.comparison import compare, proved_percent


def record(method="dcembed", trace=(), start=0.0, **changes) -> Record:
    fields = {"status": "finished", "initial_objective": 0.0, "start_objective": start, "trace": tuple(trace), "trial": 0, **changes}
    return Record("water", "25", fields.pop("trial"), method, 10.0, "0", **fields)


def test_a_killed_run_counts_as_one_that_stayed_at_the_start_and_a_missing_licence_as_none():
    killed = record("omlt", status="killed", initial_objective=None, start=None)
    runs = with_starts([record(trace=[(0.0, -10.0)]), killed, record("gurobi-ml", status="licence")])
    (sweep,) = compare(runs, references(runs))
    assert sweep.cells["25", "omlt"].npi == 100.0
    assert sweep.cells["25", "omlt"].failures == "killed"
    assert sweep.cells["25", "gurobi-ml"].npi is None
    assert sweep.best("25") == "dcembed"
    assert sweep.second("25") == "omlt"


def test_the_best_method_is_named_also_where_it_is_not_ours():
    runs = [record(trace=[(5.0, -10.0)]), record("greedy", trace=[(1.0, -10.0)])]
    (sweep,) = compare(runs, references(runs))
    assert sweep.best("25") == "greedy"


def test_a_proved_gap_needs_a_bound_and_records_without_that_column_have_none():
    assert proved_percent(record(trace=[(1.0, -10.0)])) is None

    @dataclass(frozen=True)
    class Bounded(Record):
        bound: float | None = None

    run = Bounded(**{**asdict(record(trace=[(1.0, -10.0)])), "bound": -10.5})
    assert proved_percent(run) == pytest.approx(5.0)
    (sweep,) = compare([run], references([run]))
    assert sweep.cells["25", "dcembed"].proved == pytest.approx(5.0)


def test_an_early_end_is_counted_and_its_last_point_holds_to_the_horizon():
    runs = [record(trace=[(5.0, -10.0)]), record("big-m", trace=[(2.0, -5.0)], status="stopped", stopped_early=3.0)]
    (sweep,) = compare(runs, references(runs))
    cell = sweep.cells["25", "big-m"]
    assert cell.num_stopped == 1
    assert cell.npi == pytest.approx(20.0 + 40.0)
    assert not cell.failures


def test_the_lead_is_taken_over_the_trials_that_both_have_been_run_on():
    runs = [record(trial=trial, trace=[(at, -10.0)], start=0.0 if trial < 2 else None) for trial, at in enumerate((1.0, 2.0, 6.0))]
    runs += [record("greedy", trial=trial, trace=[(at, -8.0)]) for trial, at in enumerate((2.5, 5.0))]
    runs += [record("omlt")]
    (sweep,) = compare(runs, references(runs))
    lead = sweep.lead("25")
    assert (lead.other, lead.has_rival) == ("greedy", True)
    # 10 and 20 against 0.25 + 0.75 * 0.2 and 0.5 + 0.5 * 0.2; the third trial of ours has no counterpart.
    assert (lead.ours, lead.theirs) == (pytest.approx(15.0), pytest.approx(50.0))
    assert lead.ratio == pytest.approx(50.0 / 15.0)
    # The later of the two trials that have anybody to be ahead of.
    assert lead.ahead_from == 2.0


def test_the_second_best_is_one_with_many_trials_unless_another_is_ahead_of_ours():
    runs = [record(trial=trial, trace=[(2.0, -10.0)]) for trial in range(3)]
    runs += [record("greedy", trial=trial, trace=[(6.0, -10.0)]) for trial in range(3)]
    near, ahead = record("shared", trace=[(3.0, -10.0)]), record("shared", trace=[(1.0, -10.0)])
    for other, expected in ((near, "greedy"), (ahead, "shared")):
        (sweep,) = compare([*runs, other], references(runs))
        assert sweep.second("25") == expected


def test_without_a_rival_all_others_are_at_the_start():
    runs = [record(trace=[(1.0, -10.0)]), record("omlt"), record("big-m")]
    (sweep,) = compare(runs, references(runs))
    assert not sweep.lead("25").has_rival
    # One that improved in another trial is a rival, though it is not the second best.
    runs = [*runs, record(trial=1, trace=[(1.0, -10.0)]), record("shared", trial=1, trace=[(9.0, -1.0)])]
    (sweep,) = compare(runs, references(runs))
    assert sweep.lead("25").has_rival
