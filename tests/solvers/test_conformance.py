"""What every backend must do, for every problem class that it takes."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import Indicator, Program, verify
from dcembed.errors import InputError
from dcembed.program.indicators import linearize_indicators
from dcembed.solvers import BACKENDS, CLASSES, Limits, SessionOptions, SolveStatus, is_installed
from dcembed.solvers.base import told_bound
from dcembed.solvers.failover import LastingSession, Solver
from solvers.problems import NUM_ROWS, UNLIMITED, example, limits_around, market_split, reference, solve, with_loose_curves


def backend_parameter(name: str, *rest):
    skip = pytest.mark.skipif(not is_installed(BACKENDS[name]), reason=f"{name} is not installed")
    return pytest.param(name, *rest, marks=skip, id="-".join((name, *rest)))


PAIRS = [backend_parameter(name, kind) for name, kind in product(BACKENDS, CLASSES) if kind in BACKENDS[name].classes]
NAMES = [backend_parameter(name) for name in BACKENDS]
for_every_pair = pytest.mark.parametrize(("name", "kind"), PAIRS)
for_every_backend = pytest.mark.parametrize("name", NAMES)


def agree(value: float, expected: float) -> bool:
    return abs(value - expected) <= 1e-5 * (1 + abs(expected))


def convert(program: Program, kind: str) -> Program:
    """The same program with a quadratic, integers, loose quadratic constraints or cones on column 1, as the class asks."""
    n = program.num_columns
    quadratic = np.diag(np.eye(n)[1]) if kind.endswith("QP") else None
    return with_loose_curves(replace(program, quadratic=quadratic, integer=[1] if kind.startswith("MI") else None), kind)


@for_every_pair
@pytest.mark.parametrize("seed", [1, 2])
def test_the_optimal_value_is_found(name, kind, seed):
    program = example(kind, seed).program
    solution = solve(name, program)
    assert solution.status is SolveStatus.OPTIMAL
    assert verify(program, [], solution.x).violation < 1e-5
    assert agree(program.objective(solution.x), reference(program))


def edits(program: Program, inside: np.ndarray, seed: int):
    """(name, call on a session, the program it should have become), one for each edit; each keeps the inner point."""
    rng = np.random.default_rng(seed)
    cost = rng.normal(size=program.num_columns)
    lb, ub = np.minimum(program.lb + 1.0, np.floor(inside)), np.maximum(program.ub - 1.0, np.ceil(inside))
    row_lb, row_ub = limits_around(program.rows @ inside, rng)
    first = 2
    new = sp.csr_array(rng.normal(size=(NUM_ROWS - first, program.num_columns)))
    new_lb, new_ub = limits_around(new @ inside, rng)
    replaced = {
        "rows": sp.vstack([program.rows[:first], new]),
        "row_lb": np.concatenate([program.row_lb[:first], new_lb]),
        "row_ub": np.concatenate([program.row_ub[:first], new_ub]),
    }
    return {
        "cost": (lambda s: s.set_cost(cost, 7.0), replace(program, cost=cost, offset=7.0)),
        "bounds": (lambda s: s.set_bounds(lb, ub), replace(program, lb=lb, ub=ub)),
        "row bounds": (lambda s: s.replace_rows(0, program.rows, row_lb, row_ub), replace(program, row_lb=row_lb, row_ub=row_ub)),
        "rows": (lambda s: s.replace_rows(first, new, new_lb, new_ub), replace(program, **replaced)),
    }


@for_every_pair
@pytest.mark.parametrize("edit", ["cost", "bounds", "row bounds", "rows"])
def test_an_edited_session_answers_like_a_fresh_one(name, kind, edit):
    start = example(kind, 3)
    apply, expected = edits(start.program, start.inside, 4)[edit]
    session = BACKENDS[name].open(start.program, SessionOptions())
    session.solve(UNLIMITED)
    apply(session)
    edited = session.solve(UNLIMITED)
    session.close()
    fresh = solve(name, expected)
    assert edited.status is fresh.status is SolveStatus.OPTIMAL
    assert verify(expected, [], edited.x).violation < 1e-5
    assert agree(expected.objective(edited.x), expected.objective(fresh.x))


CURVED = [pair for pair in PAIRS if pair.values[1].endswith("QP")]


@pytest.mark.parametrize(("name", "kind"), CURVED)
@pytest.mark.parametrize("begins", ["quadratic", "linear"])
def test_the_quadratic_objective_can_be_replaced(name, kind, begins):
    start = example(kind, 3)
    root = np.random.default_rng(8).normal(size=(4, start.program.num_columns))
    matrices = [sp.csr_array(root.T @ root), sp.csr_array(0.1 * np.eye(start.program.num_columns))]
    first = start.program if begins == "quadratic" else replace(start.program, quadratic=None)
    cost = np.random.default_rng(9).normal(size=start.program.num_columns)
    session = LastingSession(first, Solver(BACKENDS[name], SessionOptions()))
    session.solve(UNLIMITED)
    for matrix in matrices:
        session.set_quadratic(matrix)
        session.set_cost(cost, 1.0)
        expected = replace(start.program, quadratic=matrix, cost=cost, offset=1.0)
        for _ in range(2):
            solution = session.solve(UNLIMITED)
            assert solution.status is SolveStatus.OPTIMAL
            assert agree(expected.objective(solution.x), reference(expected))
            # A session that is opened again has all edits.
            session.reopen()
    session.close()


@for_every_pair
def test_edits_add_up(name, kind):
    start = example(kind, 5)
    session = BACKENDS[name].open(start.program, SessionOptions())
    program = start.program
    for edit in ("rows", "cost", "bounds", "rows"):
        apply, program = edits(program, start.inside, 6)[edit]
        apply(session)
        solution = session.solve(UNLIMITED, start.inside)
        assert verify(program, [], solution.x).violation < 1e-5
        assert agree(program.objective(solution.x), program.objective(solve(name, program).x))
    session.close()


@for_every_pair
def test_replacing_no_rows_changes_nothing(name, kind):
    program = example(kind, 7).program
    session = BACKENDS[name].open(program, SessionOptions())
    before = session.solve(UNLIMITED)
    session.replace_rows(NUM_ROWS, sp.csr_array((0, program.num_columns)), np.zeros(0), np.zeros(0))
    after = session.solve(UNLIMITED)
    session.close()
    assert agree(program.objective(after.x), program.objective(before.x))


@for_every_pair
def test_an_infeasible_program_is_called_infeasible(name, kind):
    program = convert(
        Program(cost=[1.0, 1.0], rows=[[1.0, 1.0], [1.0, 1.0]], row_lb=[3.0, -np.inf], row_ub=[np.inf, 2.0], lb=-9.0, ub=9.0), kind
    )
    solution = solve(name, program)
    assert solution.status is SolveStatus.INFEASIBLE
    assert solution.x is None


@for_every_pair
def test_a_row_of_zeros_may_be_infeasible(name, kind):
    program = convert(Program(cost=[1.0, 1.0], rows=sp.csr_array((1, 2)), row_lb=1.0, lb=0.0, ub=1.0), kind)
    assert solve(name, program).status is SolveStatus.INFEASIBLE
    assert solve(name, replace(program, row_lb=-1.0, row_ub=0.0)).status is SolveStatus.OPTIMAL


@for_every_pair
def test_an_unbounded_program_is_called_unbounded(name, kind):
    program = convert(Program(cost=[-1.0, 1.0], rows=[[1.0, -1.0]], row_lb=0.0, lb=0.0, ub=[np.inf, 5.0]), kind)
    solution = solve(name, program)
    assert solution.status is SolveStatus.UNBOUNDED
    assert solution.x is None


def infeasible_with_a_ray() -> Program:
    """Column 0 improves forever, but the rows on the others contradict each other in a way that only a solve finds out."""
    rng = np.random.default_rng(8)
    n, m = 12, 40
    rows, weights = rng.normal(size=(m, n)), rng.uniform(0.1, 1.0, size=m)
    rows[-1] = -(weights[:-1] @ rows[:-1]) / weights[-1]
    rhs = rows @ rng.normal(size=n)
    rhs -= (weights @ rhs + 1.0) * weights / (weights @ weights)
    full = np.hstack([np.zeros((m, 1)), rows])
    return Program(cost=np.concatenate([[-1.0], np.zeros(n)]), rows=full, row_ub=rhs, lb=np.concatenate([[0.0], np.full(n, -np.inf)]))


@for_every_pair
def test_an_infeasible_program_is_not_called_unbounded(name, kind):
    program = infeasible_with_a_ray()
    if kind.startswith("MI"):
        program = replace(program, integer=[0])
    if kind.endswith("QP"):
        program = replace(program, quadratic=np.diag(np.eye(program.num_columns)[1]))
    program = with_loose_curves(program, kind)
    assert solve(name, program).status is SolveStatus.INFEASIBLE


@for_every_pair
def test_a_program_may_have_no_rows(name, kind):
    solution = solve(name, convert(Program(cost=[1.0, -4.0], lb=-2.0, ub=3.0), kind))
    assert solution.status is SolveStatus.OPTIMAL
    assert np.allclose(solution.x, [-2.0, 3.0], atol=1e-4)


@for_every_pair
@pytest.mark.parametrize("seconds", [0.0, 1e-3, -1.0])
def test_a_time_limit_of_nothing_is_not_an_error(name, kind, seconds):
    program = example(kind, 9).program
    solution = solve(name, program, Limits(seconds=seconds))
    assert solution.status in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE, SolveStatus.TIME_LIMIT)
    if solution.x is not None:
        assert verify(program, [], solution.x).violation < 1e-5


@for_every_pair
def test_an_interrupt_is_not_an_error(name, kind):
    program = example(kind, 10).program
    solution = solve(name, program, Limits(interrupted=lambda: True))
    assert solution.status in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE, SolveStatus.INTERRUPTED)


@pytest.mark.parametrize(("name", "kind"), [pair for pair in PAIRS if pair.values[1] == "MILP"])
@pytest.mark.parametrize("how", ["time limit", "interrupt"])
def test_a_long_solve_can_be_stopped(name, kind, how):
    program = market_split()
    began = time.monotonic()
    limits = Limits(seconds=0.5) if how == "time limit" else Limits(interrupted=lambda: time.monotonic() > began + 0.5)
    solution = solve(name, program, limits)
    # It would go on for many minutes.
    assert time.monotonic() - began < 30.0
    stopped = SolveStatus.TIME_LIMIT if how == "time limit" else SolveStatus.INTERRUPTED
    assert solution.status is (SolveStatus.FEASIBLE if solution.x is not None else stopped)
    assert solution.x is None or verify(program, [], solution.x).violation < 1e-5


# HiGHS does not tell its dual objective of linear programs, and Gurobi not always where constraints are quadratic.
WITHOUT_BOUND = {("highs", "LP"), ("gurobi", "QCP")}


@for_every_pair
@pytest.mark.parametrize("seed", [1, 2])
def test_an_optimum_comes_with_its_bound(name, kind, seed):
    program = example(kind, seed).program
    solution = solve(name, program)
    gap = UNLIMITED.gap * abs(reference(program)) if kind.startswith("MI") else 0.0
    if solution.bound > -np.inf or (name, kind) not in WITHOUT_BOUND:
        assert -1e-5 - gap <= solution.bound - reference(program) <= 1e-5


@for_every_pair
def test_a_bound_is_one_of_the_edited_program(name, kind):
    start = example(kind, 3)
    if (name, kind) in WITHOUT_BOUND:
        pytest.skip("no bound")
    with closing(BACKENDS[name].open(start.program, SessionOptions())) as session:
        session.solve(UNLIMITED)
        held = np.where(np.arange(start.inside.size) == 3, start.inside, start.program.lb)
        session.set_cost(-start.program.cost, 70.0)
        session.set_bounds(held, np.where(np.arange(start.inside.size) == 3, start.inside, start.program.ub))
        solution = session.solve(UNLIMITED)
    reached = -(start.program.cost @ solution.x) + 70.0 + start.program.objective(solution.x)
    reached -= start.program.cost @ solution.x + start.program.offset
    assert solution.bound == pytest.approx(reached, rel=1e-4)


@for_every_pair
def test_a_relaxation_has_a_bound_of_its_own(name, kind):
    program = example(kind, 1).program
    with closing(BACKENDS[name].open(program, SessionOptions())) as session:
        session.solve(UNLIMITED)
        solution = session.solve(UNLIMITED, relax=True)
    assert solution.bound <= program.objective(solution.x) + 1e-5


@pytest.mark.parametrize(("name", "kind"), [pair for pair in PAIRS if pair.values[1] == "MILP"])
@pytest.mark.parametrize("limits", [{"seconds": 0.0}, {"seconds": 0.05}, {"seconds": 1.0}, {"nodes": 0}, {"nodes": 1}], ids=str)
def test_an_unfinished_solve_has_a_bound_or_none(name, kind, limits):
    rng = np.random.default_rng(0)
    weights, n = rng.integers(1, 100, size=(20, 150)).astype(float), 150
    program = Program(cost=-rng.integers(10, 100, n), offset=-500.0, rows=weights, row_ub=900.0, lb=0.0, ub=1.0, integer=np.arange(n))
    solution = solve(name, program, Limits(**limits))
    assert solution.status in (SolveStatus.FEASIBLE, SolveStatus.TIME_LIMIT)
    # This one is feasible.
    assert solution.bound <= -500.0 + program.cost.min()
    if limits in ({"seconds": 1.0}, {"nodes": 1}):
        assert solution.bound > -1e4
    if solution.x is not None:
        assert solution.bound <= program.objective(solution.x)


@for_every_pair
def test_without_a_point_there_is_no_bound(name, kind):
    program = convert(Program(cost=[1.0, 1.0], rows=[[1.0, 1.0]], row_lb=5.0, lb=0.0, ub=1.0), kind)
    assert solve(name, program).bound == -np.inf
    unbounded = convert(Program(cost=[-1.0, 0.0], lb=0.0, ub=[np.inf, 1.0]), kind)
    assert solve(name, unbounded).bound == -np.inf


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e20, -1e20, 1e100, -1e100])
def test_what_stands_for_infinity_is_no_bound(value):
    assert told_bound(value) == -np.inf
    assert told_bound(-3.5) == -3.5


@for_every_backend
def test_an_unknown_solver_option_is_named(name):
    with pytest.raises(InputError, match=r"solver_options has '?no_such_option"):
        BACKENDS[name].open(Program(cost=[1.0], lb=0.0), SessionOptions(solver_options={"no_such_option": 1}))


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("highs", "simplex_strategy", "quickly"),
        ("piqp", "eps_abs", "small"),
        ("clarabel", "tol_feas", "small"),
        ("scip", "limits/gap", "small"),
        ("gurobi", "MIPGap", "small"),
    ],
)
def test_a_bad_value_of_a_solver_option_is_named(name, option, value):
    if not is_installed(BACKENDS[name]):
        pytest.skip(f"{name} is not installed")
    with pytest.raises(InputError, match=rf"solver_options has {option}='{value}', which .* does not take"):
        BACKENDS[name].open(Program(cost=[1.0], lb=0.0), SessionOptions(solver_options={option: value}))


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("highs", "LP", {"simplex_iteration_limit": 0, "presolve": "off"}),
        ("piqp", "QP", {"max_iter": 1}),
        ("clarabel", "SOCP", {"max_iter": 1}),
        ("gurobi", "LP", {"IterationLimit": 0, "Presolve": 0}),
        ("scip", "MILP", {"limits/solutions": 1}),
    ],
)
def test_a_solver_option_reaches_the_solver(name, kind, options):
    if not is_installed(BACKENDS[name]):
        pytest.skip(f"{name} is not installed")
    program = example(kind, 11).program
    assert solve(name, program).status is SolveStatus.OPTIMAL
    assert solve(name, program, solver_options=options).status is not SolveStatus.OPTIMAL


@for_every_pair
def test_the_same_seed_gives_the_same_answer(name, kind):
    program = example(kind, 12).program
    one, two = (solve(name, program, seed=3).x for _ in range(2))
    assert np.array_equal(one, two)


@for_every_backend
def test_sessions_may_ask_for_different_numbers_of_threads(name):
    program = example("LP", 13).program
    for threads in (1, 2, 1):
        assert solve(name, program, threads=threads).status is SolveStatus.OPTIMAL


@for_every_pair
@pytest.mark.parametrize("where", ["inside", "optimal", "nowhere near"])
def test_a_start_does_not_change_the_optimal_value(name, kind, where):
    case = example(kind, 14)
    cold = solve(name, case.program)
    start = {"inside": case.inside, "optimal": cold.x, "nowhere near": np.full(case.program.num_columns, 1e4)}[where]
    warm = solve(name, case.program, start=start)
    assert warm.status is SolveStatus.OPTIMAL
    assert agree(case.program.objective(warm.x), case.program.objective(cold.x))


@for_every_pair
def test_two_sessions_do_not_disturb_each_other(name, kind):
    one, two = example(kind, 15).program, example(kind, 16).program
    first = BACKENDS[name].open(one, SessionOptions())
    before = first.solve(UNLIMITED)
    second = BACKENDS[name].open(two, SessionOptions())
    other = second.solve(UNLIMITED)
    after = first.solve(UNLIMITED)
    first.close()
    second.close()
    assert agree(one.objective(after.x), one.objective(before.x))
    assert verify(two, [], other.x).violation < 1e-5


def switched_program(value: int, quadratic: bool) -> Program:
    """A binary decides between two sides of a bounded column; both binaries cost something."""
    indicators = [
        Indicator(2, value, [1.0, 1.0, 0.0], ub=-1.0),
        Indicator(2, 1 - value, [1.0, -1.0, 0.0], lb=2.0, ub=2.5),
    ]
    cost = [1.0, 2.0, 0.5]
    return Program(
        cost=cost,
        quadratic=np.diag([1.0, 1.0, 0.0]) if quadratic else None,
        lb=[-4.0, -4.0, 0.0],
        ub=[4.0, 4.0, 1.0],
        integer=[2],
        indicators=indicators,
    )


NATIVE = [parameter for parameter in PAIRS if BACKENDS[parameter.values[0]].has_indicators and parameter.values[1].startswith("MI")]


@pytest.mark.parametrize(("name", "kind"), NATIVE)
@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("forced", [None, 0.0, 1.0])
def test_indicators_of_the_solver_mean_the_same_as_their_rows(name, kind, value, forced):
    program = with_loose_curves(switched_program(value, kind == "MIQP"), kind)
    lb, ub = program.lb.copy(), program.ub.copy()
    if forced is not None:
        lb[2] = ub[2] = forced
    program = replace(program, lb=lb, ub=ub)
    own, rows = solve(name, program), solve(name, linearize_indicators(program))
    assert own.status is rows.status is SolveStatus.OPTIMAL
    assert verify(program, [], own.x).violation < 1e-5
    assert agree(program.objective(own.x), program.objective(rows.x))


@pytest.mark.parametrize(("name", "kind"), NATIVE)
def test_a_relaxation_has_the_indicators_that_bounds_switch_on(name, kind, capfd):
    program = with_loose_curves(switched_program(1, kind == "MIQP"), kind)
    session = BACKENDS[name].open(program, SessionOptions())
    best = program.objective(session.solve(UNLIMITED).x)
    assert program.objective(session.solve(UNLIMITED, relax=True).x) <= best + 1e-5
    for fixed in (0.0, 1.0):
        lb, ub = program.lb.copy(), program.ub.copy()
        lb[2] = ub[2] = fixed
        session.set_bounds(lb, ub)
        held, relaxed = session.solve(UNLIMITED), session.solve(UNLIMITED, relax=True)
        assert verify(program, [], relaxed.x).violation < 1e-5
        assert agree(program.objective(relaxed.x), program.objective(held.x))
    session.close()
    assert "ERROR" not in capfd.readouterr().err


@pytest.mark.parametrize(("name", "kind"), NATIVE)
def test_indicators_of_the_solver_need_no_bounds(name, kind):
    indicator = Indicator(1, 1, [1.0, 0.0], lb=3.0)
    quadratic = np.diag([1.0, 0.0]) if kind == "MIQP" else None
    program = Program(cost=[1.0, -50.0], quadratic=quadratic, lb=[-7.0, 0.0], ub=[np.inf, 1.0], integer=[1], indicators=[indicator])
    assert np.allclose(solve(name, program).x, [3.0, 1.0], atol=1e-5)


@pytest.mark.parametrize(("name", "kind"), NATIVE)
def test_an_indicator_row_of_zeros_can_forbid_a_value(name, kind):
    indicator = Indicator(1, 1, [0.0, 0.0], lb=1.0)
    quadratic = np.diag([1.0, 0.0]) if kind == "MIQP" else None
    program = Program(cost=[5.0, -50.0], quadratic=quadratic, lb=[-1.0, 0.0], ub=1.0, integer=[1], indicators=[indicator])
    assert np.allclose(solve(name, program).x, [-1.0, 0.0], atol=1e-5)


@pytest.mark.parametrize(("name", "kind"), NATIVE)
def test_bounds_of_a_binary_behind_indicators_can_be_edited(name, kind):
    program = with_loose_curves(switched_program(1, kind == "MIQP"), kind)
    session = BACKENDS[name].open(program, SessionOptions())
    for fixed in (0.0, 1.0):
        lb, ub = program.lb.copy(), program.ub.copy()
        lb[2] = ub[2] = fixed
        session.set_bounds(lb, ub)
        solution = session.solve(UNLIMITED)
        assert solution.x[2] == pytest.approx(fixed)
        assert verify(program, [], solution.x).violation < 1e-5
    session.close()


@pytest.mark.parametrize("name", [backend_parameter(name) for name in BACKENDS if "MILP" in BACKENDS[name].classes])
def test_improving_points_are_reported_in_the_thread_of_the_caller(name):
    rng = np.random.default_rng(0)
    program = Program(-rng.uniform(1, 10, 30), rows=rng.integers(1, 9, (15, 30)), row_ub=40.0, lb=0.0, ub=1.0, integer=np.arange(30))
    seen = []
    session = BACKENDS[name].open(program, SessionOptions())
    solution = session.solve(Limits(on_solution=lambda x: seen.append((threading.current_thread(), x))), np.zeros(30))
    silent = session.solve(UNLIMITED)
    session.close()
    assert {thread for thread, _ in seen} == {threading.current_thread()}
    assert all(verify(program, [], x).violation < 1e-5 for _, x in seen)
    objectives = [program.objective(x) for _, x in seen]
    assert (np.diff(objectives) <= 0).all()
    assert agree(objectives[-1], program.objective(solution.x))
    assert agree(program.objective(silent.x), program.objective(solution.x))


@pytest.mark.parametrize("name", [backend_parameter(name) for name in BACKENDS if "MILP" in BACKENDS[name].classes])
def test_a_limit_of_nodes_ends_a_mixed_integer_solve_in_the_same_place_every_time(name):
    program = market_split()
    limits = replace(UNLIMITED, seconds=200.0, nodes=3)
    ends = [solve(name, program, limits) for _ in range(2)]
    assert ends[0].status is not SolveStatus.OPTIMAL
    assert ends[0].status in (SolveStatus.FEASIBLE, SolveStatus.TIME_LIMIT)
    assert ends[0].status is ends[1].status
    assert (ends[0].x is None) == (ends[1].x is None)
    assert ends[0].x is None or np.array_equal(ends[0].x, ends[1].x)
