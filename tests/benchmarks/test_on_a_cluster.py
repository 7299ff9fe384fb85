"""The sweep on a real Dask cluster of two processes on this machine."""

from __future__ import annotations

from benchmarks.__main__ import main
from benchmarks.harness.records import FAILURES, read_records
from dask_cluster import connected


def test_runs_are_made_by_the_cluster_and_recorded_here(tmp_path, monkeypatch, capsys):
    def refuse(*arguments, **more):
        raise AssertionError("a run was made here")

    monkeypatch.setattr("benchmarks.harness.sweep.run_job", refuse)
    records = tmp_path / "records.csv"
    command = ["run", "qp-width", "--sizes", "32x3", "--methods", "pgd", "--trials", "0", "1", "--time-limit", "0.3"]
    with connected() as client:
        command += ["--preparation-limit", "100", "--records", str(records), "--dask", client.scheduler.address]
        assert main(command) == 0
        made = read_records(records)
        # What is in the records is not run again.
        assert main(command) == 0
    assert read_records(records) == made
    assert "2 of 2 runs of this code are in the records already." in capsys.readouterr().out
    assert [(record.size, record.method) for record in made] == [("32x3", "pgd")] * 2
    assert {record.trial for record in made} == {0, 1}
    for record in made:
        assert record.status not in FAILURES, record.note
        assert record.objective <= record.start_objective
        assert "cores" in record.machine
        # Each in a process of its own, whose memory was measured.
        assert record.memory > 20
