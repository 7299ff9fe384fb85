"""Runs with others: the same answers, and nothing is lost or left behind whatever happens to them."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import crew_tasks
import dcembed
from block_problems import block_case
from dcembed import Options, Status, Workers
from dcembed.crew import crew as crews
from dcembed.engine.search.orders import is_hopeless
from problems import binary_problem, indicator_problem, level_problem, quiet, random_mlp

# How often each accident happens: `DCEMBED_REPETITIONS=20` for more.
REPETITIONS = int(os.environ.get("DCEMBED_REPETITIONS", "4"))


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Others are called at once, however short the run is."""
    monkeypatch.setattr(crews, "CALL_SECONDS", 0.0)


@pytest.fixture(scope="module")
def workers():
    with Workers(2) as workers:
        workers.wait_until_ready()
        yield workers


def margin(seed: int = 0, width: int = 16):
    """A box of ten inputs with many local optima: each start takes a few hundredths of a second."""
    network = random_mlp(seed, (10, width, 1))
    program = dcembed.Program(cost=[*np.zeros(10), 1.0], lb=[*-3.0 * np.ones(10), -np.inf], ub=[*3.0 * np.ones(10), np.inf])
    return program, dcembed.Embedding(network, [[*range(10)]], [[10]])


def check(program, embedding, result):
    """What is reported is true."""
    measured = dcembed.verify(program, [embedding], result.x)
    assert result.is_feasible
    assert measured.violation <= result.feasibility_tol
    assert measured.objective == result.objective


@pytest.mark.parametrize("make", [margin, level_problem, binary_problem, indicator_problem])
def test_one_pass_has_the_same_answer_for_any_number_of_workers(make, workers):
    program, embedding = make(1)
    results = [
        dcembed.solve(program, embedding, options=quiet(search="converge", max_starts=5, **others))
        for others in ({}, {"executor": workers}, {"workers": 3})
    ]
    assert len({result.objective for result in results}) == 1
    assert len({result.x.tobytes() for result in results}) == 1
    assert len({result.num_starts for result in results}) == 1
    assert len({len(result.history) for result in results}) == 1


@pytest.mark.parametrize("search", ["patient", "converge"])
def test_blocks_have_the_same_answer_with_workers(search, workers, monkeypatch):
    monkeypatch.setattr("dcembed.engine.columns.walks.PART_BLOCKS", 4)
    case = block_case(2, num_items=12)
    options = {"search": search, "max_starts": 3}
    alone, others = (dcembed.solve(case.program, case.embeddings, options=quiet(**options, **more)) for more in ({}, {"executor": workers}))
    if search == "converge":
        assert alone.objective == others.objective
    assert others.is_feasible


def test_a_proof_with_workers_is_that_without(workers, monkeypatch):
    monkeypatch.setattr("dcembed.bounds.box_parts.PART_COST", 1e4)
    program, embedding = margin(3, width=12)
    options = {"search": "converge", "max_starts": 2, "prove": True, "time_limit": 60.0}
    alone, others = (dcembed.solve(program, embedding, options=quiet(**options, **more)) for more in ({}, {"executor": workers}))
    assert alone.status is others.status is Status.OPTIMAL
    assert alone.bound == others.bound


def test_the_same_seed_and_number_of_workers_have_the_same_trace(workers):
    program, embedding = margin(5)
    runs = [dcembed.solve(program, embedding, options=quiet(executor=workers, max_starts=12)) for _ in range(3)]
    assert len({tuple((step.start, step.number, step.objective) for step in run.history) for run in runs}) == 1


def test_starts_are_made_elsewhere_and_told_of_here(workers):
    program, embedding = margin(2)
    seen = []
    result = dcembed.solve(
        program, embedding, options=quiet(executor=workers, max_starts=8, callback=lambda step: seen.append(step) and None)
    )
    check(program, embedding, result)
    assert {step.start for step in result.history} <= set(range(result.num_starts))
    assert result.num_starts >= 3
    assert [step.start for step in seen] == [step.start for step in result.history]
    assert sum(step.is_incumbent for step in result.history) >= 1
    assert result.incumbents == sorted(result.incumbents)


def test_a_callback_ends_a_run_with_workers(workers):
    program, embedding = margin(2)
    result = dcembed.solve(
        program,
        embedding,
        options=quiet(executor=workers, search="until-limit", max_starts=None, time_limit=60.0, callback=lambda step: step.start >= 2),
    )
    assert result.status is Status.INTERRUPTED
    assert result.seconds < 30.0
    check(program, embedding, result)


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


def test_a_network_that_cannot_be_sent_is_solved_here(workers):
    from dcembed.network.activations import numerical

    shape = numerical.activation_from("bump", lambda x: np.tanh(x) + 0.1 * x, lambda x: 1.1 - np.tanh(x) ** 2)
    network = dcembed.build_mlp([np.ones((3, 1)), [[1.0, -2.0, 1.0]]], [[0.0, 1.0, 2.0], None], activation=shape)
    program = dcembed.Program(cost=[0.0, 1.0], lb=[-3.0, -9.0], ub=[3.0, 9.0])
    result = dcembed.solve(program, dcembed.Embedding(network, [0], [1]), options=quiet(executor=workers, max_starts=4))
    assert result.is_feasible
    assert any("stays in this process" in note for note in result.notes)


def test_a_start_without_hope_is_left():
    falling = [10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0]
    assert not is_hopeless(falling, best=-5.0, num_left=20)
    assert is_hopeless(falling, best=-50.0, num_left=20)
    assert is_hopeless([4.0] * 8, best=3.9, num_left=1000)
    assert not is_hopeless([4.0] * 8, best=4.1, num_left=1)
    assert not is_hopeless([np.inf] * 8, best=0.0, num_left=1)
    assert not is_hopeless([4.0], best=0.0, num_left=1)


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 1.5}, {"workers": True}, {"executor": 3}, {"workers": 10**6}])
def test_wrong_settings_are_refused(options):
    with pytest.raises(dcembed.DcembedError, match="is not accepted"):
        Options(**options)
