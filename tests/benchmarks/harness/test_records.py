"""Records are kept as they are, and nothing is computed twice."""

from __future__ import annotations

import csv
from dataclasses import asdict

import pytest
from rich.console import Console

from benchmarks.harness import job as job_module
from benchmarks.harness import sweep
from benchmarks.harness.job import Job
from benchmarks.harness.records import Record, append_record, missing, read_records


def record(method="dcembed", **changes) -> Record:
    return Record("qp", "64x3", 1, method, 180.0, "0.1.0", **{"status": "locally_solved", "fingerprint": "a1", **changes})


def test_records_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "deep" / "records.csv"
    trace = ((0.125, -0.1 / 3), (1.5, -2.0))
    full = record(note='a, "b"\nc', objective=-0.1 / 3, bound=-2.0 / 3, memory=12.5, num_points=2, trace=trace, optimum=None)
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
    # Another version or another source is another run.
    for other in ((*keys[0][:-2], "0.2.0", "a1"), (*keys[0][:-1], "b2")):
        assert missing([other], there) == [other]


def test_a_record_of_unknown_source_stands_for_no_run():
    assert missing([record(fingerprint="").key], [record(fingerprint="")]) == [record(fingerprint="").key]


def test_a_file_from_before_there_were_fingerprints_is_read_and_gets_the_column(tmp_path):
    path, old = tmp_path / "records.csv", record("pgd", fingerprint="", note="a, b", trace=((0.5, -1.0),))
    append_record(path, old)
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    at = rows[0].index("fingerprint")
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([cell for number, cell in enumerate(row) if number != at] for row in rows)
        file.write("qp,64x3,1,omlt,180.0,0.1")
    assert read_records(path) == [old]
    append_record(path, record())
    assert read_records(path) == [old, record()]


def test_a_file_from_before_bounds_were_written_down_is_read_and_gets_the_column(tmp_path):
    path, old = tmp_path / "records.csv", record("big-m", status="optimal", objective=-1.0)
    append_record(path, old)
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    at = rows[0].index("bound")
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([cell for number, cell in enumerate(row) if number != at] for row in rows)
    assert read_records(path) == [old]
    assert read_records(path)[0].bound is None
    new = record(bound=-0.1 / 3)
    append_record(path, new)
    assert read_records(path) == [old, new]


def test_the_newest_record_of_an_instance_is_the_last_one_whatever_its_source(tmp_path):
    path = tmp_path / "records.csv"
    for fingerprint in ("a1", "b2", "a1"):
        append_record(path, record(fingerprint=fingerprint))
    assert [one.fingerprint for one in read_records(path)] == ["b2", "a1"]


@pytest.fixture
def made(monkeypatch):
    """The jobs that a sweep runs, which end at once."""
    jobs = []

    def run_job(job, preparation_limit, stop, stall):
        jobs.append(job)
        return Record(**asdict(job), status="finished")

    monkeypatch.setattr(sweep, "run_job", run_job)
    return jobs


def test_a_sweep_that_is_repeated_runs_nothing(tmp_path, made):
    jobs = [Job("qp", size, 0, "dcembed", 1.0) for size in ("64x1", "64x3", "64x6")]
    console = Console(quiet=True)
    assert sweep.run_sweep(jobs[:2], tmp_path / "records.csv", "command", console) == 2
    assert sweep.run_sweep(jobs, tmp_path / "records.csv", "command", console) == 1
    assert sweep.run_sweep(jobs, tmp_path / "records.csv", "command", console) == 0
    assert [job.size for job in made] == ["64x1", "64x3", "64x6"]
    assert {one.command for one in read_records(tmp_path / "records.csv")} == {"command"}


def test_a_sweep_runs_again_what_another_source_has_made(tmp_path, made, monkeypatch):
    path, console, jobs = tmp_path / "records.csv", Console(quiet=True), [Job("qp", "64x1", 0, "dcembed", 1.0)]
    assert sweep.run_sweep(jobs, path, "command", console) == 1
    with monkeypatch.context() as patch:
        patch.setattr(job_module, "fingerprint", lambda *what: "another")
        assert sweep.run_sweep(jobs, path, "command", console) == 1
        assert sweep.run_sweep(jobs, path, "command", console) == 0
    assert sweep.run_sweep(jobs, path, "command", console) == 0
    assert [one.fingerprint for one in read_records(path)] == [job.fingerprint for job in made]


def test_a_run_that_is_lost_on_a_cluster_costs_itself_alone_and_is_made_again(tmp_path, made, capsys):
    from concurrent.futures import ThreadPoolExecutor

    class Cluster(ThreadPoolExecutor):
        """One whose worker has died with the second run."""

        def submit(self, function, job, *arguments, **more):
            if job.size == "64x3":
                return super().submit(exec, "raise ConnectionError('the worker [tcp 1] is gone')")
            return super().submit(function, job, *arguments, **more)

    path, jobs = tmp_path / "records.csv", [Job("qp", size, 0, "dcembed", 1.0) for size in ("64x1", "64x3", "64x6")]
    with Cluster(1) as cluster:
        assert sweep.run_sweep(jobs, path, "command", Console(width=200), executor=cluster) == 2
    said = capsys.readouterr().out
    assert "qp 64x3 trial 0 dcembed was lost: ConnectionError: the worker [tcp 1] is gone" in said
    assert "1 of 3 runs were lost on the cluster. The same command makes them again." in said
    assert {job.size for job in made} == {"64x1", "64x6"}
    assert sweep.run_sweep(jobs, path, "command", Console(quiet=True)) == 1
    assert {record.size for record in read_records(path)} == {"64x1", "64x3", "64x6"}


@pytest.mark.parametrize("short", [True, False])
def test_a_plan_has_shared_instances_once_and_no_method_where_it_does_not_apply(short):
    from benchmarks.problems.experiments import EXPERIMENTS

    jobs = sweep.plan(EXPERIMENTS.values(), ["dcembed", "greedy", "pgd"], None, [0], 5.0, short)
    assert len(set(jobs)) == len(jobs)
    assert {job.experiment for job in jobs if job.method == "greedy"} == {"water"}
    assert {job.experiment for job in jobs if job.method == "pgd"} == {"qp", "boxes"}
    assert {job.experiment for job in jobs if job.method == "dcembed"} == {"qp", "water", "pooling", "boxes"}
