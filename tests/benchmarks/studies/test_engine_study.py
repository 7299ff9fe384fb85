"""The study of the engine books time to code that is there."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.harness.fingerprint import BENCHMARKS, PACKAGE
from benchmarks.studies.engine import PRODUCTS, SOLVER_CALLS


def test_the_files_and_functions_that_time_is_booked_to_exist():
    files = list(PACKAGE.rglob("*.py"))
    assert all(any(file.as_posix().endswith(name) for file in files) for name in PRODUCTS)
    text = "\n".join(file.read_text() for file in (PACKAGE / "solvers").glob("*.py"))
    assert all(f"def {name}(" in text for name in SOLVER_CALLS)


def test_the_short_name_starts_the_study():
    command = [sys.executable, "-m", "benchmarks.engine", "--help"]
    run = subprocess.run(command, cwd=BENCHMARKS.parent, capture_output=True, text=True, check=True, timeout=200)
    assert "--against PATH" in run.stdout
