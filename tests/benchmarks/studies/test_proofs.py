"""The table of proofs is made of the records, and tells a word from a proof."""

from __future__ import annotations

import pytest

from benchmarks.harness.metrics import is_refuted, references
from benchmarks.harness.records import Record, append_record, read_records
from benchmarks.studies.proofs import RECORDS, main


def record(method: str, **changes) -> Record:
    return Record("qp", "8x2x2", 0, method, 60.0, "0", **{"status": "optimal", "seconds": 1.5, "start_objective": 0.0, **changes})


def test_words_without_a_bound_are_no_proof_and_wrong_bounds_are_marked(tmp_path):
    runs = [
        record("dcembed", objective=-1.0, bound=-1.00001, trace=((0.5, -1.0),)),
        record("big-m", objective=-0.9, bound=-0.9, trace=((0.5, -0.9),)),
        record("omlt", objective=-0.5, bound=None, trace=((0.5, -0.5),), status="optimal_without_bound"),
        record("gurobi-ml", objective=-1.0, bound=-1.2, trace=((0.5, -1.0),), status="time_limit"),
    ]
    for run in runs:
        append_record(tmp_path / "records.csv", run)
    main(["--records", str(tmp_path / "records.csv")])
    text = (tmp_path / "proofs.md").read_text()
    assert "| dcembed | yes | 1.50 | 0.001 % | -1 | -1.00001 | - |" in text
    # Its own bound meets its own objective, but another method has a better point.
    assert "| big-M | refuted | 1.50 | 0 % | -0.9 | -0.9 | - |" in text
    assert "| OMLT | optimal without bound |" in text
    assert "| Gurobi ML | time limit | 1.50 | 20 % |" in text


@pytest.mark.skipif(not RECORDS.is_file(), reason="there are no records of the small experiments")
def test_the_committed_table_is_what_the_records_give(tmp_path):
    records = read_records(RECORDS)
    (tmp_path / "records.csv").write_bytes(RECORDS.read_bytes())
    main(["--records", str(tmp_path / "records.csv")])
    assert (tmp_path / "proofs.md").read_text() == (RECORDS.parent / "proofs.md").read_text()
    best = references(records)
    assert not [run for run in records if is_refuted(run, best[run.instance])]
