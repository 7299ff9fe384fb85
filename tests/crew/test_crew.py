"""Who does the work is not to be seen from what comes back, whatever happens to them on the way."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

import crew_tasks as tasks
from dcembed.crew.crew import Crew, capacity, is_accident, open_crew
from dcembed.crew.parts import share_out
from dcembed.crew.process import WorkerLost
from dcembed.crew.task import Missing, Shared
from dcembed.crew.workers import Workers
from dcembed.run.clock import Clock

PARTS = [(number,) for number in range(12)]


@pytest.fixture(scope="module")
def workers():
    with Workers(2) as workers:
        workers.wait_until_ready()
        yield workers


@contextmanager
def crew_of(executor, notes=None, size=2):
    """A crew that is there at once."""
    with open_crew(size, executor, (notes if notes is not None else []).append) as crew:
        crew._began -= 10.0
        yield crew


def shared(**values) -> Shared:
    return Shared({"pid": os.getpid(), **values})


def test_alone_everything_is_done_here():
    crew = Crew()
    assert share_out(crew, tasks.add, shared(base=5), PARTS, Clock(np.inf)) == list(range(5, 17))
    assert set(share_out(crew, tasks.whoami, shared(), PARTS[:2], Clock(np.inf))) == {os.getpid()}


def test_others_do_the_parts_and_their_order_stays(workers):
    with crew_of(workers) as crew:
        assert share_out(crew, tasks.add, shared(base=5), PARTS, Clock(np.inf)) == list(range(5, 17))
        assert os.getpid() not in share_out(crew, tasks.whoami, shared(), PARTS, Clock(np.inf))


def test_a_short_run_calls_nobody():
    with open_crew(2, None, print) as crew:
        assert set(share_out(crew, tasks.whoami, shared(), PARTS[:3], Clock(np.inf))) == {os.getpid()}
        assert crew._executor is None


def test_parts_are_done_here_until_others_come(workers, monkeypatch):
    with crew_of(workers) as crew:
        come = iter([False, False, False])
        monkeypatch.setattr(crew, "is_there", lambda: next(come, True))
        who = share_out(crew, tasks.whoami, shared(), PARTS, Clock(np.inf))
    assert who[:3] == [os.getpid()] * 3
    assert os.getpid() not in who[3:]


def test_what_is_shared_travels_once_to_a_process(workers):
    with crew_of(workers) as crew:
        sent = []
        crew._executor = type("Counting", (), {"submit": lambda self, f, r: sent.append(r.data is not None) or workers.submit(f, r)})()
        data = shared(base=1, ballast=np.zeros(1000))
        # Two parts that take a while, so that each process has one of them.
        share_out(crew, tasks.sleep, data, [(0.5,), (0.5,)], Clock(np.inf))
        for _ in range(4):
            assert share_out(crew, tasks.add, data, PARTS, Clock(np.inf)) == list(range(1, 13))
    assert sum(sent) == 2
    assert len(sent) == 2 + 48


def test_what_is_shared_comes_after_the_process_that_was_too_late_for_it(workers):
    with crew_of(workers) as crew:
        data = shared(base=1)
        # As if all that travels with the data had gone to other processes.
        crew._num_sent[data.key] = 2
        assert share_out(crew, tasks.add, data, PARTS, Clock(np.inf)) == list(range(1, 13))


@pytest.mark.parametrize("task", [tasks.fail, tasks.die])
def test_what_fails_there_is_done_here(workers, task):
    notes = []
    with crew_of(workers, notes) as crew:
        # Each of them may cost a process.
        assert share_out(crew, task, shared(), PARTS[:4], Clock(np.inf)) == list(range(4))
    assert bool(notes) == (task is tasks.die)


@pytest.mark.parametrize("kind", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_executors_of_others_do_the_same(kind):
    with kind(2) as executor, crew_of(executor, size=None) as crew:
        assert crew.size == 2
        assert share_out(crew, tasks.add, shared(base=5), PARTS, Clock(np.inf)) == list(range(5, 17))
        # It is left open.
    with kind(1) as executor, crew_of(executor):
        assert executor.submit(abs, -1).result() == 1


@pytest.mark.parametrize("kind", [ProcessPoolExecutor, ThreadPoolExecutor, Workers])
def test_an_executor_that_is_shut_down_leaves_the_work_here(kind):
    executor, notes = kind(1), []
    executor.shutdown()
    with crew_of(executor, notes) as crew:
        crew._executor = executor if not isinstance(executor, Workers) else _ready(executor)
        assert share_out(crew, tasks.add, shared(base=5), PARTS, Clock(np.inf)) == list(range(5, 17))
        assert crew.is_alone
    assert any("takes no more work" in note for note in notes)


def _ready(workers):
    workers._begun.set()
    return workers


def test_a_broken_pool_leaves_the_work_here():
    notes = []
    with ProcessPoolExecutor(2) as executor, crew_of(executor, notes) as crew:
        assert share_out(crew, tasks.die, shared(), PARTS, Clock(np.inf)) == list(range(12))
    assert any("takes no more work" in note for note in notes)


def test_shared_data_that_cannot_travel_keep_the_work_here(workers):
    notes = []
    with crew_of(workers, notes) as crew:
        odd = Shared({"base": 1, "lock": threading.Lock()})
        assert share_out(crew, tasks.add, odd, PARTS, Clock(np.inf)) == list(range(1, 13))
        share_out(crew, tasks.add, odd, PARTS, Clock(np.inf))
    assert sum("stays in this process" in note for note in notes) == 1


def test_points_come_back_while_tasks_work_and_what_is_known_gets_there(workers):
    with crew_of(workers) as crew:
        crew.exchange.tell(-3.5)
        errands = [crew.send(tasks.tell, shared(), part, Clock(np.inf)) for part in PARTS[:4]]
        answers = [errand.future.result(timeout=20.0) for errand in errands]
        found = list(crew.exchange.found())
        # A process that did not have what is shared has told nothing.
        assert sorted(point[0] for _, point in found) == [answer for answer in answers if not isinstance(answer, Missing)]
        assert {point[1] for _, point in found} == {-3.5}
        assert list(crew.exchange.found()) == []


def test_nothing_is_left_behind_in_the_folder_of_temporary_files(workers, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with crew_of(workers) as crew:
        share_out(crew, tasks.add, shared(base=5), PARTS, Clock(np.inf))
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("task", [tasks.sleep, tasks.hang])
def test_a_crew_ends_at_once_with_all_of_its_processes(task):
    with open_crew(2, None, print) as crew:
        crew._began -= 10.0
        crew.is_there()
        crew._executor.wait_until_ready()
        pids = crew._executor.pids
        errands = [crew.send(task, shared(), (60.0,), Clock(np.inf)) for _ in range(3)]
        time.sleep(0.2)
        began = time.monotonic()
    assert time.monotonic() - began < 5.0
    assert all(errand.future.done() for errand in errands)
    assert not any(_is_running(pid) for pid in pids)


def _is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_task_hears_the_end_of_its_time(workers):
    with crew_of(workers) as crew:
        errand = crew.send(tasks.sleep, shared(), (60.0,), Clock(0.3))
        assert errand.future.result(timeout=20.0) < 20.0


def test_the_run_does_not_wait_for_a_part_when_its_time_is_over(workers):
    with crew_of(workers) as crew:
        clock = Clock(0.3)
        began = time.monotonic()
        share_out(crew, tasks.sleep, shared(), [(5.0,), (5.0,), (5.0,)], clock)
        assert time.monotonic() - began < 4.0


def test_how_many_tasks_an_executor_does_at_a_time(workers):
    assert capacity(workers) == 2
    with ThreadPoolExecutor(3) as executor:
        assert capacity(executor) == 3
    assert capacity(object()) >= 1


def test_accidents_are_told_from_mistakes():
    assert is_accident(WorkerLost("gone"))
    assert is_accident(type("KilledWorker", (Exception,), {})())
    assert not is_accident(ValueError())
