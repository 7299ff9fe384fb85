"""One process a run: failures are reported, never raised, and nothing is left behind."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import misbehaving
import psutil
import pytest

from benchmarks.harness import process
from benchmarks.harness.job import Job, to_record
from benchmarks.harness.process import run_apart
from benchmarks.harness.records import append_record, read_records


def test_an_answer_comes_back_with_time_and_memory():
    report = run_apart(misbehaving.answer, 4, 60.0)
    assert report.answer == {"twice": 8}
    assert report.failure is None
    assert report.memory > 5
    assert report.seconds > 0


@pytest.mark.parametrize(
    ("function", "failure", "note"),
    [(misbehaving.crash, "crashed", "ValueError: nothing can be done with 7"), (misbehaving.die, "crashed", "exit code 3")],
)
def test_a_method_that_crashes_is_recorded(function, failure, note, tmp_path):
    report = run_apart(function, 7, 60.0)
    record = to_record(Job("water", "3", 0, "greedy", 5.0), report)
    append_record(tmp_path / "records.csv", record)
    (read,) = read_records(tmp_path / "records.csv")
    assert read.status == failure
    assert note in read.note
    assert read.objective is None


def test_a_method_that_hangs_is_killed_with_all_it_started(tmp_path, monkeypatch):
    # The time is over when it hangs, however long it took to get there.
    pid = tmp_path / "pid"
    pid.touch()
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + (1000.0 if pid.read_text() else 0.0)))
    report = run_apart(misbehaving.hang, str(pid), 200.0)
    assert report.failure == "killed"
    assert "after 200 s" in report.note
    assert not _is_alive(int(pid.read_text()))


def test_a_promised_answer_is_taken_when_nothing_more_is_heard_and_the_process_is_ended(tmp_path):
    pid = tmp_path / "pid"
    report = run_apart(misbehaving.promise_and_hang, str(pid), 200.0)
    assert (report.answer, report.failure) == ({"kept": True}, None)
    assert report.memory > 5
    assert not pid.is_file() or not _is_alive(int(pid.read_text() or 0))


def test_a_promise_that_is_taken_back_does_not_count():
    assert run_apart(misbehaving.promise_and_go_on, 1.0, 200.0).answer == {"kept": False}


def test_memory_counts_up_to_the_moment_the_method_is_done():
    small, large = (run_apart(misbehaving.use_memory, megabytes, 60.0) for megabytes in (10, 100))
    assert 60 < large.memory - small.memory < 300


def _is_alive(pid: int) -> bool:
    """Whether a process runs; it may take a moment to go, and stays as a shadow until someone has asked for its exit code."""
    for _ in range(50):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return False
        except psutil.NoSuchProcess:
            return False
        time.sleep(0.1)
    return True


def test_a_process_that_has_only_just_begun_is_ended_too(monkeypatch):
    """Before it leads a group of its own."""
    begun = []
    real = process._wait
    monkeypatch.setattr(process, "_wait", lambda child, *rest: (begun.append(child.pid), real(child, *rest))[1])
    stop = threading.Event()
    stop.set()
    assert run_apart(misbehaving.answer, 4, 60.0, stop).answer is None
    assert not _is_alive(begun[0])
