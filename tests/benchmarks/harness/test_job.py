"""What a run is measured on: the method alone, not what a process does once."""

from __future__ import annotations

import sys
from dataclasses import replace

from benchmarks.harness.job import Job, perform
from benchmarks.harness.outcome import Outcome
from benchmarks.harness.process import Line
from benchmarks.methods.table import METHODS

JOB = Job("qp", "8x3x2", 0, "dcembed", 100.0)


def test_packages_are_imported_before_the_clock_and_the_processor_are_read(monkeypatch, tmp_path):
    (tmp_path / "slow_to_import.py").write_text(
        "import time\nbusy = time.process_time() + 0.2\nwhile time.process_time() < busy:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    there = []

    def solve(program, embeddings, start, options):
        there.extend(name for name in ("slow_to_import", "highspy", "piqp") if name in sys.modules)
        return Outcome("finished", [(0.0, start[0])], 0.0)

    monkeypatch.setitem(METHODS, "dcembed", replace(METHODS["dcembed"], solve=solve, packages=("slow_to_import",)))
    monkeypatch.setattr("benchmarks.harness.job.fingerprinted", lambda job: job)
    fields = perform(JOB, Line())
    assert there == ["slow_to_import", "highspy", "piqp"]
    assert fields["processor_seconds"] < 0.1
    assert "slow_to_import" in sys.modules
