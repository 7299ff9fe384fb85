"""Every example runs and ends with a feasible point."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if not path.name.startswith("train_"))
# A controller has no time for proofs.
WITHOUT_BOUND = ("mpc",)


def assert_it_ends_well(printed, num_runs=1):
    """With a feasible point and a bound; how near they are depends on the machine, where time limits end a proof."""
    assert "NOT feasible" not in printed
    assert len(re.findall(r"^Status +(?:OPTIMAL|LOCALLY_SOLVED|TIME_LIMIT)$", printed, re.MULTILINE)) == num_runs
    assert len(re.findall(r"^Bound +\S+, gap ", printed, re.MULTILINE)) == num_runs


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_ends_feasible(path):
    run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=550, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    if path.stem in WITHOUT_BOUND:
        assert re.search(r"^Status +LOCALLY_SOLVED$", run.stdout, re.MULTILINE)
    else:
        assert_it_ends_well(run.stdout)
    for picture in re.findall(r"Picture: (\S+)", run.stdout):
        assert (ROOT / picture).stat().st_size > 20_000


def test_the_example_of_the_command_line():
    folder = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]}
    run = subprocess.run(["sh", "examples/command_line.sh"], capture_output=True, text=True, timeout=550, cwd=ROOT, env=environment)
    assert run.returncode == 0, run.stderr
    assert_it_ends_well(run.stdout, num_runs=2)
    written = json.loads((ROOT / "out" / "reactor.json").read_text())
    assert 1.0 < written["objective"] <= written["bound"]
    assert (ROOT / "out" / "reactor_run.png").stat().st_size > 20_000
    assert "margin2 " in (ROOT / "out" / "two_reactors.sol").read_text()


def test_the_reactor_is_run_within_its_limits():
    sys.path.insert(0, str(ROOT / "examples"))
    import reactor

    result = reactor.main()
    assert result.is_feasible
    assert result.x[reactor.IMPURITY] <= reactor.MAX_IMPURITY + 1e-5
    assert result.x[reactor.CHARGES] == round(result.x[reactor.CHARGES])
    assert result.objective > 1.0
