"""The best point is on disk while a run goes on, whatever ends it; and what was there before is not lost for nothing."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import dcembed
from dcembed import Status
from dcembed.errors import InputError
from dcembed.run import checkpoint as module
from dcembed.saving.archive import latest_beside
from problems import binary_problem, box_problem, level_problem, quiet, random_mlp

ROOT = Path(__file__).resolve().parent.parent.parent

# It imports once, and lets a child of its own run and be killed after so many seconds, again and again.
VICTIM = """
import os, signal, sys, time
sys.path[:0] = [{root!r}, {tests!r}]
import dcembed
from problems import binary_problem
program, embedding = binary_problem(3, 14)
for line in sys.stdin:
    seed, seconds = line.split()
    child = os.fork()
    if child == 0:
        options = dcembed.Options(checkpoint={path!r}, search="until-limit", time_limit=60.0, verbose=False, seed=int(seed))
        dcembed.solve(program, embedding, options=options)
        os._exit(0)
    time.sleep(float(seconds))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("killed", flush=True)
"""


@pytest.fixture
def kill(tmp_path):
    """Runs with a checkpoint, each in a process of its own that is killed outright after so many seconds."""
    code = VICTIM.format(root=str(ROOT), tests=str(ROOT / "tests"), path=str(tmp_path / "run.npz"))
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def run(seed: int, seconds: float) -> None:
            print(seed, seconds, file=process.stdin, flush=True)
            assert process.stdout.readline() == "killed\n"

        yield run
        process.stdin.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no SIGKILL here")
def test_a_run_that_is_killed_leaves_a_point_that_verifies(tmp_path, kill):
    path, program_and_embedding = tmp_path / "run.npz", binary_problem(3, 14)
    rng, last, loaded = np.random.default_rng(0), np.inf, 0
    # However slow the machine is, the last one has the time for a point.
    for seed, seconds in enumerate([*rng.uniform(0.05, 0.5, 5), 2.5]):
        kill(seed, seconds)
        if not path.exists():
            continue
        result, loaded = dcembed.load_result(path), loaded + 1
        assert result.status is Status.INTERRUPTED
        measured = dcembed.verify(program_and_embedding[0], [program_and_embedding[1]], result.x)
        assert measured.objective == result.objective
        assert measured.violation == result.violation
        # The file is about the same problem every time, so that it never gets worse.
        assert last == np.inf or (result.is_feasible and result.objective <= last + 1e-9)
        last = result.objective if result.is_feasible else last
    assert loaded
    assert last < np.inf
    again = dcembed.solve(*program_and_embedding, start=dcembed.load_result(path), options=quiet(max_iterations=3))
    assert again.objective <= last


def until(holds) -> bool:
    """Wait for what another thread does; whether it was done."""
    deadline = time.monotonic() + 20.0
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


def test_the_last_improvement_gets_there_while_nothing_else_happens(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.05)
    path, bests, seen = tmp_path / "run.npz", [], []
    program, embedding = box_problem(random_mlp(4, (6, 30, 30, 1)), np.linspace(-1, 1, 6), 1.0)

    def wait(record):
        """A solver that works for long, after an improvement."""
        if np.isfinite(record.best) and record.is_incumbent:
            bests.append(record.best)
            is_there = until(lambda: path.exists() and dcembed.load_result(path).objective == pytest.approx(record.best, abs=1e-12))
            seen.append(is_there)

    dcembed.solve(program, embedding, options=quiet(checkpoint=path, callback=wait, max_iterations=8))
    assert all(seen)
    assert len(bests) > 1


def test_the_problem_is_written_once_and_a_point_is_small(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(module, "SHARE", np.inf)
    monkeypatch.setattr(module, "QUICK_SECONDS", np.inf)
    path, written = tmp_path / "run.npz", []
    real = module.write_archive
    monkeypatch.setattr(
        module, "write_archive", lambda target, packed: written.append((target.name, len(packed.arrays))) or real(target, packed)
    )
    network = random_mlp(0, (2, 100, 100, 1))
    program, embedding = box_problem(network, np.array([1.0, 0.5]), 1.0)
    sizes = []

    def look(record):
        if record.number == 5 and until(latest_beside(path).exists):
            sizes.append((path.stat().st_size, latest_beside(path).stat().st_size))

    result = dcembed.solve(program, embedding, options=quiet(checkpoint=str(path), callback=look, max_starts=2))
    assert [name for name, _ in written].count("run.npz") == 2
    assert written[0][0] == written[-1][0] == "run.npz"
    assert sizes
    assert all(small < large / 4 for large, small in sizes)
    # At the end all is one file.
    assert [item.name for item in tmp_path.iterdir()] == ["run.npz"]
    again = dcembed.load_result(path)
    assert again.status is result.status
    assert len(again.history) == len(result.history)
    assert again.incumbents == result.incumbents


def test_a_problem_that_takes_long_to_write_is_not_written_again_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUICK_SECONDS", -1.0)
    path = tmp_path / "run.npz"
    written = {"checkpoint": path, "callback": lambda record: until(path.exists) and None}
    result = dcembed.solve(*level_problem(17), options=quiet(**written))
    assert sorted(item.name for item in tmp_path.iterdir()) == ["run.npz", "run.npz.latest"]
    again = dcembed.load_result(path)
    assert (again.status, again.objective) == (result.status, result.objective)
    assert len(again.history) == len(result.history)


def test_checkpoints_change_nothing_in_a_run(tmp_path):
    plain = dcembed.solve(*level_problem(17), options=quiet(max_starts=3))
    kept = dcembed.solve(*level_problem(17), options=quiet(max_starts=3, checkpoint=tmp_path / "run.npz"))
    assert [(r.objective, r.solver_status) for r in kept.history] == [(r.objective, r.solver_status) for r in plain.history]
    assert kept.objective == plain.objective
    assert not [thread for thread in threading.enumerate() if thread.name == "dcembed-checkpoint"]


def test_every_ending_is_written(tmp_path):
    path = tmp_path / "run.npz"

    def fail(record):
        if np.isfinite(record.best):
            raise ArithmeticError("mine")

    with pytest.raises(ArithmeticError) as caught:
        dcembed.solve(*level_problem(17), options=quiet(checkpoint=path, callback=fail))
    again = dcembed.load_result(path)
    assert again.objective == caught.value.result.objective
    assert again.reason == "ArithmeticError: mine"
    from dcembed.baselines import BASELINES

    other = BASELINES["big-m"](*level_problem(17), options=quiet(checkpoint=tmp_path / "exact.npz"))
    assert dcembed.load_result(tmp_path / "exact.npz").status is other.status is Status.OPTIMAL
    assert np.isfinite(dcembed.load_result(tmp_path / "exact.npz").bound)


def test_bounds_are_kept_too(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.0)
    path, kept, finish = tmp_path / "run.npz", [], module.Checkpoint.finish
    monkeypatch.setattr(module.Checkpoint, "finish", lambda self, result: kept.append(self) or result)
    result = dcembed.solve(*level_problem(17), options=quiet(checkpoint=path, prove="auto"))
    assert np.isfinite(result.bound)
    assert until(lambda: path.exists() and dcembed.load_result(path).bound == result.bound)
    finish(kept[0], result)


def test_a_better_point_of_the_same_problem_stays(tmp_path):
    path, problem = tmp_path / "run.npz", level_problem(17)
    good = dcembed.solve(*problem, options=quiet(max_starts=4))
    good.save(path)
    before = path.read_bytes()
    worse = dcembed.solve(*problem, start=np.array([2.0, 2.0, 0.0]), options=quiet(checkpoint=path, max_iterations=0))
    assert worse.x is not None
    assert path.read_bytes() == before
    assert "keeps the better point of an earlier run" in worse.notes[-1]
    resumed = dcembed.solve(*problem, start=dcembed.load_result(path), options=quiet(checkpoint=path, max_iterations=1))
    assert path.read_bytes() != before
    assert dcembed.load_result(path).objective == resumed.objective <= good.objective


def test_a_file_about_another_problem_stays_until_there_is_a_feasible_point(tmp_path):
    path = tmp_path / "run.npz"
    dcembed.solve(*binary_problem(0), options=quiet(max_iterations=1)).save(path)
    before = path.read_bytes()
    nothing = dcembed.solve(*level_problem(17), options=quiet(checkpoint=path, time_limit=0.0))
    assert not nothing.is_feasible
    assert path.read_bytes() == before
    assert nothing.notes[-1] == f"{path} keeps a result about another problem, since this run has no feasible point."
    result = dcembed.solve(*level_problem(17), options=quiet(checkpoint=path))
    assert dcembed.load_result(path).objective == result.objective


def test_what_lies_beside_is_read_only_if_it_is_about_the_same_problem(tmp_path):
    path = tmp_path / "run.npz"
    result = dcembed.solve(*level_problem(17), options=quiet(max_starts=3))
    early = dcembed.solve(*level_problem(17), options=quiet(max_iterations=0, max_starts=1))
    early.save(path)
    result.save(tmp_path / "other.npz")
    shutil.copy(tmp_path / "other.npz", latest_beside(path))
    assert dcembed.load_result(path).objective == result.objective
    # A bound that is in one of the two holds for both.
    dataclasses.replace(early, bound=-50.0, bounds=[(0.1, -50.0)]).save(path)
    assert dcembed.load_result(path).bound == -50.0
    dcembed.solve(*binary_problem(0), options=quiet(max_iterations=1)).save(tmp_path / "other.npz")
    shutil.copy(tmp_path / "other.npz", latest_beside(path))
    assert dcembed.load_result(path).violation == early.violation
    latest_beside(path).write_bytes(b"PK\x03\x04 cut")
    assert dcembed.load_result(path).violation == early.violation


def test_a_file_of_something_else_is_not_touched(tmp_path):
    path = tmp_path / "run.npz"
    dcembed.save_network(random_mlp(0, (2, 3, 1)), path)
    before = path.read_bytes()
    with pytest.raises(
        InputError, match=r"run.npz' is not accepted: what is there stays as it is. Give another path. .*is not a result that dcembed saved"
    ):
        dcembed.solve(*level_problem(17), options=quiet(checkpoint=path))
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="there is no folder"):
        dcembed.solve(*level_problem(17), options=quiet(checkpoint=tmp_path / "missing" / "run.npz"))


def test_a_disk_that_is_full_costs_a_note(tmp_path, monkeypatch):
    def full(target, packed):
        raise InputError(f"{target} cannot be written: No space left on device.")

    monkeypatch.setattr(module, "write_archive", full)
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.0)
    result = dcembed.solve(*level_problem(17), options=quiet(checkpoint=tmp_path / "run.npz"))
    assert result.is_feasible
    assert result.status is Status.LOCALLY_SOLVED
    assert any("The checkpoint is not written: " in note and "No space left on device. The run goes on." in note for note in result.notes)


def test_a_folder_that_vanishes_costs_a_note_and_one_that_comes_back_gets_the_point(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.0)
    folder = tmp_path / "gone"
    folder.mkdir()

    def drop(record):
        shutil.rmtree(folder, ignore_errors=True)

    result = dcembed.solve(*level_problem(17), options=quiet(checkpoint=folder / "run.npz", callback=drop))
    assert result.is_feasible
    assert any("The checkpoint is not written" in note for note in result.notes)

    def come_back(record):
        if record.number == 1:
            shutil.rmtree(folder, ignore_errors=True)
        elif record.number > 3:
            folder.mkdir(exist_ok=True)

    folder.mkdir()
    result = dcembed.solve(*level_problem(17), options=quiet(checkpoint=folder / "run.npz", callback=come_back))
    assert dcembed.load_result(folder / "run.npz").objective == result.objective
