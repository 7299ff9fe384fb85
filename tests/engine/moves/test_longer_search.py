"""A search that goes on: what it makes of its time, what it says about it, and how it ends."""

from __future__ import annotations

import re
import threading
import time

import numpy as np
import pytest

import dcembed
from dcembed import Status
from dcembed.engine.moves import table
from dcembed.engine.search import hearing
from move_problems import all_jobs, jobs_problem, two_valleys
from problems import binary_problem, indicator_problem, level_problem


@pytest.fixture(autouse=True)
def _short_descents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests look at what a search does, not at how far a descent gets."""
    monkeypatch.setattr("dcembed.engine.moves.exchange.NUM_ROUNDS", 4)


ORIGINS = {"given", "host", "scout", "columns", *table.MOVES}


def run(problem, start=None, **options) -> dcembed.Result:
    return dcembed.solve(*problem, start=start, options={"verbose": False, "search": "until-limit", "time_limit": 120.0, **options})


@pytest.mark.parametrize("problem", [jobs_problem(2), binary_problem(3), indicator_problem(0), level_problem(17), two_valleys()])
def test_the_same_seed_makes_the_same_search_and_more_starts_are_never_worse(problem):
    results = [run(problem, max_starts=number) for number in (3, 7, 7)]
    objectives = [result.objective for result in results]
    assert objectives[1] <= objectives[0] + 1e-9
    once, again = ([(r.start, r.number, r.objective, r.origin) for r in result.history] for result in results[1:])
    assert once == again
    assert set(results[1].origins) <= ORIGINS
    assert len(results[1].origins) == len(results[1].incumbents)
    assert all(result.is_feasible for result in results)


def test_jobs_that_cannot_move_alone_end_at_the_optimum():
    program, embedding = jobs_problem()
    jobs, values = all_jobs(program, embedding)
    worst = np.concatenate([jobs[np.argmax(values)], np.zeros(3)])
    result = run((program, embedding), start=worst, max_starts=12)
    assert result.objective == pytest.approx(values.min(), abs=1e-6)


def test_the_log_and_the_result_say_what_brought_the_best(capsys):
    problem = jobs_problem()
    jobs, values = all_jobs(*problem)
    worst = np.concatenate([jobs[np.argmax(values)], np.zeros(3)])
    result = run(problem, start=worst, max_starts=10, verbose=2)
    shown = capsys.readouterr().out
    begun = {record.start: record.origin for record in result.history}
    assert begun[0] == "given"
    assert set(begun.values()) & set(table.MOVES)
    for name in set(begun.values()):
        assert re.search(rf"s +\d+ +0 .* {name}$", shown, re.MULTILINE)
    assert result.origins[0] == "given"
    assert f"s, by {result.origins[-1]} (improving points: " in result.summary()
    run(problem, start=worst, max_starts=10, verbose=True)
    better = [line for line in capsys.readouterr().out.splitlines() if " * " in line]
    assert better[-1].endswith(f" * {result.origins[-1]}")


def test_all_starts_of_the_user_come_before_any_move():
    problem = jobs_problem()
    jobs = all_jobs(*problem)[0]
    starts = [np.concatenate([w, np.zeros(3)]) for w in jobs[:4]]
    begun = {record.start: record.origin for record in run(problem, start=starts, max_starts=9).history}
    assert [begun.get(number, "given") for number in range(4)] == ["given"] * 4
    assert set(begun.values()) & set(table.MOVES)


@pytest.mark.patient
def test_a_patient_search_turns_to_moves_when_others_bring_nothing_more():
    result = dcembed.solve(*binary_problem(3), options={"verbose": False})
    begun = {record.start: record.origin for record in result.history}
    first = min((number for number, origin in begun.items() if origin in table.MOVES), default=None)
    assert first is not None
    assert first >= hearing.STALLED
    once = dcembed.solve(*binary_problem(3), options={"verbose": False, "search": "converge", "max_starts": 15})
    assert not {record.origin for record in once.history} & set(table.MOVES)


def test_moves_agree_with_nothing():
    problem = jobs_problem()
    result = run(problem, max_starts=12)
    own = {record.start for record in result.history if record.origin not in table.MOVES}
    assert result.num_starts == 12
    assert result.agreement <= len(own)


@pytest.mark.parametrize("name", ["blocks", "perturbation", "exchange"])
def test_a_stop_in_the_middle_of_a_move_keeps_the_best(monkeypatch, name):
    asked, move = threading.Event(), table.MOVES[name]

    def stopped(*arguments):
        asked.set()
        return move(*arguments)

    monkeypatch.setitem(table.MOVES, name, stopped)
    result = run(jobs_problem(), stop=asked)
    assert result.status is Status.INTERRUPTED
    assert result.is_feasible


def test_the_time_limit_holds_in_the_middle_of_a_move(monkeypatch):
    def slow(terrain, *arguments):
        while terrain.limits().seconds > 0:
            time.sleep(0.01)

    monkeypatch.setitem(table.MOVES, "exchange", slow)
    result = run(jobs_problem(), time_limit=2.0)
    assert result.status is Status.TIME_LIMIT
    assert result.seconds < 10.0
    assert result.is_feasible


def test_a_move_that_runs_out_of_memory_costs_itself_alone(monkeypatch):
    def greedy(*arguments):
        raise MemoryError

    monkeypatch.setitem(table.MOVES, "exchange", greedy)
    result = run(jobs_problem(), max_starts=8)
    assert result.num_starts == 8
    assert "out of memory in a start by exchange." in result.notes
