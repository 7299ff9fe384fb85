"""The committed results: complete, measured by the harness, and reported as they are. Who is ahead is not a matter of tests."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks.harness.metrics import is_refuted, references
from benchmarks.harness.outcome import FEASIBILITY_TOL
from benchmarks.harness.records import FAILURES, REPORTED, RESULTS, read_records
from benchmarks.methods.method import why_not
from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import EXPERIMENTS, NUM_TRIALS
from benchmarks.report.comparison import OURS, PROVER
from benchmarks.report.report import write_report
from benchmarks.report.views import read_all

POOLING_OPTIMA = {"12": 171.511824, "13": 169.728026, "14": 169.916595, "15": 169.952333, "16": 169.116760, "17": 169.408848}
LARGE = [experiment for experiment in EXPERIMENTS.values() if not experiment.is_small]


@pytest.fixture(scope="module")
def records():
    return read_records(RESULTS / "records.csv")


@pytest.fixture(scope="module")
def reported():
    return read_all(REPORTED)


@pytest.mark.parametrize("experiment", LARGE, ids=lambda experiment: experiment.name)
def test_dcembed_has_a_record_of_every_trial_of_the_papers_sizes(records, experiment):
    there = {record.instance for record in records if record.method == OURS}
    assert {(experiment.family, size, trial) for size in experiment.sizes for trial in range(NUM_TRIALS)} <= there


@pytest.mark.parametrize("experiment", LARGE, ids=lambda experiment: experiment.name)
def test_every_method_that_applies_was_run_on_the_smallest_and_the_largest_size_of_the_paper(reported, experiment):
    there = {(record.experiment, record.size, record.method) for record in reported}
    sizes = experiment.sizes[0], experiment.sizes[-1]
    applying = [name for name, method in METHODS.items() if why_not(method, experiment) is None]
    assert {(experiment.family, size, method) for size in sizes for method in applying} <= there


def test_pooling_is_measured_against_the_optima_of_the_table_and_nobody_is_below_them(records):
    runs = [record for record in records if record.experiment == "pooling" and record.optimum is not None]
    assert {record.size for record in runs} >= set(POOLING_OPTIMA)
    for record in runs:
        assert -record.optimum == pytest.approx(POOLING_OPTIMA.get(record.size, -record.optimum), abs=1e-6)
        assert record.objective is None or record.objective >= record.optimum - 1e-6


def test_no_point_of_any_method_is_better_than_a_bound_of_dcembed(reported):
    best = references(reported)
    proved = [record for record in reported if record.method in (OURS, PROVER) and record.bound is not None]
    assert proved
    assert not [record.key for record in proved if is_refuted(record, best[record.instance])]


def test_points_are_rejected_exactly_where_a_constraint_was_violated(records):
    measured = [record for record in records if record.num_points is not None]
    for record in measured:
        assert (record.num_rejected > 0) == (record.largest_violation > FEASIBILITY_TOL)
        assert record.num_rejected <= record.num_points
    assert all(record.num_rejected == 0 for record in measured if record.method == OURS)


def test_a_record_has_an_improving_trace_that_ends_at_its_objective_or_says_why_it_has_none(records):
    for record in records:
        if record.status in (*FAILURES, "licence"):
            assert record.note
            assert not record.trace
        else:
            objectives = [objective for _, objective in record.trace]
            assert np.all(np.diff(objectives) < 0)
            assert record.objective == (objectives[-1] if objectives else None)


def test_the_report_is_what_the_records_give(tmp_path):
    write_report(REPORTED, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert text == (RESULTS / "report.md").read_text()
    pictures = set(re.findall(r"!\[[^\]]*\]\((\S+)\)", text))
    # The other pages are of studies of their own.
    assert {path.name for path in tmp_path.iterdir()} == {"report.md", *pictures}
    assert pictures == {path.name for path in RESULTS.glob("*.png")}


def test_all_committed_records_are_in_the_report():
    assert {path for path in RESULTS.rglob("records.csv") if path.parent.name != "short"} <= set(REPORTED)
