"""Processes that do tasks: their answers, their errors, their ends."""

from __future__ import annotations

import math
import os
import pickle
import signal
import sys
import time
from concurrent.futures import CancelledError, wait

import pytest

from dcembed import DcembedError, Status
from dcembed.crew import Workers
from dcembed.crew.pipes import unpack
from dcembed.crew.process import WorkerLost
from dcembed.crew.serving import TaskError, _raised
from dcembed.run.clock import RunEnded


@pytest.fixture(scope="module")
def workers():
    with Workers(2) as workers:
        yield workers


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_answers_come_back(workers):
    assert [future.result() for future in [workers.submit(math.sqrt, number * number) for number in range(20)]] == list(range(20))
    assert list(workers.map(math.factorial, range(5))) == [1, 1, 2, 6, 24]


def test_what_a_task_raises_is_raised_here(workers):
    with pytest.raises(ValueError, match="math domain error"):
        workers.submit(math.sqrt, -1.0).result()
    # Neither what cannot be sent there nor what cannot be sent back leaves anybody waiting.
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        workers.submit(lambda: None).result()
    with pytest.raises(TypeError, match="pickle"):
        workers.submit(open, os.devnull).result()
    assert workers.submit(math.sqrt, 4.0).result() == 2.0


def test_an_error_that_cannot_be_read_again_comes_with_its_words():
    succeeded, error = unpack(_raised(RunEnded(Status.TIME_LIMIT)))
    assert not succeeded
    # Packages for errors that travel, where they have been imported, let it be read.
    assert isinstance(error, TaskError | RunEnded)
    assert "The time limit was reached" in str(error)


def test_what_a_task_prints_does_not_disturb(workers):
    assert workers.submit(print, "hello").result() is None
    assert workers.submit(math.sqrt, 4.0).result() == 2.0


def test_a_process_that_dies_costs_its_task_alone(workers):
    other = workers.submit(time.sleep, 0.1)
    lost = workers.submit(os._exit, 3)
    with pytest.raises(WorkerLost, match="has ended"):
        lost.result()
    assert other.result() is None
    assert [future.result() for future in [workers.submit(math.sqrt, 9.0) for _ in range(6)]] == [3.0] * 6


def test_tasks_that_have_not_begun_can_be_cancelled():
    with Workers(1) as workers:
        busy = workers.submit(time.sleep, 0.3)
        waiting = workers.submit(math.sqrt, 4.0)
        assert waiting.cancel()
        with pytest.raises(CancelledError):
            waiting.result()
        busy.result()


def test_all_end_at_once_when_they_are_killed():
    workers = Workers(2)
    futures = [workers.submit(time.sleep, 60.0) for _ in range(4)]
    workers.wait_until_ready()
    pids = workers.pids
    began = time.monotonic()
    workers.kill()
    assert time.monotonic() - began < 10.0
    wait(futures, timeout=10.0)
    assert all(future.cancelled() or isinstance(future.exception(), WorkerLost) for future in futures)
    assert not any(is_running(pid) for pid in pids)
    with pytest.raises(RuntimeError, match="shut down"):
        workers.submit(math.sqrt, 4.0)


def test_they_end_with_the_process_that_began_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys, time\n"
        "from dcembed.crew import Workers\n"
        "workers = Workers(2)\n"
        "busy = [workers.submit(time.sleep, 60.0) for _ in range(2)]\n"
        "workers.wait_until_ready()\n"
        "time.sleep(0.3)\n"
        "print(*workers.pids, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    with os.popen(f"{sys.executable} {script}") as output:
        pids = list(map(int, output.read().split()))
    assert len(pids) == 2
    deadline = time.monotonic() + 10.0
    while any(is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in pids)


def test_a_script_needs_no_guard_and_is_run_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\nimport math\nfrom dcembed.crew import Workers\nwith Workers(1) as w: print(w.submit(math.sqrt, 4.0).result())\n"
    )
    with os.popen(f"{sys.executable} {script}") as output:
        assert output.read().split() == ["once", "2.0"]


def test_ctrl_c_is_not_theirs(workers):
    future = workers.submit(time.sleep, 0.3)
    time.sleep(0.1)
    for pid in workers.pids:
        os.kill(pid, signal.SIGINT)
    assert future.result() is None


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2"])
def test_a_wrong_number_is_refused(number):
    with pytest.raises(DcembedError, match="from 1 to"):
        Workers(number)
