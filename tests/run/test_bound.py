"""What a certified bound makes of a run."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program, Result, Status
from dcembed.embedded.point import measure_point
from dcembed.run.arguments import read_arguments
from dcembed.run.journal import open_journal
from problems import box_problem, quiet, random_mlp

NETWORK = random_mlp(3, (2, 8, 1))


def problem(maximize: bool = False) -> tuple[Program, Embedding]:
    """Of value 0.3 x - 0.2 y + f(x, y) + 5, or its negative, which is maximized."""
    program, embedding = box_problem(NETWORK, np.array([0.3, -0.2]), 1.0)
    sense = -1.0 if maximize else 1.0
    return Program(cost=sense * program.cost, lb=program.lb, ub=program.ub, offset=sense * 5.0, maximize=maximize), embedding


def run(*bounds: float, status: Status = Status.LOCALLY_SOLVED, maximize: bool = False, point: bool = True, **changes) -> Result:
    """A run that has met the origin (or nothing) and certified some bounds, by how far they lie below the point."""
    program, embedding = problem(maximize)
    with open_journal(read_arguments(program, embedding, None, quiet(**changes))) as journal:
        here = measure_point(journal.embedded, np.zeros(journal.embedded.host.num_columns))
        if point:
            journal.offer(here)
        for below in bounds:
            journal.certify(here.objective - below)
    return journal.result(status)


@pytest.mark.parametrize("maximize", [False, True])
def test_a_bound_is_reported_in_the_sense_of_the_program(maximize):
    result = run(2.0, 1.0, maximize=maximize)
    sense = -1.0 if maximize else 1.0
    assert result.bound == pytest.approx(result.objective - sense)
    assert result.gap == pytest.approx(1.0 / abs(result.objective))
    assert [bound for _, bound in result.bounds] == pytest.approx([result.objective - 2 * sense, result.objective - sense])
    assert [seconds for seconds, _ in result.bounds] == sorted(seconds for seconds, _ in result.bounds)
    assert result.status is Status.LOCALLY_SOLVED
    assert f"Bound       {result.bound:.9g}, gap " in result.summary()
    assert ", gap=" in repr(result)


@pytest.mark.parametrize("maximize", [False, True])
def test_without_a_bound_the_gap_is_infinite(maximize):
    result = run(maximize=maximize)
    assert result.bound == (np.inf if maximize else -np.inf)
    assert result.gap == np.inf
    assert result.bounds == []
    assert "Bound" not in result.summary()
    assert "gap" not in repr(result)


def test_nothing_but_a_better_bound_changes_the_bound():
    result = run(1.0, np.nan, np.inf, 3.0, 1.0)
    assert len(result.bounds) == 1
    assert result.bound == pytest.approx(result.objective - 1.0)


@pytest.mark.parametrize("status", [Status.LOCALLY_SOLVED, Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED])
def test_a_closed_gap_is_optimal_whatever_ended_the_run(status):
    assert run(1e-7, status=status).status is Status.OPTIMAL
    assert run(0.1, status=status).status is status


def test_the_gap_tolerance_decides():
    assert run(0.1, gap_tol=0.0).status is Status.LOCALLY_SOLVED
    assert run(0.1, gap_tol=0.5).status is Status.OPTIMAL
    # What is rounding counts as nothing.
    assert run(1e-10, gap_tol=0.0).status is Status.OPTIMAL


def test_a_proof_that_there_is_no_feasible_point():
    result = run(-np.inf, status=Status.LOCALLY_INFEASIBLE, point=False)
    assert result.status is Status.INFEASIBLE
    assert (result.bound, result.gap) == (np.inf, np.inf)
    assert run(-np.inf, point=False, maximize=True).bound == -np.inf
    assert run(-np.inf, status=Status.HOST_INFEASIBLE, point=False).status is Status.HOST_INFEASIBLE


def test_a_bound_without_a_feasible_point_proves_nothing_about_it():
    result = run(1.0, status=Status.TIME_LIMIT, point=False)
    assert result.status is Status.TIME_LIMIT
    assert np.isfinite(result.bound)
    assert result.gap == np.inf
    assert f"Bound       {result.bound:.9g}\n" in result.summary()


@pytest.mark.parametrize("first", ["point", "proof"])
def test_a_feasible_point_goes_before_a_proof_that_there_is_none(first):
    program, embedding = problem()
    with open_journal(read_arguments(program, embedding, None, quiet())) as journal:
        here = measure_point(journal.embedded, np.zeros(2))
        journal.certify(here.objective - 2.0)
        if first == "point":
            journal.offer(here)
        journal.certify(np.inf)
        journal.offer(here)
        assert journal.bound == here.objective - 2.0
        journal.certify(here.objective - 1.0)
    result = journal.result(Status.LOCALLY_SOLVED)
    assert result.status is Status.LOCALLY_SOLVED
    assert [bound for _, bound in result.bounds] == pytest.approx([here.objective - 2.0, here.objective - 1.0])


def test_an_error_takes_the_bound_with_it():
    def fail() -> None:
        with open_journal(read_arguments(*problem(), None, quiet())) as journal:
            journal.certify(-7.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    assert caught.value.result.bound == -7.0


def test_starts_that_end_near_the_best_agree():
    program, embedding = problem()
    with open_journal(read_arguments(program, embedding, None, quiet())) as journal:
        values = [measure_point(journal.embedded, np.array(w)) for w in ([0.0, 0.0], [1e-5, 0.0], [1.0, 1.0], [50.0, 0.0])]
        for number, point in enumerate(values[:3]):
            journal.start(number, point)
        # A start that ends where nothing holds, and one that met nothing.
        journal.start(3, values[3])
        journal.start(4, values[3])
        journal.reach(4, None)
    objectives = [point.objective for point in values[:3]]
    best = min(objectives)
    result = journal.result(Status.LOCALLY_SOLVED)
    assert result.num_starts == 5
    assert result.agreement == sum(objective <= best + 1e-3 * abs(best) for objective in objectives) < 3
    assert f"Agreement   {result.agreement} of 5 starts within 0.1 % of the best" in result.summary()


def test_a_start_counts_by_its_best_point():
    program, embedding = problem()
    with open_journal(read_arguments(program, embedding, None, quiet())) as journal:
        points = sorted((measure_point(journal.embedded, np.array(w)) for w in ([0.0, 0.0], [1.0, 1.0])), key=lambda p: p.objective)
        journal.start(0, points[1])
        journal.reach(0, points[0])
        journal.reach(0, points[1])
        journal.start(1, points[1])
        journal.offer(points[0])
    assert journal.result(Status.LOCALLY_SOLVED).agreement == 1


def test_the_search_counts_its_starts():
    program, embedding = problem()
    result = dcembed.solve(program, embedding, options=quiet(max_starts=4))
    assert result.num_starts == 1 + max(record.start for record in result.history) > 1
    assert 1 <= result.agreement <= result.num_starts
    alone = dcembed.solve(program, embedding, options=quiet(max_starts=1))
    assert (alone.agreement, alone.num_starts) == (1, 1)
    assert "Agreement" not in alone.summary()


def test_without_a_feasible_point_no_start_agrees():
    network = random_mlp(3, (1, 4, 1))
    program = Program(cost=[0.0, 1.0], rows=[[0.0, 1.0]], row_lb=1e3, lb=[-1.0, -np.inf], ub=[1.0, np.inf])
    result = dcembed.solve(program, Embedding(network, [0], [1]), options=quiet(max_starts=2))
    assert (result.agreement, result.num_starts) == (0, 2)
