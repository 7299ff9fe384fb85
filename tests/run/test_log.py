"""The live log: what it says, how often, in how many columns, and to whom."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from rich.console import Console

import dcembed
from dcembed import Options, Status
from dcembed.embedded.point import measure_point
from dcembed.errors import InputError
from dcembed.result import Iteration
from dcembed.run import log as log_module
from dcembed.run.arguments import read_arguments
from dcembed.run.heartbeat import Heartbeat
from dcembed.run.journal import count_sizes, open_journal
from dcembed.run.log import RunLog
from dcembed.run.table import COLUMNS, COLUMNS_OF_STEPS, COLUMNS_WITH_BOUNDS, Standing, line, show_seconds, titles
from dcembed.run.voice import WIDTH, fold
from problems import box_problem, level_problem, quiet, random_mlp


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line waits for another."""
    monkeypatch.setattr(log_module, "APART", 0.0)
    monkeypatch.setattr(log_module, "BOUNDS_APART", 0.0)


def small_problem():
    return box_problem(random_mlp(3, (2, 8, 1)), np.array([0.3, -0.2]), 1.0)


def shown(capsys, *bounds: float, **changes) -> list[str]:
    """The log of a run that has met a point and certified bounds, by how far they lie below it."""
    program, embedding = small_problem()
    with open_journal(read_arguments(program, embedding, None, Options(**changes))) as journal:
        journal.announce("none", "nothing", count_sizes(journal.embedded, 0, 0))
        point = measure_point(journal.embedded, np.zeros(2))
        journal.start(0, point)
        for below in bounds:
            journal.certify(point.objective - below, "3 nodes")
    journal.result(Status.TIME_LIMIT)
    return capsys.readouterr().out.splitlines()


def a_step(seconds: float = 1.0, **changes) -> Iteration:
    values = {"start": 0, "number": 1, "objective": 1.0, "violation": 0.0, "merit": 1.0, "point_merit": 1.0, "penalty": 1.0, "step": 0.1}
    return Iteration(**{**values, "seconds": seconds, "solver_status": "Optimal", "is_incumbent": False, **changes})


def test_a_bound_has_a_line_with_the_best_point_and_the_gap(capsys):
    lines = shown(capsys, 3.0, prove=True)
    head = next(text for text in lines if text.endswith("at work"))
    assert head.split() == ["time", "start", "steps", "best", "feasible", "bound", "gap", "at", "work"]
    (row,) = (text for text in lines if text.endswith("   3 nodes"))
    assert re.fullmatch(r" +\d+\.\d\ds +0 +0 +-?[\d.e+-]+ +-?[\d.e+-]+ +>?[\d.]+ % +3 nodes", row)
    # Cells end where their titles do.
    assert row[: head.index("gap") + 3].endswith("%")
    assert any(text.startswith("Bound ") for text in lines)


def test_without_a_proof_there_is_no_column_for_it(capsys):
    lines = shown(capsys, 3.0)
    assert not any("gap" in text for text in lines if text.endswith("at work"))
    assert not any("nodes" in text for text in lines)
    assert any(text.startswith("Bound ") for text in lines)


def test_bounds_that_are_only_a_little_better_are_not_shown_one_by_one(capsys, monkeypatch):
    monkeypatch.setattr(log_module, "BOUNDS_APART", 60.0)
    lines = shown(capsys, 3.0, 2.99, 2.98, 1.0, 0.999, prove="auto")
    assert sum(text.endswith("   3 nodes") for text in lines) == 2


def test_a_bound_is_shown_again_after_a_while(capsys, monkeypatch):
    for apart, number in ((60.0, 1), (0.0, 3)):
        monkeypatch.setattr(log_module, "BOUNDS_APART", apart)
        log = RunLog(True, with_bounds=True)
        for bound in (0.5, 0.501, 0.502):
            log.bound(1.0, Standing(1.0, bound, 1.0 - bound), "")
        assert len(capsys.readouterr().out.splitlines()) == number


@pytest.mark.parametrize("verbose", [True, 2])
def test_a_point_that_was_met_meanwhile_is_marked(capsys, verbose):
    log = RunLog(verbose, with_bounds=True)
    for best in (1.0, 1.0, 0.9):
        log.bound(0.0, Standing(best, 0.5, 0.5), "3 nodes")
    assert [" * " in text for text in capsys.readouterr().out.splitlines()] == [True, False, True]


def test_the_log_of_a_run_has_its_bound_columns_from_the_start(capsys):
    dcembed.solve(*small_problem(), options=quiet(verbose=True, max_starts=1, prove="auto"))
    rows = [text for text in capsys.readouterr().out.splitlines() if re.match(r" +[\d.]+s +0 ", text)]
    assert rows
    assert " - " in rows[0]


def test_improvements_that_follow_closely_share_a_line_and_the_last_is_never_lost(capsys, monkeypatch):
    monkeypatch.setattr(log_module, "APART", 60.0)
    log = RunLog(True)
    for number in range(50):
        log.iteration(a_step(number / 100, is_incumbent=True, origin="scout"), Standing(100.0 - number))
    log.end()
    lines = capsys.readouterr().out.splitlines()
    # The first point and the last one.
    assert [text.split()[3] for text in lines] == ["100", "51"]
    assert lines[-1].split()[0] == "0.49s"
    assert all(" * scout" in text for text in lines)


def test_what_changes_no_digit_is_no_improvement(capsys):
    log = RunLog(True)
    for best in (1.0, 1.0 - 1e-12):
        log.iteration(a_step(is_incumbent=True), Standing(best))
    assert [" * " in f"{text} " for text in capsys.readouterr().out.splitlines()] == [True, False]


def test_every_step_has_a_line_where_that_is_asked_for(capsys):
    program, embedding = small_problem()
    result = dcembed.solve(program, embedding, options=quiet(verbose=2, max_starts=2, prove="auto"))
    out = capsys.readouterr().out.splitlines()
    steps = [text for text in out if re.match(r" +[\d.]+s +\d+ +[1-9]\d* ", text)]
    assert len(steps) == len(result.history)
    assert titles(COLUMNS_OF_STEPS) in out
    assert any(re.match(r" +[\d.]+s [ *] bound ", text) for text in out)


def test_a_short_run_has_few_lines(capsys, monkeypatch):
    monkeypatch.setattr(log_module, "APART", 0.5)
    result = dcembed.solve(*level_problem(3), options={"max_starts": 8, "verbose": True})
    rows = [text for text in capsys.readouterr().out.splitlines() if re.match(r" +[\d.]+s ", text)]
    assert len(result.history) > 20
    assert len(rows) <= 4 + 3 * result.seconds
    assert f"{result.objective:.8g}" in rows[-1]


def test_without_a_feasible_point_the_log_says_how_far_off_the_best_is(capsys):
    log = RunLog(True)
    log.start(0, 0.1, 1.0, 0.25, Standing(violation=0.25), "given")
    assert "off by 0.25" in capsys.readouterr().out


@pytest.mark.parametrize("columns", [COLUMNS, COLUMNS_WITH_BOUNDS, COLUMNS_OF_STEPS])
def test_no_line_has_more_than_79_columns(columns):
    cells = {"start": "12345", "iter": "12345", "steps": "123456", "time": show_seconds(86400.0), "violation": f"{1.2e-16:.2g}"}
    numbers = dict.fromkeys(("objective", "best feasible", "bound"), f"{-1.2345678e-5:.8g}")
    row = line(columns, {**cells, **numbers, "gap": "0.00986 %", "penalty": "1.2e+06", "step": "1.2e-16"}, "words " * 20, is_new=True)
    assert len(row) <= WIDTH == 79
    assert row.index("*") == titles(columns).index("at work") - 2


def test_words_that_do_not_fit_end_with_a_whole_one():
    room = WIDTH - len(line(COLUMNS_WITH_BOUNDS, dict.fromkeys(COLUMNS_WITH_BOUNDS, "x"), "-")) + 1
    ends = {"bound, relaxation of the host": "bound", "solving the master problem": "solving the", "x" * 40: "x" * room, "1 box": "1 box"}
    for words, end in ends.items():
        row = line(COLUMNS_WITH_BOUNDS, dict.fromkeys(COLUMNS_WITH_BOUNDS, "-"), words)
        assert row.endswith(f"-   {end}")


def test_headers_notes_and_summaries_are_folded(capsys):
    program, embedding = small_problem()
    dcembed.solve(program, embedding, options=quiet(verbose=True, max_starts=1, threads=2, solver="highs", prove="auto"))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= WIDTH
    assert "Status" in out
    assert max(map(len, fold("word " * 60, indent=4).splitlines())) <= WIDTH


def test_one_thing_is_at_work_at_a_time():
    log = RunLog(True)
    log._voice.console = Console(file=io.StringIO(), force_terminal=True)
    with log.working("proving"), log.working("a solve of it"):
        assert log._doing == "proving"
    assert not log._doing
    assert "proving" in log._voice.console.file.getvalue()
    assert "a solve of it" not in log._voice.console.file.getvalue()


def test_a_run_that_says_nothing_is_heard_all_the_same(capsys, monkeypatch):
    monkeypatch.setattr(log_module, "SILENCE", 0.2)
    monkeypatch.setattr(log_module, "TICK", 0.05)
    program, embedding = small_problem()
    with open_journal(read_arguments(program, embedding, None, Options())) as journal:
        journal.announce("none", "nothing", count_sizes(journal.embedded, 0, 0))
        with journal.log.working("a long solve"):
            time.sleep(1.0)
    beats = [text for text in capsys.readouterr().out.splitlines() if text.endswith("a long solve")]
    assert 2 <= len(beats) <= 5
    times = [float(text.split()[0].rstrip("s")) for text in beats]
    assert times == sorted(times)
    assert not [thread for thread in threading.enumerate() if thread.name == "dcembed log"]


def test_silence_is_short_enough():
    assert log_module.SILENCE + log_module.TICK < 5.0


def test_a_heart_that_has_ended_beats_no_more():
    beats: list[int] = []
    heart = Heartbeat(lambda: beats.append(1), 0.01)
    heart.begin()
    time.sleep(0.2)
    heart.end()
    number = len(beats)
    time.sleep(0.1)
    assert 0 < number == len(beats)


def test_the_log_goes_to_a_file_though_nothing_is_printed(capsys, tmp_path):
    path = tmp_path / "run.log"
    program, embedding = small_problem()
    for _ in range(2):
        dcembed.solve(program, embedding, options=quiet(log_file=path, max_starts=1))
    assert capsys.readouterr().out == ""
    text = path.read_text(encoding="utf-8")
    assert text.count("at work") == text.count("Status ") == 2
    assert max(map(len, text.splitlines())) <= WIDTH


def test_a_log_file_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    with pytest.raises(InputError, match=r"log_file=.*nowhere.*cannot be written: No such file"):
        dcembed.solve(*small_problem(), options=quiet(log_file=tmp_path / "nowhere" / "run.log"))


def test_python_s_logging_has_the_lines(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="dcembed"):
        dcembed.solve(*small_problem(), options=quiet(max_starts=1))
    assert any(record.message.endswith("at work") for record in caplog.records)
    assert any(record.message.startswith("Status") for record in caplog.records)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("wrong", ["yes", 3, -1, None, 1.0])
def test_a_wrong_verbose_is_an_error(wrong):
    with pytest.raises(InputError, match=r"verbose=.*True, False or 2"):
        Options(verbose=wrong)


SCRIPT = """
import numpy as np, dcembed
from dcembed.run import log
log.SILENCE, log.TICK = 0.3, 0.05
network = dcembed.build_mlp([np.random.default_rng(k).normal(size=shape) for k, shape in enumerate([(40, 2), (40, 40), (1, 40)])], [None] * 3)
program = dcembed.Program(cost=[0.1, 0.2, 1.0], lb=[-2, -2, -np.inf], ub=[2, 2, np.inf])
dcembed.solve(program, dcembed.Embedding(network, [0, 1], [2]), options={"time_limit": 2.0, "search": "until-limit"})
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
def test_on_a_terminal_no_line_is_longer_than_79_letters():
    import pty

    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
        read = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            read += part
    os.close(leader)
    assert process.returncode == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", read.decode())
    lines = [text for part in plain.split("\n") for text in part.split("\r")]
    assert any(text.endswith("at work") for text in lines)
    assert max(len(text.rstrip()) for text in lines) <= WIDTH


def test_in_a_notebook_the_log_is_one_area_of_text():
    pytest.importorskip("ipykernel")
    client = pytest.importorskip("jupyter_client")
    manager, kernel = client.manager.start_new_kernel(kernel_name="python3", extra_arguments=["--HistoryManager.enabled=False"])
    try:
        kinds, text = [], []

        def hear(message):
            kinds.append(message["msg_type"])
            if message["msg_type"] == "stream":
                text.append(message["content"]["text"])

        reply = kernel.execute_interactive(SCRIPT, timeout=60, output_hook=hear)
        assert reply["content"]["status"] == "ok"
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)
    assert not {"display_data", "update_display_data", "error"} & set(kinds)
    lines = "".join(text).splitlines()
    assert any(line.endswith("at work") for line in lines)
    assert max(map(len, lines)) <= WIDTH
    assert sum(bool(re.match(r" +[\d.]+s ", line)) for line in lines) >= 4
