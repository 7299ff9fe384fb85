"""The metrics on traces made by hand."""

from __future__ import annotations

import pytest

from benchmarks.harness.metrics import (
    ahead_from,
    final_objective,
    known_trace,
    npi,
    optimality_gap,
    primal_integral,
    references,
    time_to,
    time_to_feasible,
    with_starts,
)
from benchmarks.harness.records import Record
from benchmarks.report.comparison import compare, speed_up


def record(method="dcembed", trace=(), start=0.0, **changes) -> Record:
    fields = {"status": "finished", "initial_objective": 0.0, "start_objective": start, "trace": tuple(trace), "trial": 0, **changes}
    return Record("water", "25", fields.pop("trial"), method, 10.0, "0", **fields)


def test_the_primal_integral_is_the_area_under_the_gap():
    # Gap 1 for two seconds, a half for three, none for five: 3.5 of 10.
    assert primal_integral([(2.0, -5.0), (5.0, -10.0)], 0.0, -10.0, 10.0) == pytest.approx(35.0)


def test_no_progress_is_a_hundred_and_the_best_from_the_start_is_zero():
    assert primal_integral([], 4.0, -6.0, 10.0) == 100.0
    assert primal_integral([(0.0, -6.0)], 4.0, -6.0, 10.0) == 0.0
    assert primal_integral([(1.0, 3.0)], 3.0, 3.0, 10.0) == 0.0


def test_a_point_worse_than_the_start_is_no_progress():
    assert primal_integral([(1.0, 7.0), (5.0, -10.0)], 0.0, -10.0, 10.0) == pytest.approx(50.0)


def test_a_point_handed_over_on_stopping_counts_at_the_limit():
    run = record(trace=[(4.0, -2.0), (10.3, -9.0)], start=-1.0)
    assert known_trace(run) == [(0.0, -1.0), (4.0, -2.0), (10.0, -9.0)]


def test_points_after_the_limit_do_not_count_and_the_start_counts_from_second_zero():
    run = record(trace=[(4.0, -2.0), (11.5, -9.0)], start=-1.0)
    assert known_trace(run) == [(0.0, -1.0), (4.0, -2.0)]
    assert final_objective(run) == -2.0
    assert npi(run, -10.0) == pytest.approx(100 * (0.4 * 0.9 + 0.6 * 0.8))


def test_the_reference_is_the_best_of_all_methods_and_of_the_optimum():
    runs = [record(trace=[(1.0, -3.0)]), record("greedy", trace=[(1.0, -4.0)]), record("big-m", start=-1.0)]
    assert references(runs) == {("water", "25", 0): -4.0}
    assert references([*runs, record("shared", optimum=-5.0)]) == {("water", "25", 0): -5.0}


def test_times_to_a_share_of_the_reference():
    run = record(trace=[(1.0, -90.0), (2.0, -99.5), (3.0, -99.95)])
    assert time_to(run, -100.0, 1e-2) == 2.0
    assert time_to(run, -100.0, 1e-3) == 3.0
    assert time_to(run, -200.0, 1e-2) is None
    assert time_to_feasible(run) == 1.0
    assert time_to_feasible(record()) is None


def test_the_optimality_gap_is_measured_against_the_enumerated_optimum():
    assert optimality_gap(record(trace=[(1.0, -95.0)], optimum=-100.0)) == pytest.approx(5.0)
    assert optimality_gap(record(trace=[(1.0, -95.0)])) is None


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


def test_the_speed_up_is_to_the_best_point_of_the_other():
    ours, other = record(trace=[(0.5, -5.0), (2.0, -8.0)]), record("big-m", trace=[(4.0, -3.0), (8.0, -6.0)])
    assert speed_up(ours, other) == pytest.approx(4.0)
    assert speed_up(other, ours) == 0.0
    assert speed_up(ours, record("omlt")) is None


def test_a_run_is_ahead_from_the_moment_after_which_no_other_catches_up():
    ours = record(trace=[(1.0, -5.0), (4.0, -8.0), (7.0, -9.0)])
    greedy = record("greedy", trace=[(2.0, -3.0), (3.0, -6.0)])
    assert ahead_from(ours, [record("omlt"), greedy]) == 4.0
    assert ahead_from(ours, [record("omlt")]) == 1.0
    assert ahead_from(ours, [record("big-m", trace=[(6.0, -8.0)])]) == 7.0
    assert ahead_from(ours, [greedy, record("shared", trace=[(9.0, -9.0)])]) is None
    assert ahead_from(greedy, [ours]) == float("inf")
    nothing = record(start=None)
    assert ahead_from(nothing, [greedy]) == float("inf")
    assert ahead_from(nothing, [record("omlt", start=None)]) is None


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
