"""The metrics on traces made by hand."""

from __future__ import annotations

import pytest

from benchmarks.harness.metrics import (
    ahead_from,
    cut,
    final_objective,
    is_proved,
    is_refuted,
    known_trace,
    npi,
    optimality_gap,
    primal_integral,
    proved_gap,
    references,
    time_to,
    time_to_feasible,
    with_starts,
)
from benchmarks.harness.records import Record


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


def test_a_run_cut_at_an_earlier_second_knows_nothing_of_what_came_later():
    run = record(trace=[(1.0, -2.0), (4.2, -6.0), (9.0, -10.0)])
    # A point shortly after the cut was not handed over on stopping: nobody stopped.
    assert known_trace(cut(run, 4.0)) == [(0.0, 0.0), (1.0, -2.0)]
    assert npi(cut(run, 4.0), -10.0) == pytest.approx(100 * (0.25 + 0.75 * 0.8))
    assert time_to(cut(run, 4.0), -10.0, 1e-2) is None
    assert cut(run, 4.0).time_limit == 4.0
    assert cut(run, 10.0) is run
    assert cut(run, 180.0) is run


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


def test_what_is_known_of_an_instance_is_known_of_runs_that_were_ended():
    full, killed = record(start=-1.0, optimum=-9.0), record("omlt", status="killed", initial_objective=None, start=None)
    ended = record("big-m", status="stopped", stopped_early=3.0, start=-1.0)
    filled = with_starts([killed, full, ended, record("pgd", start=None, trial=1, initial_objective=None)])
    assert [(run.initial_objective, run.start_objective, run.optimum) for run in filled] == [(0.0, -1.0, -9.0)] * 3 + [(None, None, None)]


def test_the_optimality_gap_is_measured_against_the_enumerated_optimum():
    assert optimality_gap(record(trace=[(1.0, -95.0)], optimum=-100.0)) == pytest.approx(5.0)
    assert optimality_gap(record(trace=[(1.0, -95.0)])) is None


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


def test_a_proof_is_a_word_and_a_bound_that_meets_what_was_measured():
    proved = record(status="optimal", objective=-10.0, bound=-10.0005)
    assert proved_gap(proved) == pytest.approx(5e-5)
    assert is_proved(proved)
    # The word alone, the bound alone, a bound too far away, and points that were all rejected are none.
    assert not is_proved(record(status="optimal", objective=-10.0))
    assert not is_proved(record(status="time_limit", objective=-10.0, bound=-10.0))
    assert not is_proved(record(status="optimal", objective=-10.0, bound=-10.1))
    assert not is_proved(record(status="optimal", bound=-10.0))
    assert proved_gap(record(objective=-10.0)) == float("inf")


def test_a_bound_above_a_feasible_point_is_refuted():
    assert is_refuted(record(bound=-9.9), -10.0)
    assert not is_refuted(record(bound=-9.9999), -10.0)
    assert not is_refuted(record(bound=-11.0), -10.0)
    assert not is_refuted(record(), -10.0)
