"""Requests to stop: by Ctrl-C, by `stop`, by an event; from callbacks, other threads, and inside one another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program, Status
from dcembed.run.clock import Clock, hear_interrupts, stop
from dcembed.solvers import BACKENDS, SessionOptions, is_installed
from dcembed.solvers.base import SolveStatus
from problems import quiet, random_mlp
from solvers.problems import market_split

ENDLESS = market_split(num_rows=6, num_columns=60)


def problem() -> tuple[Program, Embedding]:
    program = Program(cost=[0.1, 0.2, 1.0], lb=[-1.0, -1.0, -np.inf], ub=[1.0, 1.0, np.inf])
    return program, Embedding(random_mlp(0, (2, 8, 1)), [0, 1], [2])


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def after(seconds: float, do) -> None:
    timer = threading.Timer(seconds, do)
    timer.daemon = True
    timer.start()


@pytest.mark.parametrize("name", [name for name, backend in BACKENDS.items() if "MILP" in backend.classes])
@pytest.mark.parametrize("how", [interrupt, stop, None])
def test_a_request_to_stop_is_heard_while_a_solver_works(name, how):
    if not is_installed(BACKENDS[name]):
        pytest.skip(f"{name} is not installed")
    event = threading.Event()
    clock = Clock(100.0, event)
    session = BACKENDS[name].open(ENDLESS, SessionOptions())
    with hear_interrupts(clock):
        after(0.2, how or event.set)
        solution = session.solve(clock.limits())
    session.close()
    assert clock.is_stopped
    assert clock.seconds < 100.0
    assert solution.status in (SolveStatus.FEASIBLE, SolveStatus.INTERRUPTED)


@pytest.mark.parametrize("how", [interrupt, stop, None])
def test_a_run_that_is_stopped_says_so_and_keeps_its_point(how):
    event = threading.Event()
    options = quiet(search="until-limit", time_limit=100.0, stop=event, callback=lambda record: (how or event.set)())
    result = dcembed.solve(*problem(), options=options)
    assert result.status is Status.INTERRUPTED
    assert result.is_feasible
    assert len(result.history) == 1


def test_a_run_in_another_thread_is_stopped_from_here():
    began, stopped, results = threading.Event(), threading.Event(), []

    def callback(record: dcembed.Iteration) -> None:
        began.set()
        stopped.wait(100.0)

    options = quiet(search="until-limit", time_limit=60.0, callback=callback)
    thread = threading.Thread(target=lambda: results.append(dcembed.solve(*problem(), options=options)))
    thread.start()
    assert began.wait(100.0)
    stop()
    stopped.set()
    thread.join(100.0)
    assert results[0].status is Status.INTERRUPTED


def test_a_run_inside_another_ends_with_it_at_ctrl_c():
    inner = []

    def callback(record: dcembed.Iteration) -> None:
        if not inner:
            options = quiet(search="until-limit", time_limit=100.0, callback=lambda record: interrupt())
            inner.append(dcembed.solve(*problem(), options=options))

    before = signal.getsignal(signal.SIGINT)
    outer = dcembed.solve(*problem(), options=quiet(search="until-limit", time_limit=100.0, callback=callback))
    assert inner[0].status is outer.status is Status.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_inside_another_leaves_it_as_it_is():
    plain = dcembed.solve(*problem(), options=quiet(max_starts=2))
    nested = dcembed.solve(
        *problem(),
        options=quiet(max_starts=2, callback=lambda record: bool(dcembed.solve(*problem(), options=quiet(max_starts=1)).x is None)),
    )
    assert [record.objective for record in nested.history] == [record.objective for record in plain.history]


def test_an_event_that_is_set_before_ends_the_run_at_once():
    event = threading.Event()
    event.set()
    assert dcembed.solve(*problem(), options=quiet(stop=event)).status is Status.INTERRUPTED


def test_the_end_of_python_waits_for_a_run_in_a_daemon_thread():
    code = (
        "import sys, threading, time, dcembed; from dcembed.run import clock; from run.test_clock import ENDLESS\n"
        "from dcembed import Embedding, build_mlp\n"
        "net = build_mlp([[[1.0]], [[1.0]]], [[0.0], [0.0]])\n"
        "program = dcembed.Program(ENDLESS.cost, rows=ENDLESS.rows, row_lb=ENDLESS.row_lb, row_ub=ENDLESS.row_ub, lb=ENDLESS.lb,\n"
        "    ub=ENDLESS.ub, integer=ENDLESS.integer)\n"
        "run = lambda: dcembed.solve(program, Embedding(net, [0], [60]), options=dcembed.Options(verbose=False))\n"
        "threading.Thread(target=run, daemon=True).start()\n"
        "while not clock._running: time.sleep(0.01)\n"
        "time.sleep(1.0)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("name", ["highs", "scip"])
def test_a_forked_process_solves_too(name):
    if not is_installed(BACKENDS[name]):
        pytest.skip(f"{name} is not installed")
    run = partial(dcembed.solve, *problem(), options=quiet(max_starts=1, solver=name))
    before, child = run(), os.fork()
    if child == 0:
        os._exit(0 if run().status is before.status else 1)
    deadline = time.monotonic() + 100.0
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)
