"""The command line of the benchmarks."""

from __future__ import annotations

import re

import pytest

from benchmarks.__main__ import SHORT, main
from benchmarks.harness.job import STOPPING_SECONDS
from benchmarks.harness.records import Record, append_record
from benchmarks.harness.sweep import plan
from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import EXPERIMENTS
from benchmarks.report.comparison import left_out


@pytest.mark.parametrize(
    "arguments", [["run", "qp-width", "--sizes", "wide"], ["run", "water", "pooling", "--sizes", "25"], ["run", "sailing"]]
)
def test_a_wrong_command_is_answered_with_what_is_accepted(arguments, capsys, tmp_path):
    with pytest.raises(SystemExit):
        main([*arguments, "--records", str(tmp_path / "records.csv")])
    assert re.search("WIDTHxDEPTH|name one experiment|qp-width", capsys.readouterr().err)


@pytest.mark.parametrize(
    "wrong",
    [
        ["--time-limit", "-3"],
        ["--time-limit", "nan"],
        ["--trials", "-1"],
        ["--jobs", "0"],
        ["--preparation-limit", "soon"],
        ["--stall", "-1"],
    ],
)
def test_a_number_without_sense_ends_the_command_before_any_run(wrong, capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["run", "water", "--sizes", "2", "--methods", "greedy", *wrong, "--records", str(tmp_path / "records.csv")])
    message = capsys.readouterr().err
    assert wrong[0] in message
    assert f"is accepted; received {wrong[1]!r}" in message
    assert not (tmp_path / "records.csv").exists()


def test_the_short_sweep_of_all_methods_fits_into_twenty_minutes_on_two_cores():
    """By its limits; few runs take them all, and few are killed later."""
    jobs = plan(EXPERIMENTS.values(), METHODS, None, SHORT["trials"], SHORT["time_limit"], short=True)
    longest = SHORT["preparation_limit"] + SHORT["stall"] + STOPPING_SECONDS
    seconds = [longest if METHODS[job.method].may_stop else SHORT["time_limit"] for job in jobs]
    short = [experiment for experiment in EXPERIMENTS.values() if experiment.short]
    assert {job.method for job in jobs} == {name for name in METHODS if any(left_out(name, experiment) is None for experiment in short)}
    # What a process needs to begin and to check its points.
    assert (sum(seconds) + 5.0 * len(jobs)) / 2 < 20 * 60


def test_a_report_takes_several_files_of_records(tmp_path):
    for name, method in (("a.csv", "dcembed"), ("b.csv", "greedy")):
        run = Record("water", "25", 0, method, 30.0, "1", "finished", initial_objective=0.0, start_objective=0.0, trace=((1.0, -9.0),))
        append_record(tmp_path / "in" / name, run)
    files = [str(tmp_path / "in" / name) for name in ("a.csv", "b.csv")]
    assert main(["report", "--records", *files, "--to", str(tmp_path / "out")]) == 0
    assert "| greedy |" in (tmp_path / "out" / "report.md").read_text()
