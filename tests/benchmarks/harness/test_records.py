"""Records are kept as they are, and nothing is computed twice."""

from __future__ import annotations

import pytest
from rich.console import Console

from benchmarks.harness import sweep
from benchmarks.harness.job import Job
from benchmarks.harness.records import Record, append_record, missing, read_records


def record(method="dcembed", **changes) -> Record:
    return Record("qp", "64x3", 1, method, 180.0, "0.1.0", **{"status": "locally_solved", **changes})


def test_records_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "deep" / "records.csv"
    full = record(note='a, "b"\nc', objective=-0.1 / 3, memory=12.5, num_points=2, trace=((0.125, -0.1 / 3), (1.5, -2.0)), optimum=None)
    for one in (full, record("pgd")):
        append_record(path, one)
    assert read_records(path) == [full, record("pgd")]
    assert read_records(tmp_path / "nothing.csv") == []


def test_the_last_record_of_a_key_counts(tmp_path):
    path = tmp_path / "records.csv"
    for status in ("crashed", "locally_solved"):
        append_record(path, record(status=status))
    assert [one.status for one in read_records(path)] == ["locally_solved"]


def test_a_torn_row_costs_its_own_run_only(tmp_path):
    path = tmp_path / "records.csv"
    append_record(path, record())
    with path.open("a") as file:
        file.write("qp,64x3,1,pgd,180.0,0.1")
    append_record(path, record("shared"))
    assert [one.method for one in read_records(path)] == ["dcembed", "shared"]


def test_only_what_is_missing_is_run_and_failures_again_when_asked():
    keys = [record(name).key for name in ("dcembed", "pgd", "omlt")]
    there = [record(), record("omlt", status="killed")]
    assert missing(keys, there) == [record("pgd").key]
    assert missing(keys, there, retry_failed=True) == [record("pgd").key, record("omlt").key]
    # Another version or time limit is another run.
    assert missing([(*keys[0][:-1], "0.2.0")], there) == [(*keys[0][:-1], "0.2.0")]


def test_a_sweep_that_is_repeated_runs_nothing(tmp_path, monkeypatch):
    made = []

    def run_job(job, preparation_limit, stop):
        made.append(job)
        return Record(job.experiment, job.size, job.trial, job.method, job.time_limit, job.version, "finished")

    monkeypatch.setattr(sweep, "run_job", run_job)
    jobs = [Job("qp", size, 0, "dcembed", 1.0) for size in ("64x1", "64x3", "64x6")]
    console = Console(quiet=True)
    assert sweep.run_sweep(jobs[:2], tmp_path / "records.csv", "command", console) == 2
    assert sweep.run_sweep(jobs, tmp_path / "records.csv", "command", console) == 1
    assert sweep.run_sweep(jobs, tmp_path / "records.csv", "command", console) == 0
    assert made == jobs
    assert {one.command for one in read_records(tmp_path / "records.csv")} == {"command"}


@pytest.mark.parametrize("short", [True, False])
def test_a_plan_has_shared_instances_once_and_no_method_where_it_does_not_apply(short):
    from benchmarks.problems.experiments import EXPERIMENTS

    jobs = sweep.plan(EXPERIMENTS.values(), ["dcembed", "greedy", "pgd"], None, [0], 5.0, short)
    assert len(set(jobs)) == len(jobs)
    assert {job.experiment for job in jobs if job.method == "greedy"} == {"water"}
    assert {job.experiment for job in jobs if job.method == "pgd"} == {"qp"}
    assert {job.experiment for job in jobs if job.method == "dcembed"} == {"qp", "water", "pooling"}
