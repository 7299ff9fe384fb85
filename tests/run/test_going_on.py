"""A run goes on from an earlier result: never worse, with its bound where the problem is the same."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program, Status
from dcembed.baselines import BASELINES
from dcembed.errors import InputError
from problems import EVERY_BASELINE, binary_problem, box_problem, indicator_problem, level_problem, quiet, random_mlp
from test_every_field import LIMITS, PARTS, REFUSED
from test_every_field import problem as part_problem

FEW = {"max_starts": 1, "max_iterations": 2}


def copied(program: Program, embedding: Embedding) -> tuple[Program, Embedding]:
    """The same numbers in other objects."""
    return Program(
        cost=program.cost.copy(),
        rows=program.rows,
        row_lb=program.row_lb,
        row_ub=program.row_ub,
        lb=program.lb,
        ub=program.ub,
        integer=program.integer,
        maximize=program.maximize,
        indicators=program.indicators,
    ), Embedding(embedding.network, embedding.inputs, embedding.outputs)


@pytest.mark.parametrize("make", [level_problem, binary_problem, indicator_problem])
@pytest.mark.parametrize("changes", [{"time_limit": 0.0}, {"max_iterations": 0}, {"max_iterations": 1, "search": "converge"}, {}])
def test_more_time_is_never_worse(make, changes):
    program, embedding = make(3)
    best = dcembed.solve(program, embedding, options=quiet(max_starts=4))
    assert best.is_feasible
    again = dcembed.solve(program, embedding, start=best, options=quiet(**changes))
    assert again.is_feasible
    assert again.objective <= best.objective
    if changes.get("time_limit") == 0.0:
        assert np.array_equal(again.x, best.x)


@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_a_host_makes_it_worse(part):
    program, embedding = part_problem(part)
    best = dcembed.solve(program, embedding, options=quiet())
    again = dcembed.solve(program, embedding, start=best, options=quiet(max_iterations=0))
    assert program.sense * again.objective <= program.sense * best.objective
    assert again.violation <= max(best.violation, 1e-9)


@EVERY_BASELINE
def test_baselines_go_on_as_well(method):
    program, embedding = part_problem(None)
    assert (method, None) not in REFUSED
    best = dcembed.solve(program, embedding, options=quiet(max_starts=3))
    limits = {"time_limit": 200.0, **LIMITS.get(method, {})}
    again = BASELINES[method](program, embedding, best, options=quiet(**limits))
    assert again.is_feasible
    assert again.objective <= best.objective + 1e-12


def test_a_point_that_profits_from_the_tolerance_is_kept_as_it_is():
    # The settled point is a little worse, and the answer may not be.
    program, embedding = level_problem(9)
    result = dcembed.solve(program, embedding, options=quiet(max_starts=3))
    x = result.x.copy()
    x[0] -= 4e-6
    x[2] = embedding.network(x[None, :2])[0, 0]
    measured = dcembed.verify(program, [embedding], x)
    assert 1e-9 < measured.violation <= 1e-5
    profiting = dataclasses.replace(result, x=x, objective=measured.objective, violation=measured.violation)
    assert dcembed.solve(program, embedding, start=profiting, options=quiet(time_limit=0.0)).objective <= profiting.objective


def test_results_and_points_mix():
    program, embedding = level_problem(17)
    one = dcembed.solve(program, embedding, options=quiet(**FEW))
    two = dcembed.solve(program, embedding, options=quiet(max_starts=4))
    again = dcembed.solve(program, embedding, start=[np.zeros(3), one, [1.0, 1.0, 0.0], two], options=quiet(max_starts=4))
    assert {record.start for record in again.history} == {0, 1, 2, 3}
    assert again.objective <= two.objective
    nothing = dataclasses.replace(one, x=None, objective=np.nan, violation=np.inf, is_feasible=False)
    assert dcembed.solve(program, embedding, start=[nothing], options=quiet()).is_feasible
    assert dcembed.solve(program, embedding, start=[nothing, one.x], options=quiet()).is_feasible


def test_a_result_of_other_columns_is_refused():
    program, embedding = level_problem(17)
    result = dcembed.solve(*binary_problem(0), options=quiet(**FEW))
    with pytest.raises(InputError, match="solve: a start has 12 entries but the program has 3 columns"):
        dcembed.solve(program, embedding, start=result)
    with pytest.raises(InputError, match=r"solve: every start is a point of 3 columns, received lengths \[3, 12\]"):
        dcembed.solve(program, embedding, start=[result, np.zeros(3)])


@pytest.mark.parametrize("maximize", [False, True])
def test_the_bound_is_taken_up_where_the_numbers_are_the_same(tmp_path, maximize):
    program, embedding = box_problem(random_mlp(5, (2, 6, 1)), np.array([0.3, -0.2]), 1.0)
    if maximize:
        program = Program(cost=program.cost, lb=program.lb, ub=program.ub, maximize=True)
    result = dcembed.solve(program, embedding, options=quiet())
    known = dataclasses.replace(result, bound=result.objective - program.sense * 0.5)
    known.save(tmp_path / "known.npz")
    others = {"same": (program, embedding), "equal": copied(program, embedding)}
    for start in (known, dcembed.load_result(tmp_path / "known.npz")):
        for problem in others.values():
            again = dcembed.solve(*problem, start=start, options=quiet(**FEW))
            assert again.bound == known.bound
            assert again.bounds[0][1] == known.bound
            assert again.status is not Status.OPTIMAL
            assert not any("another problem" in note for note in again.notes)


def test_a_closed_gap_needs_no_further_step():
    program, embedding = box_problem(random_mlp(5, (2, 6, 1)), np.array([0.3, -0.2]), 1.0)
    result = dcembed.solve(program, embedding, options=quiet())
    known = dataclasses.replace(result, bound=result.objective, status=Status.OPTIMAL)
    again = dcembed.solve(*copied(program, embedding), start=known, options=quiet(max_starts=5))
    assert again.status is Status.OPTIMAL
    assert again.history == []
    assert again.reason == "the result to go on from leaves nothing to prove"
    # A smaller gap is asked for, and so the search goes on.
    near = dataclasses.replace(result, bound=result.objective - 1e-6 * abs(result.objective))
    assert dcembed.solve(program, embedding, start=near, options=quiet(gap_tol=1e-9)).history


def test_the_proof_that_there_is_no_point_is_taken_up():
    program, embedding = level_problem(9)
    nothing = dataclasses.replace(
        dcembed.solve(program, embedding, options=quiet(time_limit=0.0)),
        x=None, objective=np.nan, violation=np.inf, is_feasible=False, bound=np.inf, incumbents=[], incumbent_points=[],
    )  # fmt: skip
    assert dcembed.solve(program, embedding, start=nothing, options=quiet()).status is Status.INFEASIBLE


def test_the_bound_of_another_problem_is_not_taken_up_and_that_is_said():
    program, embedding = box_problem(random_mlp(5, (2, 6, 1)), np.array([0.3, -0.2]), 1.0)
    result = dcembed.solve(program, embedding, options=quiet())
    known = dataclasses.replace(result, bound=result.objective)
    retrained = Embedding(random_mlp(6, (2, 6, 1)), embedding.inputs, embedding.outputs)
    again = dcembed.solve(program, retrained, start=known, options=quiet())
    assert again.bound == -np.inf
    assert again.notes == ("The result to go on from is about another problem: its point is a start, its bound is not taken up.",)


def test_a_search_is_over_when_a_start_comes_to_a_bound_that_is_known():
    # Two hats: the first start, in the lower one, ends there.
    hats = dcembed.build_mlp([[[1.0]] * 6, [[1.0, -2.0, 1.0, 2.0, -4.0, 2.0]]], [[0.0, -1.0, -2.0, -4.0, -5.0, -6.0], None])
    program, embedding = Program(cost=[0.0, 1.0], lb=[0.0, -9.0], ub=[7.0, 9.0], maximize=True), Embedding(hats, [0], [1])
    low = dcembed.solve(program, embedding, start=[1.0, 1.0], options=quiet(max_starts=1))
    assert low.objective == pytest.approx(1.0)
    known = dataclasses.replace(low, bound=2.0)
    found = dcembed.solve(program, embedding, start=known, options=quiet(search="until-limit", time_limit=30, max_starts=None))
    assert (found.status, found.objective) == (Status.OPTIMAL, pytest.approx(2.0))
    assert found.reason.startswith("the bound is reached after ")


def test_what_the_statuses_advise_works():
    assert "start=result." in Status.TIME_LIMIT.help
    assert "start=result." in Status.ITERATION_LIMIT.help
