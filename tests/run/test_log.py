"""The live log while a bound is proved."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

import dcembed
from dcembed import Options, Status
from dcembed.embedded.point import measure_point
from dcembed.run.arguments import read_arguments
from dcembed.run.journal import count_sizes, open_journal
from dcembed.run.log import RunLog
from dcembed.run.table import COLUMNS, COLUMNS_WITH_BOUNDS, Standing, line, titles
from problems import box_problem, quiet, random_mlp


def shown(capsys, *bounds: float, **changes) -> list[str]:
    """The log of a run that has met a point and certified bounds, by how far they lie below it."""
    program, embedding = box_problem(random_mlp(3, (2, 8, 1)), np.array([0.3, -0.2]), 1.0)
    with open_journal(read_arguments(program, embedding, None, Options(**changes))) as journal:
        journal.announce("none", "nothing", count_sizes(journal.embedded, 0, 0))
        point = measure_point(journal.embedded, np.zeros(2))
        journal.start(0, point)
        for below in bounds:
            journal.certify(point.objective - below, "3 nodes")
    journal.result(Status.TIME_LIMIT)
    return capsys.readouterr().out.splitlines()


def test_a_bound_has_a_line_with_the_best_point_and_the_gap(capsys):
    lines = shown(capsys, 3.0, prove=True)
    head = next(text for text in lines if text.startswith("start"))
    assert head.split() == [
        "start",
        "iter",
        "time",
        "objective",
        "violation",
        *["best", "feasible", "bound", "gap", "penalty", "step", "solver"],
    ]
    (row,) = (text for text in lines if text.endswith("bound: 3 nodes"))
    assert re.fullmatch(r" +\d+\.\d\ds +-?[\d.e+-]+ +-?[\d.e+-]+ +>?[\d.]+ % +bound: 3 nodes", row)
    # Cells end where their titles do.
    assert row[: head.index("gap") + 3].endswith("%")
    assert any(text.startswith("Bound ") for text in lines)


def test_without_a_proof_there_is_no_column_for_it(capsys):
    lines = shown(capsys, 3.0)
    assert not any("gap" in text for text in lines if text.startswith("start"))
    assert not any("nodes" in text for text in lines)
    assert any(text.startswith("Bound ") for text in lines)


def test_bounds_that_are_only_a_little_better_are_not_shown_one_by_one(capsys):
    lines = shown(capsys, 3.0, 2.99, 2.98, 1.0, 0.999, prove="auto")
    assert sum(text.endswith("bound: 3 nodes") for text in lines) == 2


def test_a_bound_is_shown_again_after_a_second(capsys):
    log = RunLog(True, with_bounds=True)
    for seconds in (0.0, 0.5, 1.1, 1.2, 5.0):
        log.bound(seconds, Standing(1.0, 0.5, 0.5), "bound")
    assert [re.search(r"[\d.]+s", text).group() for text in capsys.readouterr().out.splitlines()] == ["0.00s", "1.10s", "5.00s"]


def test_a_point_that_was_met_meanwhile_is_marked(capsys):
    log = RunLog(True, with_bounds=True)
    log.bound(0.0, Standing(1.0, 0.5, 0.5), "bound")
    log.bound(0.1, Standing(1.0, 0.5, 0.5), "bound")
    log.bound(0.2, Standing(0.9, 0.5, 0.49), "bound")
    assert [text.split()[0] for text in capsys.readouterr().out.splitlines()] == ["*", "*"]


@pytest.mark.parametrize("columns", [COLUMNS, COLUMNS_WITH_BOUNDS])
def test_the_table_fits_numbers_of_every_size(columns):
    cells = {"start": "12345", "iter": "123*", "time": "86400.00s"[1:], "objective": f"{-1.23456789e-5:.9g}", "violation": f"{1.2e-16:.2g}"}
    more = {"best feasible": f"{-1.23456789e105:.9g}", "bound": f"{-1.23456789e-5:.9g}", "gap": "<0.001 %", "penalty": "1.2e+06"}
    row = line(columns, {**cells, **more, "step": "1.2e-16"}, "words")
    assert row.index("words") <= titles(columns).index("solver") + 1
    assert titles(COLUMNS_WITH_BOUNDS).index("solver") <= 110


def test_one_clock_ticks_at_a_time():
    log = RunLog(True)
    log._console = Console(file=io.StringIO(), force_terminal=True)
    with log.working("proving"), log.working("a solve of it"):
        assert log._is_working
    assert not log._is_working
    with log.working("another"):
        assert log._is_working
    assert "proving" in log._console.file.getvalue()
    assert "a solve of it" not in log._console.file.getvalue()


def test_the_log_of_a_run_has_its_bound_columns_from_the_start(capsys):
    program, embedding = box_problem(random_mlp(3, (2, 8, 1)), np.array([0.3, -0.2]), 1.0)
    dcembed.solve(program, embedding, options=quiet(verbose=True, max_starts=1, prove="auto"))
    rows = [text for text in capsys.readouterr().out.splitlines() if text.startswith("    0")]
    assert rows
    assert all(" - " in row for row in rows)
