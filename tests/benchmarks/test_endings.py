"""A sweep that is ended ends what it began, however it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
RUN = ["run", "qp-depth", "--sizes", "64x12", "--trials", "0", "--methods", "dcembed", "--time-limit", "600"]


def descendants(process: psutil.Process) -> list[psutil.Process]:
    return [child for child in process.children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE]


def leads_a_group(child: psutil.Process) -> bool:
    try:
        return os.getsid(child.pid) == child.pid
    except OSError:
        return False


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_sweep_in_the_background_ends_with_its_children(number, tmp_path):
    command = [sys.executable, "-m", "benchmarks", *RUN, "--records", str(tmp_path / "records.csv")]
    # As shells begin what runs in the background: SIGINT is ignored.
    sweep = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    watched = psutil.Process(sweep.pid)
    deadline = time.monotonic() + 300
    while not any(map(leads_a_group, below := descendants(watched))) and sweep.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert any(map(leads_a_group, below)), sweep.communicate()[0]
    sweep.send_signal(number)
    said, _ = sweep.communicate(timeout=300)
    assert sweep.returncode == (-number if number == signal.SIGKILL else 130)
    assert "Traceback" not in said
    _, alive = psutil.wait_procs(below, timeout=60)
    assert alive == []
