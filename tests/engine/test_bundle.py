"""Cuts, local splits and the cutting-plane loop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dcembed
from dcembed import AffineInputs, Embedding, Program, build_mlp
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.measurements import evaluate_measurements
from dcembed.embedded.point import measure_point
from dcembed.engine.bundle import local_split
from dcembed.engine.bundle.global_split import GlobalSplit
from dcembed.engine.bundle.local_split import split_on_box
from dcembed.engine.bundle.look_ahead import look_ahead, num_looks, step_columns
from dcembed.engine.bundle.state import begin
from dcembed.engine.cuts import MAX_AGE, Heights, empty_pool
from dcembed.engine.outcome import Walk
from dcembed.engine.problem import build_problem
from dcembed.engine.region import first_region
from dcembed.engine.start import run_start
from dcembed.engine.workshop import Steps
from dcembed.network.bounds import bound
from dcembed.program.tightening import Box
from dcembed.run.arguments import read_arguments
from dcembed.run.clock import Clock
from dcembed.run.host import open_host
from dcembed.run.journal import open_journal
from dcembed.run.starts import find_start
from dcembed.solvers.base import Limits
from frontends.problems import make_network
from problems import binary_problem, box_problem, indicator_problem, level_problem, quiet, random_mlp
from strategies import networks, seeds

MODERATE = (0.3, 1.0, 2.0)


def embed(network, seed: int, k: int = 3):
    """k evaluations of affine inputs of three columns, in the objective and in a range."""
    rng = np.random.default_rng(seed)
    num_outputs = k * network.num_outputs
    n = 3 + num_outputs
    matrix = np.zeros((k * network.num_inputs, n))
    # The first two evaluations share their coefficients and so their part.
    block = rng.normal(size=(network.num_inputs, 3))
    for i in range(k):
        matrix[i * network.num_inputs : (i + 1) * network.num_inputs, :3] = block if i < 2 else rng.normal(size=block.shape)
    rows = np.hstack([rng.normal(size=(1, 3)), rng.normal(size=(1, num_outputs))])
    program = Program(
        cost=rng.normal(size=n),
        rows=rows,
        row_lb=-1.0,
        row_ub=1.0,
        lb=np.concatenate([np.full(3, -1.0), np.full(num_outputs, -np.inf)]),
        ub=np.concatenate([np.full(3, 1.0), np.full(num_outputs, np.inf)]),
    )
    inputs = AffineInputs(matrix, rng.normal(size=(k, network.num_inputs)))
    return eliminate(program, [Embedding(network, inputs, 3 + np.arange(num_outputs).reshape(k, -1))]), rng


def splits(embedded, rng):
    """The global split, and a local one on a box, with points of that box."""
    middle = rng.uniform(-0.7, 0.7, 3)
    lb, ub = middle - 0.3, middle + 0.3
    points = [lb + rng.random(3) * (ub - lb) for _ in range(4)]
    return [(GlobalSplit(embedded, Box(lb, ub)), points), (split_on_box(embedded, Box(lb, ub)), points)]


@given(networks(scales=MODERATE), seeds())
def test_a_split_gives_the_measurements_and_its_model_majorizes_them(network, seed):
    embedded, rng = embed(network, seed)
    for split, points in splits(embedded, rng):
        sums = sp.hstack([_sum_parts(embedded)], format="csr")
        for w, v in itertools.product(points[:2], points):
            tangents, heights = split.tangents(w), split.heights(v)
            f = evaluate_measurements(embedded, v, embedded.predict(v))
            slope, constant = split.kept
            model = slope @ v + constant + sums @ heights.value - (tangents.slope @ v + tangents.constant)
            size = 1e-7 * (1 + np.abs(f) + np.abs(model) + (sums @ heights.value))
            assert np.all(model >= f - size)
            if w is v:
                assert np.all(np.abs(model - f) <= size)
                both = split.linearize(w)
                assert abs(both[0].slope - tangents.slope).max() <= 1e-12 * (1 + abs(tangents.slope).max())
                assert np.array_equal(both[1].value, heights.value)


def _sum_parts(embedded):
    size = embedded.restrictions.num_restrictions + 1
    return sp.hstack([sp.csr_array((size, 0)), *embedded.part_sums.values()], format="csr")


@given(networks(scales=MODERATE), seeds())
def test_a_cut_never_cuts_off_a_point_of_the_epigraph(network, seed):
    embedded, rng = embed(network, seed)
    for split, points in splits(embedded, rng):
        pool = empty_pool(3)
        for w in points:
            heights = split.heights(w)
            pool = pool.add(heights, w, np.full(heights.value.size, -np.inf))
        for v in points:
            theta = split.heights(v).value
            constant, value = pool.constant, pool.rows(theta.size) @ np.concatenate([v, theta])
            assert np.all(value >= constant - 1e-7 * (1 + np.abs(constant) + np.abs(value)))


@given(networks(scales=MODERATE), seeds())
def test_the_unit_part_stays_below_its_bound_on_the_box(network, seed):
    embedded, rng = embed(network, seed)
    sums = _sum_parts(embedded)
    for split, points in splits(embedded, rng):
        largest = split.largest_kept()
        for w in points:
            assert np.all(sums @ split.heights(w).value <= largest + 1e-7 * (1 + np.abs(largest)))


def test_cuts_long_loose_are_dropped_and_say_where_they_stood():
    heights = Heights(np.array([1.0, 2.0]), sp.csr_array(np.array([[1.0], [0.0]])))
    first = empty_pool(1, num_made=5).add(heights, np.zeros(1), np.zeros(2))
    assert first.places_in(np.zeros(0, dtype=int), 3).tolist() == [-1, -1]
    pool = first
    for _ in range(MAX_AGE):
        pool = pool.aged(np.zeros(1), np.array([5.0, 2.0]))
    assert pool.num_cuts == 2
    pool = pool.aged(np.zeros(1), np.array([5.0, 2.0]))
    assert pool.part.tolist() == [1]
    pool = pool.add(heights, np.zeros(1), np.array([0.0, 2.0]))
    # The one that is left stood second among the old rows, which begin at 3; the other is new.
    assert pool.places_in(first.numbers, 3).tolist() == [4, -1]
    assert first.num_cuts == 2


@settings(max_examples=25)
@given(seed=seeds(), integers=st.booleans())
def test_lazy_and_shared_agree_where_the_subproblem_is_the_whole_problem(seed, integers):
    # A convex measurement (one stage, nonnegative weights) is kept exactly, so both solve the problem itself.
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(6, 3)), rng.random((1, 6))]
    network = dcembed.build_mlp(weights, [rng.normal(size=6), None])
    program = Program(
        cost=[*rng.normal(size=3), 1.0],
        lb=[-2.0, -2.0, -2.0, -np.inf],
        ub=[2.0, 2.0, 2.0, float(network(rng.normal(size=3))[0]) + 1.0],
        integer=[0, 1] if integers else None,
    )
    embedding = Embedding(network, [0, 1, 2], [3])
    results = [
        dcembed.solve(program, embedding, options=quiet(formulation=formulation, decomposition=decomposition))
        for formulation, decomposition in (("shared", "global"), ("lazy", "global"), ("lazy", "local"))
    ]
    assert len({result.is_feasible for result in results}) == 1
    if results[0].is_feasible:
        values = [result.objective for result in results]
        assert np.ptp(values) <= 1e-4 * max(1.0, abs(values[0]))


@pytest.mark.parametrize("decomposition", ["global", "local"])
@pytest.mark.parametrize("seed", [8, 9, 17])
def test_the_merit_never_increases_across_steps(decomposition, seed):
    program, embedding = level_problem(seed)
    result = dcembed.solve(program, embedding, options=quiet(decomposition=decomposition, formulation="lazy"))
    for start, penalty in {(r.start, r.penalty) for r in result.history}:
        merits = [r.point_merit for r in result.history if (r.start, r.penalty) == (start, penalty)]
        assert all(b <= a + 1e-6 * max(1.0, abs(a)) for a, b in itertools.pairwise(merits))


def test_a_region_keeps_integers_free_and_knows_when_it_is_hit():
    network = random_mlp(0, (3, 4, 1))
    program = Program(cost=np.ones(4), lb=[-1.0, 0.0, 0.0, -np.inf], ub=[1.0, 10.0, 5.0, np.inf], integer=[2])
    embedded = eliminate(program, [Embedding(network, [0, 1, 2], [3])])
    middle = np.array([0.0, 0.0, 2.0])
    region = first_region(embedded, middle, Box(program.lb[:3], program.ub[:3])).around(middle, 0.1)
    assert region.box.lb.tolist() == [-0.2, 0.0, 0.0]
    assert region.box.ub.tolist() == [0.2, 1.0, 5.0]
    assert region.is_hit(np.array([0.2, 0.5, 2.0]))
    assert not region.is_hit(np.array([0.0, 0.0, 5.0]))  # a bound of the host is no side of the box


@pytest.mark.parametrize("bounded", [True, False])
def test_a_start_far_from_the_host_is_no_obstacle(bounded):
    # x_1 + x_2 = 3.5 has no point in a small box around the origin.
    network = random_mlp(2, (2, 8, 6, 1))
    limit = 2.0 if bounded else np.inf
    program = Program(
        cost=[0.1, 0.0, 1.0],
        rows=[[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]],
        row_lb=[3.5, -1.0],
        row_ub=[3.5, 1.0],
        lb=[-limit, -limit, -np.inf],
        ub=[limit, limit, np.inf],
    )
    result = dcembed.solve(program, Embedding(network, [0, 1], [2]), start=np.zeros(3), options=quiet(decomposition="local"))
    assert result.status is dcembed.Status.LOCALLY_SOLVED
    assert result.is_feasible


def test_the_other_side_of_a_kink_is_tried_before_a_point_counts_as_solved():
    # x / 2 - relu(x) on [-1, 1] begun at its kink: both ends are local solutions, and each tangent there sees only one of them.
    network = build_mlp([[[1.0]], [[-1.0]]], [None, None])
    program = Program(cost=[0.5, 1.0], lb=[-1.0, -np.inf], ub=[1.0, np.inf])
    result = dcembed.solve(program, Embedding(network, [0], [1]), start=np.zeros(2), options=quiet(formulation="lazy"))
    assert result.objective <= -0.5 + 1e-6
    for split in (GlobalSplit, split_on_box):
        embedded = eliminate(program, [Embedding(network, [0], [1])])
        parts = split(embedded, Box(np.array([-1.0]), np.array([1.0])))
        slopes = [parts.tangents(np.zeros(1), on).slope.toarray()[0, 0] for on in (True, False)]
        assert slopes == [1.0, 0.0]


def test_with_a_global_split_the_m_of_indicators_covers_the_whole_host():
    program, embedding = indicator_problem(0)
    problem = build_problem(eliminate(program, [embedding]), quiet(formulation="lazy", decomposition="global"))
    point = measure_point(problem.embedded, np.zeros(problem.embedded.host.num_columns))
    reach = begin(problem, Walk(point, None), Clock(np.inf)).model.reach
    assert np.all(reach.box.lb[:8] <= -1.0)
    assert np.all(reach.box.ub[:8] >= 1.0 - 1e-6)


def test_looking_ahead_gives_steps_their_true_change():
    program, embedding = binary_problem(0)
    embedded = eliminate(program, [embedding])
    steps = step_columns(embedded)
    assert steps.tolist() == list(range(10))
    assert num_looks(embedded, steps) == 1
    split = GlobalSplit(embedded, Box(embedded.host.lb, embedded.host.ub))
    w = np.array([0.0, 1.0] * 5)
    for side in (1.0, -1.0):
        unseen = look_ahead(split, w, steps, split.box, side, lambda: True)
        assert abs(unseen.slope - split.tangents(w).slope).max() == 0
        ahead = look_ahead(split, w, steps, split.box, side, lambda: False)
        for column in steps:
            other = w.copy()
            other[column] = 1.0 - w[column]
            true = split.tangents(other)
            assert np.allclose(ahead.slope @ other + ahead.constant, true.slope @ other + true.constant)


def test_integers_with_a_step_on_either_side_are_looked_at_twice():
    network = random_mlp(0, (2, 6, 1))
    program = Program(cost=[1.0, 1.0, 0.0], lb=[0.0, 0.0, -np.inf], ub=[5.0, 1.0, 1.0], integer=[0, 1])
    embedded = eliminate(program, [Embedding(network, [0, 1], [2])])
    steps = step_columns(embedded)
    assert num_looks(embedded, steps) == 2
    split = GlobalSplit(embedded, Box(embedded.host.lb, embedded.host.ub))
    w = np.array([2.0, 0.0])
    for side in (1.0, -1.0):
        ahead = look_ahead(split, w, steps, split.box, side, lambda: False)
        other = np.array([2.0 + side, 0.0])
        true = split.tangents(other)
        assert np.allclose(ahead.slope @ other + ahead.constant, true.slope @ other + true.constant)


@pytest.mark.parametrize("seed", range(6))
def test_the_default_is_no_worse_than_the_papers_method_on_small_problems(seed):
    network = random_mlp(seed, (3, 16, 16, 1))
    program, embedding = box_problem(network, np.random.default_rng(seed).normal(size=3) * 0.2, 1.0)
    start = np.zeros(4)
    paper = dcembed.solve(program, embedding, start=start, options=quiet(formulation="shared", search="converge", max_starts=6))
    ours = dcembed.solve(program, embedding, start=start, options=quiet(search="converge", max_starts=6))
    assert ours.objective <= paper.objective + 0.05 * abs(paper.objective)


def test_the_same_seed_gives_the_same_trace_on_every_kind_of_host():
    for problem in (level_problem(17), binary_problem(2)):
        program, embedding = problem
        runs = [dcembed.solve(program, embedding, options=quiet(seed=5)) for _ in range(2)]
        first, second = ([(r.objective, r.penalty, r.step, r.solver_status) for r in run.history] for run in runs)
        assert first == second


def test_a_solver_that_repeats_itself_ends_a_start(monkeypatch):
    from dcembed.engine.bundle import remedies

    # With exact units it finds a point.
    monkeypatch.setattr(remedies, "has_small_networks", lambda problem: False)
    # The network is flat at the start and the equality cannot be met nearby; SCIP's tolerance kept promising a little there.
    network = make_network(2, (5, 5), 11)
    program = dcembed.Program(
        cost=[-0.8, 0.6, 0.1, 0.0],
        quadratic=np.diag([2.0, 2.0, 0.0, 0.0]),
        rows=[[0, 0, -0.25, 1]],
        row_lb=-0.2,
        row_ub=-0.2,
        lb=[-1, -1, 0, -np.inf],
        ub=[1, 1, 3, np.inf],
        integer=[2],
    )
    embedding = dcembed.Embedding(network, [[0, 1]], [3])
    # `solve` would leave the flat piece.
    with open_journal(read_arguments(program, embedding, None, quiet(solver="scip"))) as journal:
        problem = build_problem(journal.embedded, quiet(solver="scip"))
        host = open_host(problem.embedded, problem.box, problem.solver)
        start = measure_point(problem.embedded, find_start(host, Limits()).x)
        outcome = run_start(problem, start, Steps(0, 1000), (), journal)
    assert outcome.status is dcembed.Status.LOCALLY_INFEASIBLE
    assert len(journal.history) < 50


def test_an_iteration_is_marked_when_its_master_met_a_better_point_on_the_way():
    program, embedding = binary_problem(3)
    result = dcembed.solve(program, embedding, options=quiet())
    marked = [record.seconds for record in result.history if record.is_incumbent]
    found = [seconds for seconds, _ in result.incumbents if seconds > 0]
    assert marked
    # Every improving point after the start belongs to the next iteration that is recorded, and that one has the mark.
    after = [min(record.seconds for record in result.history if record.seconds >= seconds) for seconds in found[1:]]
    assert set(after) <= set(marked)


def test_with_many_integers_steps_that_hold_them_follow_a_step_of_the_master(monkeypatch):
    from dcembed.engine.bundle import master

    program, embedding = indicator_problem(1, k=60)
    held = []
    real = master._solve_held

    def watch(problem, workshop, model, point, penalty):
        solution = real(problem, workshop, model, point, penalty)
        integer = problem.embedded.host.integer
        held.append(np.abs(solution.x[: integer.size][integer] - point.w[integer]).max())
        return solution

    monkeypatch.setattr(master, "_solve_held", watch)
    start = np.zeros(program.num_columns)
    result = dcembed.solve(program, embedding, start=start, options=quiet(max_iterations=8, tangents=False))
    assert result.is_feasible
    assert held
    assert max(held) < 1e-6


def test_gaps_shrink_in_stages_to_the_tight_one():
    from dcembed.engine.bundle.master import LOOSE_GAP, TIGHT_GAP, first_gap, tightened

    assert (first_gap(10), first_gap(1000)) == (TIGHT_GAP, LOOSE_GAP)
    gaps = [first_gap(1000)]
    while gaps[-1] > TIGHT_GAP:
        gaps.append(tightened(gaps[-1]))
    assert len(gaps) > 3
    assert gaps[-1] == tightened(gaps[-1]) == TIGHT_GAP


def test_with_several_integers_the_first_gaps_are_loose_and_with_many_of_them_steps_hold_them():
    from dcembed.engine.bundle import master

    several, many = master.SEVERAL_INTEGERS + 1, master.MANY_INTEGERS + 1
    assert master.first_gap(several - 1) == master.TIGHT_GAP
    assert master.first_gap(several) == master.first_gap(many) == master.LOOSE_GAP
    assert master.num_held_steps(several, master.LOOSE_GAP) == 0
    assert master.num_held_steps(many, master.LOOSE_GAP) == master.HELD_STEPS
    assert master.num_held_steps(many, master.TIGHT_GAP) == 0


def test_loose_gaps_end_tight_on_every_solver(monkeypatch):
    from dcembed.engine.bundle import master, step

    gaps = []

    def watched(problem, workshop, model, *arguments):
        gaps.append(model.gap)
        return master.solve_master(problem, workshop, model, *arguments)

    monkeypatch.setattr(step, "solve_master", watched)
    rng = np.random.default_rng(1)
    n = 30
    network = dcembed.build_mlp([rng.normal(size=(6, n)) / np.sqrt(n), rng.normal(size=(1, 6))], [0.1 * rng.normal(size=6), None])
    weights = np.hstack([rng.random((3, n)), np.zeros((3, 1))])
    host = {"rows": weights, "row_ub": 0.3 * weights.sum(axis=1), "lb": [0.0] * n + [-10.0], "ub": [1.0] * n + [10.0], "integer": range(n)}
    program = dcembed.Program([*-rng.random(n), 0.1], quadratic=np.diag([0.05] * n + [0.0]), **host)
    options = quiet(solver="scip")
    result = dcembed.solve(program, dcembed.Embedding(network, np.arange(n), [n]), start=np.zeros(n + 1), options=options)
    # The last one need not be the tight one: a search may prove more than it was asked for.
    assert gaps[0] == master.LOOSE_GAP
    assert gaps[-1] < 0.1 * master.LOOSE_GAP
    monkeypatch.setattr(master, "SEVERAL_INTEGERS", 1000)
    whole = dcembed.solve(program, dcembed.Embedding(network, np.arange(n), [n]), start=np.zeros(n + 1), options=options)
    assert result.objective == pytest.approx(whole.objective, abs=1e-3)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_run_that_must_end_while_units_are_bounded_keeps_its_best_point_and_its_steps(monkeypatch, number):
    program, embedding = box_problem(random_mlp(3, (2, 8, 6, 1)), np.array([0.1, 0.2]), 1.0)
    asked = []

    def stop_and_bound(network, lb, ub, check):
        asked.append(True)
        if len(asked) == number:
            check.__self__.stop()
        return bound(network, lb, ub, check)

    monkeypatch.setattr(local_split, "bound", stop_and_bound)
    result = dcembed.solve(program, embedding, options=quiet(formulation="lazy", decomposition="local"))
    assert len(asked) == number
    assert result.status is dcembed.Status.INTERRUPTED
    assert result.x is not None
    assert len(result.history) >= number - 1
    assert result.objective == min(objective for _, objective in result.incumbents)
