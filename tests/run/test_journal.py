"""What the journal keeps and shows."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dcembed
from baselines.test_table import few
from dcembed import Embedding, Options, Program, Status
from dcembed.baselines import BASELINES
from dcembed.result import build_result
from dcembed.run.arguments import read_arguments
from dcembed.run.journal import count_sizes, open_journal
from dcembed.run.log import RunLog
from dcembed.solvers import BACKENDS
from problems import box_problem, level_problem, quiet, random_mlp

NETWORK = random_mlp(0, (2, 6, 1))


def bowl(**more) -> tuple[Program, Embedding]:
    host = Program(cost=[1.0, 0.0, 0.5], quadratic=np.diag([1.0, 2.0, 0.0]), lb=[-1, -1, -np.inf], ub=[1, 1, np.inf], **more)
    return host, Embedding(NETWORK, [0, 1], [2])


@pytest.mark.parametrize(("solver", "says_so"), [("piqp", True), ("scip", True), ("clarabel", False)])
def test_a_solver_that_ignores_threads_says_so_once(capsys, solver, says_so):
    program, embedding = bowl()
    dcembed.solve(program, embedding, options=Options(threads=2, solver=solver, max_starts=2, time_limit=200.0))
    note = f"{solver} works on one thread; threads=2 makes no difference to it."
    assert capsys.readouterr().out.count(note) == says_so
    dcembed.solve(program, embedding, options=Options(threads=1, solver=solver, max_starts=1, time_limit=200.0))
    assert "works on one thread" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["dcembed", *BASELINES])
def test_a_maximization_is_shown_and_reported_as_it_was_written(name, capsys):
    method = {"dcembed": dcembed.solve, **BASELINES}[name]
    program, embedding = box_problem(random_mlp(3, (2, 8, 1)), np.array([0.3, -0.2]), 1.0)
    flipped = Program(cost=-program.cost, lb=program.lb, ub=program.ub, offset=50.0, maximize=True)
    start, seen = np.array([1.0, 1.0, 0.0]), []
    low = method(program, embedding, start, options=few(name))
    high = method(
        flipped,
        embedding,
        start,
        options=few(name, max_starts=None, verbose=True, callback=lambda record: seen.append(record.objective)),
    )
    assert high.objective == pytest.approx(50.0 - low.objective, abs=1e-4)
    assert high.program is flipped
    values = [objective for _, objective in high.incumbents]
    assert values == sorted(values)
    assert min(values) > 30.0
    assert seen == [record.objective for record in high.history]
    assert all(objective > 30.0 for objective in seen)
    table = [line.split() for line in capsys.readouterr().out.splitlines() if re.match(r" +[\d.]+s +\d+ +\d+ ", line)]
    assert table
    assert all(float(words[3]) > 30.0 for words in table)


def test_a_note_is_shown_once(capsys):
    log = RunLog(verbose=True)
    for _ in range(3):
        log.note("going on with another solver")
    assert capsys.readouterr().out.count("going on") == 1


def test_a_point_that_is_offered_is_never_lost_to_a_worse_one():
    program, embedding = level_problem(9)
    result = dcembed.solve(program, embedding, options=quiet())
    with open_journal(read_arguments(program, embedding, None, quiet())) as journal:
        from dcembed.embedded.point import measure_point

        good = measure_point(journal.embedded, journal.embedded.lower(result.x))
        journal.offer(good)
        journal.offer(measure_point(journal.embedded, np.zeros(2)))
        journal.announce("none", BACKENDS["highs"], count_sizes(journal.embedded, 0, 0))
    assert journal.result(Status.TIME_LIMIT).objective <= good.objective


def test_nothing_is_called_optimal_that_is_not_feasible():
    program, embedding = bowl()
    rest = {"incumbents": [], "history": [], "seconds": 0.0, "solver": "", "sizes": None}
    wrong = np.array([0.0, 0.0, 9.0])
    assert build_result(Status.OPTIMAL, wrong, program, [embedding], 1e-5, **rest).status is Status.NUMERICAL_ERROR
    assert build_result(Status.OPTIMAL, None, program, [embedding], 1e-5, **rest).status is Status.NUMERICAL_ERROR
