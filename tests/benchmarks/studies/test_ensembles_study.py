"""The study of ensembles on the least that there is to measure."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")
from benchmarks.studies import ensembles

pytestmark = pytest.mark.filterwarnings("ignore")


def test_both_tables_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(ensembles, "SHAPES", ((2, 3, 1),))
    monkeypatch.setattr(ensembles, "POINTS", (1, 10))
    table = [["kept", *row] for row in ensembles.measure_evaluations(budget=0.0)]
    assert [len(row) for row in table] == [4 + len(ensembles.OUTPUTS)] * 2
    ensembles.write(table, [["3 of 2 - 1", "minimize the max", "0", "0", "1", "1", "1", "1"]], 1.0, 1, tmp_path / "ensembles.md")
    text = (tmp_path / "ensembles.md").read_text()
    assert "| kept | 2 - 3 - 1 | 10 |" in text
    assert "minimize the max" in text


@pytest.mark.parametrize("number", range(4))
def test_units_and_rows_are_the_same_problem(number):
    kind = ensembles.kinds(3)[number]
    program, embedding = ensembles.build_problem(kind, ensembles.trained_members(3, 2, (3,), 0), 0)
    runs = ensembles.run_both(program, embedding, time_limit=2.0)
    assert runs["units"].objective == pytest.approx(runs["rows"].objective, rel=1e-3, abs=1e-3)
    assert ensembles.seconds_to(runs["rows"], runs["rows"].objective, program.sense) < np.inf
