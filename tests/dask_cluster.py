"""A real Dask cluster on this machine; tests that import it are skipped where Dask is not installed."""

from __future__ import annotations

from contextlib import contextmanager

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
