"""The study of longer searches: runs are written down once, and the table is made of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.studies import longer
from move_problems import jobs_problem


def test_what_is_closed_is_a_share_of_the_difference():
    assert longer.closed(1.0, 10.0, 6.0, 2.0) == pytest.approx(0.5)
    assert longer.closed(-1.0, 10.0, 12.0, 12.0) == pytest.approx(1.0)
    assert np.isnan(longer.closed(1.0, 2.0, 2.0, 2.0))


def test_a_tiny_study_is_run_once_and_tells_what_brought_the_best(monkeypatch, tmp_path, capsys):
    program, embedding = jobs_problem()
    monkeypatch.setitem(longer.FAMILIES, "jobs", lambda: longer.Instance("jobs", program, (embedding,), []))
    monkeypatch.setattr("dcembed.engine.moves.exchange.NUM_ROUNDS", 2)
    arguments = ["jobs", "--seconds", "0.7", "--results", str(tmp_path)]
    longer.main(arguments)
    records = (tmp_path / "longer.jsonl").read_text()
    assert [json.loads(line)["search"] for line in records.splitlines()] == list(longer.SEARCHES)
    table = (tmp_path / "longer.md").read_text()
    assert "| jobs | " in table
    assert "host" in table
    capsys.readouterr()
    longer.main(arguments)
    assert capsys.readouterr().out == ""
    assert (tmp_path / "longer.jsonl").read_text() == records
    longer.main([*arguments, "--table"])
    assert (tmp_path / "longer.md").read_text() == table
