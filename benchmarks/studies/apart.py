"""A case in the dcembed of a checkout, in a process of one thread: how `against.py` and `race.py` run everything they compare."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import THREAD_VARIABLES

HERE = Path(__file__).resolve().parents[2]
RUNNER = Path(__file__).resolve().parent / "case_runner.py"
# Beyond the time limit: imports, reading the case, the last subproblem.
GRACE_SECONDS = 120.0


class RunError(RuntimeError):
    """A run that brought nothing; the message says why, in one line."""


def check_checkout(path: Path) -> Path:
    """The folder of a checkout; ValueError if it is none."""
    if not (path / "src" / "dcembed" / "__init__.py").is_file():
        raise ValueError(f"--against needs a checkout of this repository, with src/dcembed in it; received {path}")
    return path.resolve()


def run_checkout(checkout: Path, folder: Path, answer: Path, time_limit: float) -> dict[str, Any]:
    """Solve the case that lies in a folder; returns what the runner measured, its arrays are beside `answer`."""
    for suffix in (".json", ".npy", ".npz"):
        answer.with_suffix(suffix).unlink(missing_ok=True)
    paths = os.pathsep.join([str(checkout / "src"), str(checkout)])
    environment = {**os.environ, "PYTHONPATH": paths, **dict.fromkeys(THREAD_VARIABLES, "1")}
    # Without -P the folder of the runner would come before the checkout.
    command = [sys.executable, "-P", str(RUNNER), str(folder), str(answer)]
    try:
        subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True, timeout=time_limit + GRACE_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise RunError(f"still running after {error.timeout:.0f} s") from None
    except subprocess.CalledProcessError as error:
        raise RunError(error.stderr.strip().rpartition("\n")[2] or f"the process ended with exit code {error.returncode}") from None
    measured: dict[str, Any] = json.loads(answer.with_suffix(".json").read_text())
    if not Path(measured["package"]).resolve().is_relative_to(checkout):
        raise RunError(f"the process imported dcembed from {measured['package']}, not from the checkout")
    return measured
