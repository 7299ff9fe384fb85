"""Runs with others: nothing is lost or left behind whatever happens to them."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

import crew_tasks
import dcembed
from crew_problems import check, margin
from dcembed import Status, Workers
from problems import level_problem, quiet
from repetitions import repetitions

# How often each accident happens: `DCEMBED_REPETITIONS=20` for more.
REPETITIONS = repetitions(2)
pytestmark = pytest.mark.usefixtures("called_at_once")


def test_a_worker_that_is_killed_costs_its_task_alone():
    with Workers(2) as workers:
        for repetition in range(REPETITIONS):
            program, embedding = margin(repetition % 4)
            workers.wait_until_ready()
            killer = threading.Timer(0.3 * random.Random(repetition).random(), _kill_one, [workers, repetition])
            killer.start()
            result = dcembed.solve(program, embedding, options=quiet(executor=workers, max_starts=10))
            killer.join()
            check(program, embedding, result)
            assert result.status is Status.LOCALLY_SOLVED


def _kill_one(workers, number):
    pids = workers.pids
    if pids:
        os.kill(pids[number % len(pids)], signal.SIGKILL)


def test_a_start_that_kills_every_process_is_left_out(monkeypatch):
    """Made here, it would end this one, too."""
    monkeypatch.setattr("dcembed.engine.search.under_way.follow_elsewhere", crew_tasks.leave_start)
    program, embedding = margin(1)
    with Workers(2) as workers:
        workers.wait_until_ready()
        result = dcembed.solve(program, embedding, options=quiet(executor=workers, max_starts=3))
    assert result.x is not None
    assert any("its process has ended" in note for note in result.notes)


def test_a_task_that_raises_is_done_here(workers, monkeypatch):
    monkeypatch.setattr("dcembed.engine.search.under_way.follow_elsewhere", crew_tasks.fail_start)
    for repetition in range(REPETITIONS):
        program, embedding = level_problem(repetition % 4)
        alone = dcembed.solve(program, embedding, options=quiet(search="converge", max_starts=3))
        result = dcembed.solve(program, embedding, options=quiet(executor=workers, search="converge", max_starts=3))
        check(program, embedding, result)
        assert result.objective == alone.objective


@pytest.mark.parametrize("kind", [Workers, ProcessPoolExecutor])
def test_an_executor_that_is_shut_down_in_the_middle_leaves_the_rest_here(kind):
    for repetition in range(REPETITIONS):
        program, embedding = margin(repetition % 4, width=12)
        executor = kind(2)
        executor.submit(abs, 1).result()
        closer = threading.Timer(0.2 * random.Random(repetition).random(), lambda executor=executor: executor.shutdown(wait=False))
        closer.start()
        result = dcembed.solve(program, embedding, options=quiet(executor=executor, max_starts=10))
        closer.join()
        check(program, embedding, result)
        assert result.status is Status.LOCALLY_SOLVED
        executor.shutdown()


@pytest.mark.parametrize("how", ["limit", "stop"])
def test_the_end_comes_in_time_and_leaves_nothing_running(how, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    begun = []
    real = Workers.__init__
    monkeypatch.setattr(Workers, "__init__", lambda self, *args: (real(self, *args), begun.append(self))[0])
    for repetition in range(REPETITIONS):
        program, embedding = margin(repetition % 4, width=40)
        seconds, event = 0.4 + 0.6 * random.Random(repetition).random(), threading.Event()
        if how == "stop":
            threading.Timer(seconds, event.set).start()
        limit = seconds if how == "limit" else 60.0
        began = time.monotonic()
        result = dcembed.solve(
            program, embedding, options=quiet(workers=2, search="until-limit", max_starts=None, time_limit=limit, stop=event)
        )
        # Generous: the machine has other things to do.
        assert time.monotonic() - began < seconds + 10.0
        check(program, embedding, result)
        assert result.status is (Status.TIME_LIMIT if how == "limit" else Status.INTERRUPTED)
        assert not any(workers.pids for workers in begun)
        assert not list(tmp_path.iterdir())
        assert all(objective >= result.objective for _, objective in result.incumbents)


def test_ctrl_c_ends_a_run_and_all_of_its_workers():
    program, embedding = margin(0, width=40)
    began = time.monotonic()
    threading.Timer(0.8, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    result = dcembed.solve(program, embedding, options=quiet(workers=2, search="until-limit", max_starts=None, time_limit=60.0))
    assert result.status is Status.INTERRUPTED
    assert time.monotonic() - began < 30.0
    check(program, embedding, result)
