"""The study of two workers against one, in miniature."""

from __future__ import annotations

import pytest

from benchmarks.problems.qp import load_qp_network, qp_instance
from benchmarks.studies import scaling


@pytest.fixture(autouse=True)
def tiny(monkeypatch, called_at_once):
    work = scaling.five_starts(lambda: qp_instance(load_qp_network(8, 3, 0), 0, num_blocks=3))
    monkeypatch.setattr(scaling, "CASES", (scaling.Case("tiny", "five starts", work),))


def test_all_ways_are_run_and_have_the_same_answer(tmp_path, capsys):
    scaling.main(["tiny", "--repeat", "1", "--out", str(tmp_path / "table.md")])
    last = (tmp_path / "table.md").read_text().strip().splitlines()[-1]
    assert last.startswith("| tiny | five starts |")
    assert last.endswith("| yes |")
    assert "tiny" in capsys.readouterr().out


def test_cases_are_chosen_by_the_beginnings_of_their_names(capsys):
    scaling.main(["no-such-case", "--repeat", "1"])
    assert capsys.readouterr().out == ""
