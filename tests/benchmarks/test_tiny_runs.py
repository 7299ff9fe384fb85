"""Every method once on a tiny instance of each experiment, some in processes of their own, and the report on these records."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from rich.console import Console

from benchmarks.__main__ import main
from benchmarks.harness.job import Job, perform, to_record
from benchmarks.harness.process import Line, Report, peak_memory
from benchmarks.harness.records import FAILURES, Record, append_record, read_records
from benchmarks.harness.sweep import run_sweep
from benchmarks.methods.method import why_not
from benchmarks.methods.table import METHODS
from benchmarks.problems import trained
from benchmarks.problems.experiments import experiment_of
from dcembed.engine.search import patience

# Experiment and size; the QP has two blocks and a network made here.
TINY = {"qp": "8x3x2", "water": "3", "pooling": "2", "boxes": "25"}
# What is committed, or made here.
OWN = ("qp", "boxes")
LIMIT = 0.4
BEST = {"qp": -0.179125, "water": -3.0, "pooling": -382.6734, "boxes": -0.431661}
INSTALLED = [name for name, method in METHODS.items() if method.missing_package() is None]
PAIRS = [(family, name) for family, size in TINY.items() for name in METHODS if why_not(METHODS[name], experiment_of(family, size)) is None]


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """A folder with a small network of the QP."""
    folder = tmp_path_factory.mktemp("networks")
    rng = np.random.default_rng(1)
    sizes = [5, 8, 8, 8, 1]
    weights = {f"W{i}": rng.normal(0, 1.2 / np.sqrt(a), (b, a)) for i, (a, b) in enumerate(itertools.pairwise(sizes), 1)}
    biases = {f"b{i}": np.full(size, 0.05) for i, size in enumerate(sizes[1:], 1)}
    np.savez(folder / "qp_8x3_0.npz", **weights, **{**biases, "b4": np.array([-0.3])})
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory, networks):
    """The folder with the records of all runs."""
    from benchmarks.problems.data import find_data_folder

    families = list(TINY) if find_data_folder() is not None else OWN
    folder = tmp_path_factory.mktemp("results")
    jobs = [Job(family, TINY[family], 0, name, LIMIT) for family, name in PAIRS if family in families and name in INSTALLED]
    # One process for all methods that need the same packages: most of what it does is to import.
    apart = list({METHODS[job.method].packages: job for job in reversed(jobs)}.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(trained.NETWORKS_VARIABLE, str(networks))
        made = run_sweep(apart, folder / "records.csv", "python -m benchmarks run", Console(quiet=True), at_once=2, preparation_limit=100.0)
        for job in jobs:
            if job not in apart:
                append_record(folder / "records.csv", run_here(job))
        # The processes of the runs have found the same code and data.
        assert run_sweep(jobs, folder / "records.csv", "", Console(quiet=True), retry_failed=False) == 0
    assert made == len(apart)
    return folder


def run_here(job: Job) -> Record:
    """The record of a run in this process."""
    began = time.monotonic()
    answer = perform(job, Line())
    return to_record(job, Report(answer, None, "", peak_memory(), time.monotonic() - began))


@pytest.mark.parametrize(("family", "name"), PAIRS)
def test_every_method_runs_on_every_experiment_it_applies_to(results, family, name):
    if name not in INSTALLED:
        pytest.skip(f"{METHODS[name].missing_package()} is not installed")
    record = next((r for r in read_records(results / "records.csv") if (r.experiment, r.method) == (family, name)), None)
    if record is None:
        pytest.skip("the data of the experiments is not here: set DCEMBED_DATA to its folder")
    assert record.status not in FAILURES, record.note
    assert record.num_rejected == 0
    assert record.memory > 20
    assert record.start_objective is not None
    if record.optimum is not None and record.objective is not None:
        assert record.objective >= record.optimum - 1e-6


@pytest.mark.parametrize("family", TINY)
def test_dcembed_finds_the_best_known_points(networks, monkeypatch, family, request):
    if family not in OWN:
        request.getfixturevalue("data_folder")
    monkeypatch.setenv(trained.NETWORKS_VARIABLE, str(networks))
    monkeypatch.setattr(patience, "MAX_FRUITLESS_WORK", 0)
    # It ends by itself: whether it has found them is no matter of time.
    record = run_here(Job(family, TINY[family], 0, "dcembed", 200.0))
    assert record.objective == pytest.approx(BEST[family], rel=1e-4)


def test_the_report_has_every_method_and_all_pictures(results):
    assert main(["report", "--records", str(results / "records.csv")]) == 0
    text = (results / "report.md").read_text()
    assert all(METHODS[record.method].label in text for record in read_records(results / "records.csv"))
    # No folder of this machine is told.
    assert str(results) not in text
    for name in ("npi.png", "trajectories.png"):
        assert f"]({name})" in text
        assert (results / name).stat().st_size > 10_000
