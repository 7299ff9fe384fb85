"""Shared settings and fixtures."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

# Tests run side by side, one to a core: numerical libraries with threads of their own would only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
os.environ.setdefault("KERAS_BACKEND", "torch")

settings.register_profile("default", max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")


@pytest.fixture
def data_folder() -> Path:
    """The folder with the data of the experiments; tests that need it are skipped elsewhere."""
    from benchmarks.problems.data import find_data_folder

    folder = find_data_folder()
    if folder is None:
        pytest.skip("the data of the experiments is not here: set DCEMBED_DATA to its folder")
    return folder


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """What draws without a seed of its own, as fresh layers of PyTorch and Keras do, draws the same in every run."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _little_patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run ends after a few fruitless starts; tests of what twenty of them bring are marked `patient`."""
    if request.node.get_closest_marker("patient") is None:
        monkeypatch.setattr("dcembed.engine.search.patience.MAX_FRUITLESS_STARTS", 2)


@pytest.fixture
def called_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are called at once, however short the run is."""
    monkeypatch.setattr("dcembed.crew.crew.CALL_SECONDS", 0.0)


@pytest.fixture(scope="module")
def workers():
    """Two processes, which are there."""
    from dcembed import Workers

    with Workers(2) as workers:
        workers.wait_until_ready()
        yield workers


@pytest.fixture
def certifies(monkeypatch: pytest.MonkeyPatch):
    """Has every run certify, at its end, a bound that lies so far below its best point, all being minimized; inf proves infeasibility.

    That is all that is proved then.
    """
    from dcembed.engine import solve
    from dcembed.run.journal import Journal

    ended = Journal.result

    def certify(below: float) -> None:
        def result(self: Journal, *arguments, **more):
            best = self.incumbent.point
            self.certify(np.inf if below == np.inf else best.objective - below)
            return ended(self, *arguments, **more)

        monkeypatch.setattr(Journal, "result", result)
        for name in ("attempt", "certify"):
            monkeypatch.setattr(solve, name, lambda *arguments: None)

    return certify
