"""A real Dask cluster on this machine; tests that import it are skipped where Dask is not installed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")


@contextmanager
def connected():
    """Two processes with a thread each, on this machine alone."""
    settings = {
        "threads_per_worker": 1,
        "processes": True,
        "host": "127.0.0.1",
        "dashboard_address": None,
        "silence_logs": 50,
        "memory_limit": 0,
    }
    with distributed.LocalCluster(n_workers=2, **settings) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@contextmanager
def replaced_when_broken() -> Iterator[Callable[[], tuple[object, list[int]]]]:
    """Gives a function that gives a client with the numbers of its two processes.

    Dask's nanny does not always come back with a process that was killed while it began; there is another cluster then.
    """
    with ExitStack() as opened:
        clients = [opened.enter_context(connected())]

        def current() -> tuple[object, list[int]]:
            numbers = process_numbers(clients[-1])
            if numbers is None:
                opened.close()
                clients.append(opened.enter_context(connected()))
                numbers = process_numbers(clients[-1])
            assert numbers is not None
            return clients[-1], numbers

        yield current


def process_numbers(client, seconds: float = 20.0) -> list[int] | None:
    """Of both workers, None where they are not there in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            client.wait_for_workers(2, timeout=seconds)
            numbers = sorted(client.run(os.getpid).values())
        except OSError:
            # One that was killed is not yet known to be gone, or is not back.
            continue
        if len(numbers) == 2:
            return numbers
    return None
