"""A real Dask cluster of two processes on this machine: the same answers, also when one of them is killed in the middle."""

from __future__ import annotations

import os
import random
import signal
import threading
import warnings

import numpy as np
import pytest

import dcembed
from benchmarks.problems.instance import Instance
from benchmarks.problems.water import treatment_instance
from dask_cluster import connected, replaced_when_broken
from problems import quiet, random_mlp
from repetitions import repetitions

# How often a worker is killed: `DCEMBED_REPETITIONS=20` for more.
REPETITIONS = repetitions(1)


@pytest.fixture(scope="module")
def client():
    with connected() as client:
        yield client


@pytest.fixture(autouse=True)
def at_once(called_at_once):
    """Others are called at once; large tasks are nothing to be warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def water(num_samples: int = 12) -> Instance:
    """The water treatment problem on samples that are made here."""
    rng = np.random.default_rng(0)
    network = random_mlp(4, (9, 8, 1))
    samples = rng.normal(size=(400, 9))
    samples = samples[network(samples)[:, 0] < 0.0][:num_samples]
    return treatment_instance(network, samples, np.full(18, 2.0), "water")


def margin():
    """A box of ten inputs with many local optima."""
    network = random_mlp(1, (10, 24, 1))
    program = dcembed.Program(cost=[*np.zeros(10), 1.0], lb=[*-3.0 * np.ones(10), -np.inf], ub=[*3.0 * np.ones(10), np.inf])
    return program, dcembed.Embedding(network, [[*range(10)]], [[10]])


def check(program, embeddings, result):
    measured = dcembed.verify(program, embeddings, result.x)
    assert result.is_feasible
    assert measured.violation <= result.feasibility_tol
    assert measured.objective == result.objective


def test_starts_and_blocks_are_worked_on_by_the_cluster(client, monkeypatch):
    monkeypatch.setattr("dcembed.engine.columns.walks.PART_BLOCKS", 4)
    instance, (program, embedding) = water(), margin()
    for host, embeddings in ((instance.program, list(instance.embeddings)), (program, [embedding])):
        options = {"search": "converge", "max_starts": 2 if host is instance.program else 4}
        alone = dcembed.solve(host, embeddings, options=quiet(**options))
        result = dcembed.solve(host, embeddings, options=quiet(**options, executor=client.get_executor(pure=False)))
        check(host, embeddings, result)
        assert result.objective == alone.objective
    assert sum(client.run(_num_kept).values()) >= 2


def _num_kept():
    from dcembed.crew.task import _kept

    return len(_kept)


@pytest.fixture(scope="module")
def cluster():
    with replaced_when_broken() as current:
        yield current


@pytest.mark.parametrize("number", range(2 * REPETITIONS))
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(number, cluster, monkeypatch):
    """It is begun again by its nanny, and is back for the next time."""
    monkeypatch.setattr("dcembed.engine.columns.walks.PART_BLOCKS", 4)
    instance, (program, embedding) = water(), margin()
    host, embeddings = ((instance.program, list(instance.embeddings)), (program, [embedding]))[number % 2]
    client, pids = cluster()
    killer = threading.Timer(0.05 + 0.4 * random.Random(number).random(), os.kill, [pids[number // 2 % 2], signal.SIGKILL])
    killer.start()
    result = dcembed.solve(host, embeddings, options=quiet(max_starts=4, time_limit=60.0, executor=client.get_executor(pure=False)))
    killer.join()
    check(host, embeddings, result)
    assert result.seconds < 60.0


def test_a_time_limit_holds_on_a_cluster(client):
    program, embedding = margin()
    result = dcembed.solve(
        program, embedding, options=quiet(max_starts=None, search="until-limit", time_limit=2.0, executor=client.get_executor(pure=False))
    )
    assert result.status is dcembed.Status.TIME_LIMIT
    assert result.seconds < 20.0
    check(program, [embedding], result)
