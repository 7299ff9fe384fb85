"""The report on records made by hand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import matplotlib
import pytest

import benchmarks
import dcembed
from benchmarks.harness.records import Record, append_record
from benchmarks.report.markdown import folded, table
from benchmarks.report.report import write_report
from benchmarks.report.sections import sections
from benchmarks.report.views import gather

OURS = Record("qp", "64x3", 0, "dcembed", 1.5, "0", "locally_solved", initial_objective=0.0, start_objective=0.0, trace=((0.1, -0.2),))


def report_on(folder, *records: Record) -> str:
    for record in records:
        append_record(folder / "records.csv", record)
    return write_report([folder / "records.csv"], folder).read_text()


def test_it_says_plainly_where_dcembed_is_not_the_best(tmp_path):
    text = report_on(tmp_path, replace(OURS, trace=((1.5, -0.1),)), replace(OURS, method="shared", trace=((0.5, -0.2),)))
    first_screen = text.partition("## What is measured")[0]
    assert (
        "On these instances, another method is ahead of dcembed in NPI at 1.5 s on 1 of 1 (shared), final objective on 1 of 1 (shared)"
        in first_screen
    )
    assert "| 0 / 0 / 1 |" in first_screen
    assert "33.3 against 100.0" in text.partition("## Where we lose")[2]
    # The paper's own figures stand beside a size of the paper.
    assert "-0.06526" in text
    assert "DCEmbed 0.72" in text


def test_on_runs_that_no_licence_allowed_it_says_so(tmp_path):
    text = report_on(tmp_path, replace(OURS, method="gurobi-ml", status="licence", note="too small", trace=()))
    assert "dcembed has no run on Synthetic QP, wider networks, 64x3" in text
    assert "**Gurobi ML** (1 licence)" in text


def test_means_over_fewer_trials_are_marked_and_not_called_the_best(tmp_path):
    # In trial 0 both reach -0.2; trial 1, which only dcembed was run on, has nothing better than -0.1.
    text = report_on(tmp_path, OURS, replace(OURS, trial=1, trace=((0.1, -0.1),)), replace(OURS, method="shared", trace=((0.5, -0.2),)))
    assert "| dcembed | **-0.150000** |" in text
    assert "| shared | -0.200000 \u2020 |" in text
    assert "fewer trials than those of dcembed" in text


def test_the_first_screen_compares_with_the_best_of_the_others(tmp_path):
    ours = replace(OURS, time_limit=180.0, trace=((0.5, -0.2),))
    others = [
        replace(ours, method="shared", trace=((20.0, -0.2),)),
        replace(ours, method="pgd", trace=((10.0, -0.1),)),
        replace(ours, method="big-m", trace=(), status="stopped", stopped_early=30.0),
    ]
    text = report_on(tmp_path, ours, *others)
    row = next(line for line in text.splitlines() if line.startswith("| **Synthetic QP, wider networks**, 180 s"))
    # 0.5 / 180 against 10 / 180 and half of the rest; the others are never both at once.
    assert [cell.strip() for cell in row.split("|")[2:-1]] == [
        *("1", "0.50 s", "20.0 s", "40.0 times", "0.28 %", "11.1 %", "40.0 times", "0 / 1 / 0", "-"),
    ]
    assert "1 run of exact encodings (big-M) were ended early" in text
    assert "still at their start after 30 s were ended there" in text
    assert "cut then" in text


def test_how_often_another_method_is_ahead_is_told_apart_for_small_instances(tmp_path):
    ours = replace(OURS, time_limit=180.0, trace=((0.5, -0.2),))
    later = replace(ours, method="ipopt", trace=((1.0, -0.2004),))
    small = replace(ours, size="8x2x2", time_limit=60.0, trace=((0.5, -0.2),))
    sooner = [replace(small, method=name, trace=((0.1, -0.2),)) for name in ("shared", "two-path", "pgd", "ipopt")]
    text = report_on(tmp_path, ours, later, small, *sooner)
    assert (
        "- At the paper's sizes and beyond, no other method is ahead of dcembed in NPI at 30 s, NPI at 180 s and time to 1 % (1 instance, size and "
        "trial each); another one is in final objective on 1 of 1 (Ipopt) and time to 0.1 % on 1 of 1 (Ipopt): [where we lose](#where-we-lose)."
    ) in text
    assert (
        "- On instances small enough for proofs, no other method is ahead of dcembed in final objective (1 instance, size and trial each); another "
        "one is in NPI at 30 s on 1 of 1 (4 methods), NPI at 60 s on 1 of 1 (4 methods),"
    ) in text


def test_only_instances_with_two_methods_count_and_each_at_its_seconds(tmp_path):
    ours = replace(OURS, time_limit=180.0, trace=((0.5, -0.2),))
    alone = replace(ours, trial=1)
    short = [replace(run, trial=2, time_limit=30.0) for run in (ours, replace(ours, method="ipopt", trace=((1.0, -0.2),)))]
    failed = [replace(ours, trial=3), replace(ours, trial=3, method="ipopt", status="killed", trace=())]
    text = report_on(tmp_path, ours, replace(ours, method="ipopt", trace=((1.0, -0.2),)), alone, *short, *failed)
    assert (
        "On these instances, no other method is ahead of dcembed in NPI at 30 s (2 instances), NPI at 180 s (1 instance), final objective "
        "(2 instances), time to 1 % (2 instances) and time to 0.1 % (2 instances)."
    ) in text


def test_where_nobody_else_comes_near_it_says_whose_objective_is_the_best_known(tmp_path):
    ours = [replace(OURS, trial=trial, time_limit=180.0, trace=((0.5, -0.2),)) for trial in range(3)]
    others = [replace(run, method="shared", trace=((20.0, -0.199 if run.trial == 0 else -0.1),)) for run in ours]
    text = report_on(tmp_path, *ours, *others)
    assert "comes within 1 % of the best known objective on 2 of 3 instances of Synthetic QP, wider networks and 2 of 3" in text
    row = next(line for line in text.splitlines() if line.startswith("| **Synthetic QP, wider networks**, 180 s"))
    assert "| not in 180 s (1 of 3 were) | over 360 times |" in row
    assert "No other method comes" not in report_on(tmp_path / "b", ours[0], others[0])


def test_runs_of_other_limits_are_not_in_one_mean(tmp_path):
    ours = [replace(OURS, trial=trial, time_limit=180.0, trace=((0.5, -0.2),)) for trial in range(2)]
    other = replace(ours[0], method="shared", trace=((60.0, -0.1),))
    shorter = replace(other, trial=1, time_limit=30.0, trace=((1.0, -0.2),))
    section = report_on(tmp_path, *ours, other, shorter).partition("## Synthetic QP, wider networks")[2]
    assert "| shared | -0.100000 \u2020 |" in section
    alone = report_on(tmp_path / "b", *ours, shorter).partition("## Synthetic QP, wider networks")[2]
    assert "| shared | -0.200000 \u2020 \u2021 |" in alone
    assert "| shared | 1.00 / 1.00 \u2020 \u2021 |" in alone


def test_methods_with_shorter_runs_alone_are_named(tmp_path):
    ours = replace(OURS, time_limit=180.0, trace=((0.5, -0.2),))
    others = [
        replace(ours, method="pgd"),
        replace(ours, method="omlt", time_limit=30.0),
        replace(ours, method="gurobi-ml", status="licence"),
    ]
    text = report_on(tmp_path, ours, *others)
    assert "not as long as these ones were runs of Gurobi ML and OMLT, or no licence allowed them" in text


def test_it_says_who_ran_on_which_machine(tmp_path):
    text = report_on(tmp_path, replace(OURS, machine="A"), replace(OURS, trial=1, machine="B"), replace(OURS, method="pgd", machine="A"))
    assert "Made on A (2 runs) and B (1 run)" in text
    assert "- A: dcembed 1 and PGD 1." in text
    assert "- B: dcembed 1." in text


def test_what_is_proved_stands_beside_what_was_found_and_is_no_rival(tmp_path):
    found = [replace(OURS, trial=trial, time_limit=180.0, trace=((0.5, -0.2),)) for trial in range(2)]
    others = [replace(run, method="shared", trace=((20.0, -0.1),)) for run in found]
    proof = replace(found[0], method="dcembed-prove", trace=((0.1, -0.2),), bound=-0.201)
    text = report_on(tmp_path, *found, *others, proof, replace(proof, time_limit=30.0, bound=-0.21))
    row = next(line for line in text.splitlines() if line.startswith("| **Synthetic QP, wider networks**, 180 s"))
    # It was sooner there, with the same search.
    assert "| 20.0 s |" not in row
    assert [cell.strip() for cell in row.split("|")[4:-1]] == [
        "not in 180 s",
        "over 360 times",
        "0.28 %",
        "55.6 %",
        "200 times",
        "2 / 0 / 0",
        "0.50 % (1 of 2)",
    ]
    assert (
        "no other method is ahead of dcembed in NPI at 30 s, NPI at 180 s, final objective, time to 1 % and time to 0.1 % (2 instances"
        in text
    )
    section = text.partition("### What dcembed proves when it is asked to")[2].partition("Means over")[0]
    assert "| 64 (64x3) | 1 | 180 | locally solved | -0.200000 | -0.201000 | 0.50 | 0.056 |" in section
    assert "| dcembed + proof | The same with a bound" in text
    assert "dcembed + proof" not in text.partition("### What dcembed proves")[0]


def test_numbers_at_thirty_seconds_are_of_the_same_runs(tmp_path):
    ours = replace(OURS, time_limit=180.0, trace=((15.0, -0.1), (60.0, -0.2)))
    text = report_on(tmp_path, ours, replace(ours, method="shared", time_limit=30.0, trace=((1.0, -0.2),)))
    section = text.partition("## Synthetic QP, wider networks")[2]
    early, late = (section.partition(f"### NPI at {seconds} s, percent")[2].partition("###")[0] for seconds in (30, 180))
    assert "| dcembed | 75.0 |" in early
    assert "| shared | **3.33** |" in early
    # 15 s at nothing, 45 at a half.
    assert "| dcembed | **20.8** |" in late
    assert "shared" not in late
    assert "| shared | **-0.200000** \u2021 |" in section


@dataclass(frozen=True)
class Bounded(Record):
    """A record of a file that has bounds."""

    bound: float | None = None


def test_bounds_are_shown_where_records_have_them():
    runs = [Bounded(**{**asdict(OURS), "bound": -0.25, "memory": 99.0, "added_columns": 30, "added_binaries": 0})]
    runs += [Bounded(**{**asdict(OURS), "method": "big-m"})]
    text = "\n".join(sections(gather(runs)))
    assert "| bound | proved gap, % |" in text
    assert "| -0.200000 | -0.250000 | 25.0 | 99 |" in text
    assert "| -0.200000 | - | - | 0 |" in text
    assert "| dcembed | 99 / 30 / 0 |" in text
    assert "| bound |" not in "\n".join(sections(gather([OURS])))


def test_a_method_without_a_run_is_named_and_so_are_those_with_few(tmp_path):
    text = report_on(tmp_path, OURS, replace(OURS, trial=1), replace(OURS, method="pgd"))
    assert "Never run: dcembed + proof, shared, two-path" in text
    assert "**attack** (it takes boxes and balls without rows)" in text
    assert "**shared** (it is in none of these records)" in text
    assert "PGD (1 of 2)" in text


@pytest.fixture
def bare_copy(tmp_path):
    """The benchmarks without networks and results."""
    copied = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__", "networks", "results")
    shutil.copytree(Path(benchmarks.__file__).parent, copied / "benchmarks", ignore=ignored)
    return copied


def test_it_is_made_of_the_records_alone(tmp_path, bare_copy):
    path, nothing = tmp_path / "records.csv", tmp_path / "nothing"
    nothing.mkdir()
    for family, size in (("qp", "64x3"), ("water", "25"), ("pooling", "12")):
        for method in ("dcembed", "shared"):
            append_record(path, replace(OURS, experiment=family, size=size, method=method))
    source = Path(dcembed.__file__).parent.parent
    changes = {"PYTHONPATH": f"{bare_copy}{os.pathsep}{source}", "DCEMBED_DATA": str(nothing), "HOME": str(nothing)}
    # The fonts that matplotlib has found need not be looked for again.
    changes["MPLCONFIGDIR"] = matplotlib.get_cachedir()
    command = [sys.executable, "-m", "benchmarks", "report", "--records", str(path), "--to", str(tmp_path / "page")]
    made = subprocess.run(command, cwd=nothing, env={**os.environ, **changes}, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    assert {file.name for file in (tmp_path / "page").iterdir()} == {"report.md", "npi.png", "trajectories.png"}
    assert (tmp_path / "page" / "report.md").read_text() == write_report([path], tmp_path).read_text()


def test_cells_and_titles_cannot_break_the_page():
    assert table(["a", "b"], [["x|y", "1"]]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1 |"
    assert folded("a < b", ["c", "d"]) == "<details><summary>a &lt; b</summary>\n\nc\n\nd\n\n</details>"
