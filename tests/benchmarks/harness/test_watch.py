"""A run that is still at its start is ended, if its method allows it; one that has found anything goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcembed
from benchmarks.harness import watch as module
from benchmarks.harness.job import Job, perform, stopped, to_record
from benchmarks.harness.metrics import npi
from benchmarks.harness.outcome import Outcome
from benchmarks.harness.process import Line, Report
from benchmarks.harness.records import STOPPED, Record, missing
from benchmarks.harness.watch import Watch, watch_of
from benchmarks.methods.table import METHODS
from benchmarks.problems.qp import build_qp
from dcembed import Options
from dcembed.program.derive import derive

JOB = Job("qp", "8x3x2", 0, "big-m", 100.0)
LIMIT = 500.0
EXACT = {"big-m", "big-m-obbt", "gurobi-ml", "pyscipopt-ml", "omlt"}


@pytest.fixture(scope="module")
def better():
    """A point of the instance that is better than its start."""
    instance = build_qp("8x3x2", 0)
    result = dcembed.solve(instance.program, instance.embeddings, instance.starts, Options(max_starts=1, max_iterations=5, verbose=False))
    assert result.objective < 0
    return result.x


@pytest.fixture
def clock(monkeypatch):
    """The seconds that the watch sees."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def run_fake(monkeypatch, solve, stall=30.0, **changes) -> tuple[dict, list[tuple[str, object]]]:
    """The fields of a run of a made method in the place of big-M, and what it has said to the harness."""
    monkeypatch.setitem(METHODS, "big-m", replace(METHODS["big-m"], solve=solve, **changes))
    said: list[tuple[str, object]] = []
    return perform(JOB, Line(lambda *what: said.append(what)), stall), said


def test_a_run_that_stalls_is_ended_and_its_trajectory_counts_to_the_horizon(monkeypatch, clock):
    def stall(program, embeddings, start, options):
        clock[0] += 50.0
        watch = watch_of(options)
        watch.begin()
        # The start again, and a point that is no better.
        watch.offer(start[0])
        while not watch.is_set():
            clock[0] += 1.0
        return Outcome("time_limit", [(12.0, start[0])], clock[0] - 50.0, 50.0, added_columns=7)

    fields, said = run_fake(monkeypatch, stall)
    assert (fields["status"], fields["stopped_early"], fields["seconds"]) == (STOPPED, 30.0, 30.0)
    # What the method knows of itself is kept.
    assert (fields["added_columns"], fields["preparation_seconds"]) == (7, 50.0)
    assert [word for word, _ in said] == ["promise", "memory"]
    record = to_record(JOB, Report(fields, None, "", 1.0, 31.0))
    assert record.time_limit == 100.0
    assert "30 s" in record.note
    assert npi(record, -1.0) == pytest.approx(100.0)


def test_a_run_that_improves_before_is_never_ended(monkeypatch, clock, better):
    def improve(program, embeddings, start, options):
        watch = watch_of(options)
        watch.begin()
        clock[0] += 29.0
        watch.offer(better)
        for _ in range(60):
            clock[0] += 1.0
            assert not watch.is_set()
        return Outcome("time_limit", [(29.0, better)], clock[0])

    fields, said = run_fake(monkeypatch, improve)
    assert fields["status"] == "time_limit"
    assert "stopped_early" not in fields
    assert [word for word, _ in said] == ["promise", "more", "memory"]


def test_only_methods_that_say_so_are_ended_and_only_in_longer_runs(monkeypatch):
    def see(program, embeddings, start, options):
        assert options.stop is None
        assert watch_of(options).is_idle
        assert not watch_of(options).is_set()
        return Outcome("finished", [], 0.0)

    stoppable = {name for name, method in METHODS.items() if method.may_stop}
    assert stoppable >= EXACT
    assert not {"dcembed", "shared", "two-path", "pgd", "ipopt"} & stoppable
    assert run_fake(monkeypatch, see, may_stop=False)[0]["status"] == "finished"
    assert run_fake(monkeypatch, see, stall=100.0, may_stop=True)[0]["status"] == "finished"


def test_the_points_of_dcembeds_methods_are_heard_too(better):
    heard = []
    watch = Watch(build_qp("8x3x2", 0), 0.0, 1000.0, on_improved=lambda: heard.append(True))
    watch.begin()
    instance = build_qp("8x3x2", 0)
    options = Options(stop=watch, callback=watch.hear, max_starts=1, max_iterations=5, verbose=False)
    dcembed.solve(instance.program, instance.embeddings, instance.starts, options)
    assert heard == [True]
    assert watch.is_idle


# Without the quadratic objective it is HiGHS that solves what SCIP does else. What Gurobi's free licence takes is solved at once.
@pytest.mark.parametrize(
    ("name", "is_quadratic"),
    [("big-m", True), ("big-m", False), ("big-m-obbt", True), ("pyscipopt-ml", True), ("omlt", True), ("omlt", False)],
)
def test_exact_encodings_begin_their_watch_and_hear_it(name, is_quadratic):
    if METHODS[name].missing_package() is not None:
        pytest.skip(f"{METHODS[name].missing_package()} is not installed")
    begun = []
    instance = build_qp("32x3x4", 0)
    program = instance.program if is_quadratic else derive(instance.program, quadratic=None)
    # Nothing that they find is taken for better.
    watch = Watch(instance, -np.inf, 0.3, on_begin=begun.append)
    options = Options(time_limit=LIMIT, stop=watch, callback=watch.hear, verbose=False)
    result = METHODS[name].solve(program, instance.embeddings, instance.starts, options)
    assert len(begun) == 1
    assert watch.has_stopped
    assert result.seconds < LIMIT


def test_an_early_end_stands_for_the_run_unless_it_may_stay_at_its_start_for_longer():
    record = Record(experiment="qp", size="64x3", trial=0, method="big-m", time_limit=180.0, version="1", **stopped(30.0))
    record = replace(record, fingerprint="a1")
    assert missing([record.key], [record], stall=30.0) == []
    assert missing([record.key], [record], stall=60.0) == [record.key]
    assert missing([record.key], [record], stall=np.inf) == [record.key]
