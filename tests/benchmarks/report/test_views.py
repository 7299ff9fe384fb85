"""Records of several files and limits, as they stand at each checkpoint."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.harness.metrics import npi, references
from benchmarks.harness.records import Record, append_record
from benchmarks.report.views import choose_horizon, gather, read_all, view

RUN = Record("water", "25", 0, "dcembed", 180.0, "1", "locally_solved", initial_objective=0.0, start_objective=0.0, fingerprint="a1")


def test_several_files_are_read_and_the_last_record_of_a_run_counts(tmp_path):
    for name, trace in (("a.csv", ((1.0, -5.0),)), ("b.csv", ((2.0, -7.0),))):
        append_record(tmp_path / name, replace(RUN, trace=trace))
        append_record(tmp_path / name, replace(RUN, method=f"shared{name}", trace=trace))
    records = read_all([tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "not there.csv"])
    assert {(record.method, record.trace[0][1]) for record in records} == {("shareda.csv", -5.0), ("sharedb.csv", -7.0), ("dcembed", -7.0)}


def test_a_start_that_is_known_from_another_file_is_that_of_a_killed_run(tmp_path):
    append_record(tmp_path / "a.csv", replace(RUN, method="omlt", status="killed", initial_objective=None, start_objective=None))
    append_record(tmp_path / "b.csv", RUN)
    assert [record.initial_objective for record in read_all([tmp_path / "a.csv", tmp_path / "b.csv"])] == [0.0, 0.0]


def test_the_horizon_is_the_longest_limit_that_half_of_our_runs_have():
    short = [replace(RUN, trial=trial, time_limit=30.0) for trial in range(4)]
    long = [replace(record, time_limit=180.0) for record in short]
    assert choose_horizon([*short, *long[:1]]) == 30.0
    assert choose_horizon([*short, *long[:2]]) == 180.0
    # The same run twice is one, and runs of others do not count beside ours.
    assert choose_horizon([*short, long[0], replace(long[0], fingerprint="b2")]) == 30.0
    others = [replace(record, method="shared") for record in long]
    assert choose_horizon([*short, *others]) == 30.0
    assert choose_horizon(others) == 180.0


def test_at_an_early_second_runs_of_the_horizon_are_cut_and_shorter_ones_fill_in():
    long = replace(RUN, trace=((10.0, -5.0), (100.0, -10.0)))
    newer_but_short = replace(RUN, time_limit=30.0, trace=((1.0, -9.0),))
    only_short = replace(newer_but_short, method="greedy")
    found = {record.method: record for record in view([long, newer_but_short, only_short], 30.0, 180.0)}
    assert found["dcembed"].trace == ((10.0, -5.0),)
    assert found["greedy"].trace == ((1.0, -9.0),)
    assert [record.method for record in view([long, newer_but_short, only_short], 180.0, 180.0)] == ["dcembed"]


def test_results_have_both_columns_and_one_reference_whatever_the_limit():
    long = replace(RUN, trace=((15.0, -5.0), (90.0, -10.0)))
    # The best point of all is one of a run that is not compared.
    records = [long, replace(RUN, method="greedy", time_limit=600.0, trace=((500.0, -20.0),))]
    results = gather(records, 180.0)
    assert results.checkpoints == (30.0, 180.0)
    early, late = (results.sweeps[seconds][0].cells["25", "dcembed"].npi for seconds in (30.0, 180.0))
    assert references(records) == {long.instance: -20.0}
    assert early == pytest.approx(50.0 + 0.75 * 50.0)
    assert late == pytest.approx(npi(long, -20.0))
    assert gather(records, 30.0).checkpoints == (30.0,)


def test_an_experiment_is_looked_at_early_where_nobody_else_has_gone_on_for_longer():
    long = replace(RUN, trace=((15.0, -5.0), (90.0, -10.0)))
    other = replace(RUN, method="greedy", time_limit=30.0, trace=((20.0, -5.0),))
    (final,) = gather([long, other], 180.0).final
    assert final.methods == ("dcembed", "greedy")
    (final,) = gather([long, other, replace(other, time_limit=180.0)], 180.0).final
    assert final.cells["25", "dcembed"].npi == pytest.approx(npi(long, -10.0))


def test_an_experiment_without_runs_of_the_horizon_has_one_of_its_own():
    qp = replace(RUN, experiment="qp", size="64x3", time_limit=60.0, trace=((10.0, -5.0), (40.0, -10.0)))
    results = gather([replace(RUN, trace=((45.0, -10.0),)), qp, replace(qp, time_limit=20.0, fingerprint="b2")], 180.0)
    assert results.checkpoints == (30.0, 60.0, 180.0)
    assert [[sweep.experiment.family for sweep in results.sweeps[seconds]] for seconds in results.checkpoints] == [
        ["qp", "qp", "water"],
        ["qp", "qp"],
        ["water"],
    ]
    assert {sweep.experiment.name: sweep.cells[sweep.sizes[0], "dcembed"].npi for sweep in results.final} == pytest.approx(
        {"qp-width": 100 * 25 / 60, "qp-depth": 100 * 25 / 60, "water": 25.0}
    )
    # What is shown of a run is all of it.
    assert {record.experiment: record.trace[-1] for record in results.last} == {"qp": (40.0, -10.0), "water": (45.0, -10.0)}
