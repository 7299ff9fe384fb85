"""What a long run keeps of its points has room limits, and nothing that counts is lost to them."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.crew.task import Shared
from dcembed.embedded.point import Point, measure_point
from dcembed.engine.outcome import Outcome, is_forgotten
from dcembed.engine.scouting.pool import Pool
from dcembed.engine.scouting.scout import Scout
from dcembed.engine.search.progress import Progress, remembered
from dcembed.run.arguments import read_arguments
from dcembed.run.journal import Step, count_sizes, open_journal
from dcembed.run.room import room_for, thinned
from dcembed.run.space import Space
from dcembed.solvers import BACKENDS
from dcembed.status import Status
from problems import box_problem, quiet, random_mlp

NETWORK = random_mlp(3, (2, 8, 1))


def small_room(monkeypatch, entries: int) -> None:
    for module in ("dcembed.run.room", "dcembed.engine.search.progress"):
        monkeypatch.setattr(f"{module}.KEPT_ENTRIES", entries)


@pytest.mark.parametrize("most", [2, 3, 8, 100])
def test_thinning_leaves_the_first_the_last_and_no_more_than_there_is_room_for(most):
    points: list[int | None] = []
    for number in range(200):
        points = thinned([*points, number], most)
        kept = [point for point in points if point is not None]
        assert len(points) == number + 1
        assert len(kept) <= most
        assert (kept[0], kept[-1]) == (0, number)
        assert all(point in (None, place) for place, point in enumerate(points))


def test_there_is_always_room_for_some_points():
    assert room_for(10**12, most=512) == 2
    assert room_for(10**12, most=1) == 1
    assert room_for(0, most=7) == 7


def test_improving_points_of_a_large_problem_are_thinned_in_the_result_and_in_its_history(monkeypatch):
    program, embedding = box_problem(NETWORK, np.array([0.3, -0.2]), 1.0)
    small_room(monkeypatch, 4 * program.num_columns)
    with open_journal(read_arguments(program, embedding, None, quiet())) as journal:
        journal.announce("none", BACKENDS["highs"], count_sizes(journal.embedded, 0, 0))
        drawn = np.random.default_rng(0).uniform(-0.9, 0.9, (200, 2))
        points = sorted((measure_point(journal.embedded, w) for w in drawn), key=lambda point: -point.objective)
        for number, point in enumerate(points):
            journal.offer(point)
            journal.step(Step(0, number, None, point, 1.0, ""))
    result = journal.result(Status.TIME_LIMIT)
    kept = [point for point in result.incumbent_points if point is not None]
    assert len(result.incumbents) == len(result.incumbent_points) > 100
    assert 2 <= len(kept) <= 4
    assert result.incumbent_points[0] is not None
    assert np.array_equal(result.incumbent_points[-1], result.x)
    assert {id(record.point) for record in result.history} <= {id(point) for point in [*kept, None]}
    for (_, objective), x in zip(result.incumbents, result.incumbent_points, strict=True):
        assert x is None or program.objective(x) == pytest.approx(objective, abs=1e-9)


def point_at(objective: float, size: int, violation: float = 0.0) -> Point:
    return Point(np.full(size, objective), None, objective, violation, np.zeros(1), np.zeros(0), np.zeros(0))


def outcome_at(objective: float, size: int = 10, status: Status = Status.LOCALLY_SOLVED) -> Outcome:
    point = point_at(objective, size)
    return Outcome(status, point, point)


def test_outcomes_are_all_remembered_as_long_as_there_is_room():
    outcomes = tuple(outcome_at(float(number)) for number in range(50))
    assert remembered(outcomes) is outcomes


def test_the_first_the_last_and_the_best_outcomes_are_remembered(monkeypatch):
    small_room(monkeypatch, 50)
    outcomes: tuple[Outcome, ...] = ()
    values = np.random.default_rng(1).permutation(100).astype(float)
    for value in values:
        outcomes = remembered((*outcomes, outcome_at(value)))
        assert sum(not is_forgotten(outcome) for outcome in outcomes) <= 5
        assert not is_forgotten(outcomes[0])
        assert not is_forgotten(outcomes[-1])
        best = Progress(9, outcomes).best
        assert best is not None
        assert np.array_equal(best.w, np.full(10, min(outcome.point.objective for outcome in outcomes)))
    assert [outcome.point.objective for outcome in outcomes] == values.tolist()


def test_a_start_whose_point_is_forgotten_is_not_taken_up_again(monkeypatch):
    small_room(monkeypatch, 20)
    left = [Outcome(Status.ITERATION_LIMIT, point_at(0.0, 10, violation), None, num_steps=1) for violation in (9.0, 5.0, 1.0, 7.0)]
    progress = Progress(9, remembered(tuple(left)))
    assert [is_forgotten(outcome) for outcome in progress.outcomes] == [False, True, False, False]
    assert progress.best_if_left == 2
    assert not progress.is_left(progress.outcomes[1])


def test_a_run_with_little_room_finds_what_others_find(monkeypatch):
    program, embedding = box_problem(NETWORK, np.array([0.3, -0.2]), 1.0)
    usual = dcembed.solve(program, embedding, options=quiet(max_starts=8))
    small_room(monkeypatch, 1)
    little = dcembed.solve(program, embedding, options=quiet(max_starts=8))
    assert little.objective == pytest.approx(usual.objective, abs=1e-6)
    assert sum(point is not None for point in little.incumbent_points) <= 2


def test_the_scout_draws_and_remembers_few_points_of_very_many_columns(monkeypatch):
    program, embedding = box_problem(NETWORK, np.array([0.3, -0.2]), 1.0)
    arguments = read_arguments(program, embedding, None, quiet())
    small_room(monkeypatch, 10)
    monkeypatch.setattr("dcembed.engine.scouting.scout.HELD_ENTRIES", 4)
    monkeypatch.setattr("dcembed.engine.scouting.scout.MAX_ENTRIES", 1)
    with open_journal(arguments) as journal:
        from dcembed.engine.problem import build_problem

        problem = build_problem(journal.embedded, arguments.options)
        space = Space(problem.embedded, problem.box)
        scout = Scout(Shared(problem), lambda: problem.solver, journal.crew, journal.clock)
        assert scout._num_points() == 2
        for number in range(20):
            scout.hear_start(np.full(2, number / 40.0))
        assert len(scout._known) == 5
        assert scout.next(None, 1.0) is not None
        pool = Pool()
        for number in range(20):
            pool = pool.with_point(space, np.full(2, number / 40.0))
        assert sum(map(len, pool.groups)) == 5
        assert np.array_equal(pool.groups[-1][-1], np.full(2, 19 / 40.0))
