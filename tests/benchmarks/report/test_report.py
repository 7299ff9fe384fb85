"""The report on records made by hand."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.harness.records import Record, append_record
from benchmarks.report.markdown import folded, table
from benchmarks.report.report import write_report

OURS = Record("qp", "64x3", 0, "dcembed", 1.5, "0", "locally_solved", initial_objective=0.0, start_objective=0.0, trace=((0.1, -0.2),))


def report_on(folder, *records: Record) -> str:
    for record in records:
        append_record(folder / "records.csv", record)
    return write_report(folder / "records.csv", folder).read_text()


def test_it_says_plainly_where_dcembed_is_not_the_best(tmp_path):
    text = report_on(tmp_path, replace(OURS, trace=((1.5, -0.1),)), replace(OURS, method="shared", trace=((0.5, -0.2),)))
    assert "64x3: dcembed is not the best.** shared has an NPI of" in text
    # The paper's own figures stand beside a size of the paper.
    assert "-0.06526" in text
    assert "DCEmbed 0.72" in text


def test_on_runs_that_no_licence_allowed_it_says_so(tmp_path):
    text = report_on(tmp_path, replace(OURS, method="gurobi-ml", status="licence", note="too small", trace=()))
    assert "dcembed has no run here" in text


def test_means_over_fewer_trials_are_marked_and_not_called_the_best(tmp_path):
    # In trial 0 both reach -0.2; trial 1, which only dcembed was run on, has nothing better than -0.1.
    text = report_on(tmp_path, OURS, replace(OURS, trial=1, trace=((0.1, -0.1),)), replace(OURS, method="shared", trace=((0.5, -0.2),)))
    assert "| **-0.150000** | -0.200000 \u2020 |" in text
    assert "fewer trials than those of dcembed" in text


def test_cells_and_titles_cannot_break_the_page():
    assert table(["a", "b"], [["x|y", "1"]]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1 |"
    assert folded("a < b", ["c", "d"]) == "<details><summary>a &lt; b</summary>\n\nc\n\nd\n\n</details>"
