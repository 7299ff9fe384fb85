"""Column generation: small programs at once, points of blocks, their combinations, and whole runs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import dcembed
from block_problems import Case, block_case, shifted
from dcembed.crew.crew import Crew
from dcembed.crew.task import Shared
from dcembed.embedded.blocks import find_blocks
from dcembed.embedded.point import measure_point
from dcembed.engine.columns import generator
from dcembed.engine.columns.batched_lp import Programs, solve_programs
from dcembed.engine.columns.columns import Columns
from dcembed.engine.columns.generator import Task, begin, hear, price, relax
from dcembed.engine.columns.integers import find_choices
from dcembed.engine.columns.layout import Layout, lay_out
from dcembed.engine.columns.pieces import measure_pieces
from dcembed.engine.columns.pool import put_points
from dcembed.engine.columns.pricing import begin as begin_walks
from dcembed.engine.columns.pricing import step
from dcembed.engine.columns.recombination import Kind, recombine
from dcembed.engine.problem import build_problem
from dcembed.program.tightening import tighten
from dcembed.run.clock import Clock
from dcembed.run.starts import with_predictions
from dcembed.solvers.base import Limits
from strategies import seeds

LINKS = ("budget", "demand", "range", "predictions")


def layout_of(case: Case) -> Layout:
    embedded = case.eliminate()
    layout = lay_out(embedded, find_blocks(embedded), tighten(embedded.bounded_host))
    assert layout is not None
    return layout


def task_of(case: Case) -> Task:
    layout = layout_of(case)
    problem = build_problem(layout.embedded, dcembed.Options(verbose=False))
    nothing = np.clip(np.zeros(layout.blocks.block.size), layout.box.lb, layout.box.ub)
    return Task(Shared(problem), layout, find_choices(layout), with_predictions(layout.embedded, nothing))


def draw_point(layout: Layout, seed: int) -> np.ndarray:
    """Anywhere inside the bounds, with whole integers and true predictions."""
    rng = np.random.default_rng(seed)
    lb, ub = (np.where(np.isfinite(side), side, 0.0) for side in layout.box)
    w = lb + rng.random(lb.size) * (ub - lb)
    return with_predictions(layout.embedded, np.where(layout.embedded.integer, np.round(w), w))


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e2])
@pytest.mark.parametrize("num_rows", range(5))
def test_small_programs_are_solved_as_one_by_one(num_rows, scale):
    rng, width = np.random.default_rng(num_rows), 6
    shape = 5, num_rows, width
    programs = Programs(
        cost=scale * rng.normal(size=(5, width)),
        rows=rng.normal(size=shape),
        rhs=np.where(rng.random(shape[:2]) < 0.2, np.inf, rng.normal(size=shape[:2])),
        price=scale * rng.uniform(0.5, 5.0, size=shape[:2]),
    )
    solved = solve_programs(programs)
    for number in range(5):
        cost, rows, rhs, charge = (part[number] for part in (programs.cost, programs.rows, programs.rhs, programs.price))
        has = np.isfinite(rhs)
        wide = np.hstack([rows[has], -np.eye(has.sum())])
        bounds = [(0, 1)] * width + [(0, None)] * int(has.sum())
        exact = linprog(
            np.concatenate([cost, charge[has]]), A_ub=wide if has.any() else None, b_ub=rhs[has] if has.any() else None, bounds=bounds
        )
        s = solved.s[number]
        assert (s >= 0.0).all()
        assert (s <= 1.0).all()
        value = cost @ s + charge[has] @ np.maximum(rows[has] @ s - rhs[has], 0.0)
        assert value <= exact.fun + 1e-4 * scale
        assert (solved.multipliers[number] <= charge * (1 + 1e-9)).all()


def test_a_program_with_rows_that_contradict_each_other_pays_for_the_cheaper_one():
    rows = np.array([[[1.0, 0.0], [-1.0, 0.0]]])
    solved = solve_programs(Programs(np.zeros((1, 2)), rows, np.array([[0.2, -0.8]]), np.array([[1.0, 10.0]])))
    assert solved.s[0, 0] == pytest.approx(0.8, abs=1e-3)


@settings(deadline=None, max_examples=20)
@given(seeds(), st.sampled_from(LINKS), st.booleans())
def test_pieces_add_up_to_the_point(seed, link, second):
    case = shifted(block_case(seed % 50, 9, link, second, permuted=True), 0.1)
    layout = layout_of(case)
    pieces = measure_pieces(layout, draw_point(layout, seed))
    point = measure_point(layout.embedded, pieces.w)
    outside = ~layout.is_inside
    alone = layout.embedded.host.cost[outside] @ point.w[outside] + layout.embedded.host.offset
    assert pieces.cost.sum() + alone == pytest.approx(point.objective, rel=1e-9, abs=1e-9)
    links = layout.links
    used = (
        np.asarray(pieces.use.sum(axis=0)).reshape(-1) + links.matrix[:, np.flatnonzero(outside)] @ point.w[outside] + layout.link_constant
    )
    neural = np.append(point.neural, 0.0)[links.measurement]
    np.testing.assert_allclose(used, links.matrix @ point.w + neural, rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=12)
@given(seeds(), st.sampled_from(LINKS))
def test_recombined_points_are_feasible_whenever_their_pieces_are(seed, link):
    task = task_of(block_case(seed % 20, 9, link, permuted=True))
    layout, state, rng = task.layout, begin(task), np.random.default_rng(seed)
    for _ in range(3):
        state = price(task, state, state.prices, rng, Crew(), Clock(np.inf))
    numbers = np.array([rng.choice(np.append(np.flatnonzero(state.pool.block == block), -1)) for block in range(layout.num_blocks)])
    held = measure_pieces(layout, task.nothing).violation <= task.tolerance
    w = put_points(layout, state.pool, numbers, task.nothing)
    pieces, point = measure_pieces(layout, w), measure_point(layout.embedded, w)
    assert (pieces.violation[(numbers >= 0) | held] <= task.tolerance).all()
    value = layout.links.matrix @ point.w + np.append(point.neural, 0.0)[layout.links.measurement]
    missed = np.maximum(value - layout.links.ub, layout.links.lb - value).max(initial=0.0)
    if pieces.violation.max() <= task.tolerance:
        assert point.violation <= max(missed, task.tolerance) + 1e-12


@pytest.mark.parametrize("link", LINKS)
def test_the_master_combines_pieces_to_a_point_that_holds(link):
    task = task_of(block_case(5, 10, link))
    state, rng, clock = begin(task), np.random.default_rng(0), Clock(np.inf)
    for _ in range(6):
        state = relax(task, price(task, state, state.prices, rng, Crew(), clock), clock)
    w = recombine(task, state, None, Kind.STRICT, Limits())
    assert w is not None
    point = measure_point(task.layout.embedded, w)
    assert point.violation <= task.problem.options.feasibility_tol
    assert point.objective >= state.value - 1e-6 * abs(state.value)


def test_the_relaxed_master_never_loses_what_it_has():
    task = task_of(block_case(7, 12))
    state, rng, clock, values = begin(task), np.random.default_rng(0), Clock(np.inf), []
    for _ in range(8):
        state = relax(task, price(task, state, state.prices, rng, Crew(), clock), clock)
        values.append(state.value)
    assert all(later <= earlier + 1e-6 for earlier, later in itertools.pairwise(values))


def test_each_block_takes_only_steps_that_make_it_better():
    task = task_of(block_case(2, 10))
    prices, walks = np.full(task.layout.links.num_links, 0.1), begin_walks(task.layout, task.nothing)
    before = walks.pieces.value(prices)
    held = walks.pieces.violation <= task.tolerance
    for _ in range(5):
        walks, _ = step(task.layout, prices, walks)
    both = held & (walks.pieces.violation <= task.tolerance)
    assert (walks.pieces.value(prices)[both] <= before[both] + 1e-9).all()


def test_pieces_of_a_point_are_kept_once():
    task = task_of(block_case(1, 10))
    state = begin(task)
    again = hear(task, hear(task, state, task.nothing), task.nothing)
    assert again.pool.size == state.pool.size


def test_few_choices_of_integers_are_all_gone_through():
    layout = layout_of(block_case(0, 9))
    choices = find_choices(layout)
    assert set(choices.counts) == {6.0}
    seen = {choices.numbered(np.full(9, number), layout.take(np.zeros(layout.blocks.block.size)))[0].tobytes() for number in range(6)}
    assert len(seen) == 6


@pytest.mark.parametrize(("link", "activation"), [*((link, "relu") for link in LINKS), ("demand", "tanh"), ("predictions", "gelu")])
def test_runs_with_and_without_columns_end_at_verified_points(link, activation, capsys):
    case = block_case(4, 10, link, permuted=True, activation=activation)
    results = {}
    for columns in (True, False):
        options = dcembed.Options(columns=columns, search="converge", max_starts=1, max_iterations=6)
        results[columns] = dcembed.solve(case.program, case.embeddings, options=options)
        assert ("10 blocks, 2 linking rows" in capsys.readouterr().out) == columns
        check = dcembed.verify(case.program, case.embeddings, results[columns].x)
        assert check.violation <= options.feasibility_tol
        assert check.objective == pytest.approx(results[columns].objective)
    assert any(record.kind == "columns" for record in results[True].history)
    assert not any(record.kind == "columns" for record in results[False].history)


def test_the_same_seed_gives_the_same_run():
    case = block_case(6, 10)
    options = dcembed.Options(search="converge", max_starts=2, max_iterations=4, verbose=False)
    first, second = (dcembed.solve(case.program, case.embeddings, options=options) for _ in range(2))
    assert [record.objective for record in first.history] == pytest.approx([record.objective for record in second.history], nan_ok=True)
    assert first.x.tolist() == second.x.tolist()


def test_a_problem_whose_blocks_have_cones_is_solved_as_one_piece():
    case = block_case(0, 10)
    first = int(np.flatnonzero(case.item == 0)[0])
    unit = np.eye(case.program.num_columns)
    cone = dcembed.QuadraticConstraint(quadratic=np.diag(unit[first]), coefficients=np.zeros(case.program.num_columns), ub=0.3)
    program = dcembed.Program(
        cost=case.program.cost,
        rows=case.program.rows,
        row_lb=case.program.row_lb,
        row_ub=case.program.row_ub,
        lb=case.program.lb,
        ub=case.program.ub,
        integer=case.program.integer,
        indicators=case.program.indicators,
        quadratic_constraints=[cone],
    )
    embedded = Case(program, case.embeddings, case.item).eliminate()
    assert lay_out(embedded, find_blocks(embedded), tighten(embedded.bounded_host)) is None


def test_with_very_many_blocks_prices_come_from_a_sample(monkeypatch):
    rng = np.random.default_rng(0)
    net = dcembed.build_mlp(weights=[rng.normal(size=(8, 2)), rng.normal(size=(1, 8))], biases=[rng.normal(size=8), np.zeros(1)])
    number = 60
    inputs = dcembed.AffineInputs(np.kron(np.eye(number), [[1.0], [0.0]]) @ np.eye(number, 2 * number), rng.normal(size=(number, 2)))
    program = dcembed.Program(
        cost=np.repeat([0.0, -1.0], number),
        rows=np.repeat([1.0, 0.0], number)[None],
        row_ub=0.3 * number,
        lb=np.repeat([0.0, -np.inf], number),
        ub=np.repeat([1.0, np.inf], number),
    )
    embedding = dcembed.Embedding(net, inputs, np.arange(number, 2 * number)[:, None])
    case = Case(program, [embedding], np.tile(np.arange(number), 2))
    values = {}
    for limit in (10_000, 40):
        monkeypatch.setattr(generator, "MAX_RELAXED", limit)
        task, clock, rng = task_of(case), Clock(np.inf), np.random.default_rng(1)
        state = begin(task)
        for _ in range(9):
            state = relax(task, price(task, state, state.prices, rng, Crew(), clock), clock)
        assert task.is_sampled == (limit == 40)
        w = recombine(task, state, None, Kind.QUICK, Limits())
        point = measure_point(task.layout.embedded, w)
        assert point.is_feasible(task.problem.options.feasibility_tol)
        values[limit] = point.objective
    assert values[40] == pytest.approx(values[10_000], rel=0.05)


def test_a_point_of_the_users_is_kept_whatever_happens_to_the_first_combination(monkeypatch):
    case = block_case(4, 10)
    options = dcembed.Options(search="converge", max_starts=1, max_iterations=4, verbose=False)
    good = dcembed.solve(case.program, case.embeddings, options=options)
    assert good.is_feasible

    def fail(self):
        raise RuntimeError("a mistake")

    monkeypatch.setattr(Columns, "next", fail)
    with pytest.raises(RuntimeError) as caught:
        dcembed.solve(case.program, case.embeddings, start=good.x, options=options)
    assert caught.value.result.objective <= good.objective + 1e-9
    assert caught.value.result.is_feasible


def test_without_a_proof_nothing_is_gathered_for_one(monkeypatch):
    """With millions of columns that takes a while, after the time limit."""
    monkeypatch.setattr(Columns, "hint", lambda self: pytest.fail("nobody has asked for a proof"))
    case = block_case(0, num_items=12)
    assert dcembed.solve(case.program, case.embeddings, options=dcembed.Options(max_starts=2, verbose=False)).is_feasible
