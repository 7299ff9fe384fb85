"""The command line when things go wrong around it: the point is not lost to a signal, a closed pipe, a full disk or a screen without letters."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tests.cli.commands import MILP, ONE_START, run_module
from tests.frontends.hosts import qp_lp
from tests.frontends.problems import make_network

import dcembed
from dcembed.cli import main
from dcembed.errors import InputError
from dcembed.saving import archive


def saved_objective(path):
    return json.loads(path.read_text())["objective"]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_had_enough_is_no_mistake(folder, monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    process = run_module("info", "net.npz", cwd=folder)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=200) != 2
    process.stderr.close()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_return_the_best_point(folder, number):
    """A network that takes long: the run is interrupted after its first feasible point."""
    dcembed.save_network(make_network(6, (200, 200, 200), 1), folder / "big.npz")
    (folder / "big.lp").write_text(
        "Minimize\n obj: y\nSubject To\n c: x0 + x1 >= -50\nBounds\n"
        + "".join(f" -20 <= x{i} <= 20\n" for i in range(6))
        + " y free\nEnd\n"
    )
    process = run_module("solve", "big.lp", "--network", "big.npz", "--inputs", "x*", "--outputs", "y", "--solution", "a.json", cwd=folder)
    seen = ""
    deadline = time.monotonic() + 200
    while " host\n" not in seen and time.monotonic() < deadline:
        seen += process.stdout.readline()
    process.send_signal(number)
    _, err = process.communicate(timeout=200)
    assert "Traceback" not in err
    assert process.returncode == 0
    record = json.loads((folder / "a.json").read_text())
    assert record["is_feasible"]
    assert record["status"] == "INTERRUPTED"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_closed_pipe_leaves_the_solution(folder):
    process = run_module(*ONE_START, "--solution", "a.json", cwd=folder)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=200) == 0
    process.stderr.close()
    assert saved_objective(folder / "a.json") == pytest.approx(0.309118977, abs=1e-3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("redirection", [">&-", ">&- 2>&-", ">/dev/full"])
def test_a_screen_that_is_gone_leaves_the_solution(folder, redirection):
    command = (
        f'"$0" -m dcembed solve qp.lp --network net.npz --inputs "x*" --outputs "y*" --option max_starts=1 --solution a.json {redirection}'
    )
    done = subprocess.run(["sh", "-c", command, sys.executable], cwd=folder, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stderr) == (0, "")
    assert saved_objective(folder / "a.json") == pytest.approx(0.309118977, abs=1e-3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_named_and_the_point_is_put_elsewhere(folder, monkeypatch, capsys):
    (folder / "elsewhere").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "elsewhere"))
    (folder / "a.json").symlink_to("/dev/full")
    assert main([*ONE_START, "--quiet", "--solution", "a.json"]) == 2
    said = capsys.readouterr().err
    rescued = next((folder / "elsewhere").rglob("solution.json"))
    assert said == f"dcembed: a.json cannot be written: No space left on device. The point is in {rescued} instead.\n"
    assert saved_objective(rescued) == pytest.approx(0.309118977, abs=1e-3)


def test_a_solution_is_whole_or_as_it_was(folder, monkeypatch, capsys):
    (folder / "a.json").write_text("what was there")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main([*ONE_START, "--quiet", "--solution", "a.json"]) == 2
    assert capsys.readouterr().err == "dcembed: a.json cannot be written: No space left on device.\n"
    assert (folder / "a.json").read_text() == "what was there"
    assert not list(folder.glob(".dcembed*"))


def test_a_run_that_fails_with_a_result_leaves_the_solution(folder, monkeypatch):
    from dcembed.engine import solve as module

    solve = module.solve_for

    def fail(*arguments):
        error = RuntimeError("a mistake of our own")
        error.result = solve(*arguments)
        raise error

    monkeypatch.setattr(module, "solve_for", fail)
    with pytest.raises(RuntimeError, match="a mistake of our own"):
        main([*ONE_START, "--quiet", "--solution", "a.json"])
    assert saved_objective(folder / "a.json") == pytest.approx(0.309118977, abs=1e-3)


def test_a_result_that_cannot_be_written_is_put_elsewhere(folder, monkeypatch, capsys):
    def full(path, write):
        if Path(path).parent == Path():
            raise InputError(f"{path} cannot be written: No space left on device.")
        real(path, write)

    real = archive.write_whole
    monkeypatch.setattr(archive, "write_whole", full)
    assert main([*MILP, "--quiet", "--save", "run.npz", "--option", "max_starts=1"]) == 2
    said = capsys.readouterr().err
    assert "run.npz cannot be written: No space left on device. The point is in " in said
    assert dcembed.load_result(said.split("The point is in ")[1].split(" instead.")[0]).is_feasible


@pytest.mark.skipif(sys.platform == "win32", reason="locales")
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_names_that_the_screen_has_no_letters_for(folder, monkeypatch, encoding):
    (folder / "a.lp").write_bytes(qp_lp().replace("x0", "größe").encode(encoding))
    for name, value in {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}.items():
        monkeypatch.setenv(name, value)
    columns = ["größe".encode(), "x1", "x2", "x3", *ONE_START[-2:]]
    process = run_module(
        "solve", "a.lp", "--network", "net.npz", "--inputs", *columns, "--outputs", "y*", "--solution", "a.sol", cwd=folder
    )
    out, err = process.communicate(timeout=200)
    assert (process.returncode, err) == (0, "")
    assert "y0 = f(gr\\xf6\\xdfe, x1)" in out
    assert "\ngröße 0.37" in (folder / "a.sol").read_text(encoding="utf-8")
