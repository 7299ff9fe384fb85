"""Steps on plain tangents: what must hold along their way, on every kind of continuous host."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings

import dcembed
from dcembed import ConeConstraint, Embedding, Indicator, Program, QuadraticConstraint, Status, build_mlp
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import measure_point
from dcembed.engine import workshop
from dcembed.engine.problem import build_problem
from dcembed.engine.tangent import loop, merit_step
from dcembed.engine.tangent.multipliers import least_penalty
from dcembed.engine.tangent.state import begin
from dcembed.engine.tangent.tried import Tried
from dcembed.run.penalty import Penalty
from dcembed.run.settling import settle
from dcembed.solvers.base import Solution, SolveStatus
from problems import binary_problem, box_problem, indicator_problem, level_problem, quiet, random_mlp
from strategies import seeds

TOL = 1e-5
KINDS = ("linear", "quadratic", "quadratic constraint", "cone", "equality", "linked", "neural row")


def continuous_problem(kind: str, seed: int = 0) -> tuple[Program, Embedding]:
    """Two inputs over a box, the prediction in the objective, and one thing more."""
    network = random_mlp(seed, (2, 10, 8, 1))
    level = float(np.median(network(np.random.default_rng(seed).uniform(-1, 1, (500, 2)))[:, 0]))
    host = {"cost": [0.3, -0.2, 1.0], "lb": [-1.0, -1.0, -np.inf], "ub": [1.0, 1.0, np.inf]}
    more = {
        "linear": {"rows": [[1.0, 1.0, 0.0]], "row_ub": 0.5},
        "quadratic": {"quadratic": np.diag([2.0, 1.0, 0.0])},
        "quadratic constraint": {"quadratic_constraints": [QuadraticConstraint(np.diag([2.0, 2.0, 0.0]), ub=0.5)]},
        "cone": {"cones": [ConeConstraint([[0.0] * 3, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.6, 0.0, 0.0])]},
        "equality": {"cost": [1.0, 0.5, 0.0], "rows": [[0.0, 0.0, 1.0]], "row_lb": level, "row_ub": level},
        "linked": {"cost": [1e-3, 1e-3, -2 * level], "quadratic": np.diag([0.0, 0.0, 2.0])},
        "neural row": {"cost": [1.0, 0.5, 0.0], "ub": [1.0, 1.0, level]},
    }
    return Program(**{**host, **more[kind]}), Embedding(network, [0, 1], [2])


def run(program, embedding, **more):
    return dcembed.solve(program, embedding, options=quiet(tangents=True, time_limit=200.0, **more))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_every_kind_of_continuous_host_is_solved_and_no_worse_than_by_the_bundle_alone(kind, seed):
    program, embedding = continuous_problem(kind, seed)
    start = np.zeros(3)
    ours = dcembed.solve(program, embedding, start=start, options=quiet(tangents=True, time_limit=200.0))
    alone = dcembed.solve(program, embedding, start=start, options=quiet(tangents=False, time_limit=200.0))
    assert any(record.kind == "tangent" for record in ours.history)
    assert {record.kind for record in alone.history} == {"bundle"}
    if alone.is_feasible:
        assert ours.is_feasible
        assert ours.objective <= alone.objective + 0.05 * max(1.0, abs(alone.objective))


def watch_steps(monkeypatch):
    """Every step that is tried from now on, with the state before it, and every correction with its box."""
    tried, corrected = [], []
    try_step, correct = loop.try_step, merit_step.correct

    def watched_step(problem, workshop, state):
        after = try_step(problem, workshop, state)
        tried.append((state, after))
        return after

    def watched_correction(problem, workshop, solved, candidate):
        point, met = correct(problem, workshop, solved, candidate)
        corrected.append((solved.state.region.box, point))
        return point, met

    monkeypatch.setattr(loop, "try_step", watched_step)
    monkeypatch.setattr(merit_step, "correct", watched_correction)
    return tried, corrected


def test_a_step_is_corrected_only_where_the_way_to_its_solution_brings_little(monkeypatch):
    """Each step as the share of the promise that the way to the solution brings, and whether the step was corrected."""
    steps, met, search = [], [], merit_step.search_segment

    def watched_search(problem, workshop, best, candidate, tau):
        found = search(problem, workshop, best, candidate, tau)
        met.append((candidate, found))
        return found

    _, corrected = watch_steps(monkeypatch)
    watched_step = loop.try_step

    def watched(problem, workshop, state):
        met.clear()
        before = len(corrected)
        after = watched_step(problem, workshop, state)
        if met and not met[0][0].is_feasible(problem.options.feasibility_tol):
            tau = after.penalty.value
            steps.append(((state.point.merit(tau) - met[0][1].merit(tau)) / after.promise, len(corrected) > before))
        return after

    monkeypatch.setattr(merit_step, "search_segment", watched_search)
    monkeypatch.setattr(loop, "try_step", watched)
    for seed in range(3):
        program, embedding = coupled_problem(seed)
        dcembed.solve(program, embedding, start=np.zeros(program.num_columns), options=quiet(max_starts=2, time_limit=200.0))
    assert any(is_corrected for _, is_corrected in steps)
    assert any(not is_corrected for _, is_corrected in steps)
    assert all(share < merit_step.ENOUGH for share, is_corrected in steps if is_corrected)


@pytest.mark.parametrize("kind", [*KINDS, "coupled"])
@pytest.mark.parametrize("seed", range(3))
def test_along_the_way(monkeypatch, kind, seed):
    """The merit falls with every step that is taken, corrections stay inside the box, and no feasible point is lost."""
    tried, corrected = watch_steps(monkeypatch)
    program, embedding = coupled_problem(seed) if kind == "coupled" else continuous_problem(kind, seed)
    result = run(program, embedding, max_starts=2)
    assert tried
    for (state, after), (following, _) in itertools.pairwise(tried):
        tau = after.penalty.value
        if following.point is after.candidate and not state.is_outside:
            assert following.point.merit(tau) < state.point.merit(tau)
        if state.best is not None:
            assert after.state.best is not None
            assert after.state.best.objective <= state.best.objective
    for box, point in corrected:
        if point is not None:
            room = 1e-6 * (1.0 + np.abs(point.w))
            assert np.all((point.w >= box.lb - room) & (point.w <= box.ub + room))
    # What is reported is settled: it has given back what a point of a step owes to the feasibility tolerance.
    embedded = eliminate(program, [embedding])
    met = [settle(embedded, after.state.best).objective for _, after in tried if after.state.best is not None]
    assert not met or result.objective <= min(met) + 1e-9
    objectives = [objective for _, objective in result.incumbents]
    assert objectives == sorted(objectives, reverse=True)


def coupled_problem(seed: int = 0) -> tuple[Program, Embedding]:
    """Eight evaluations of one network under a common budget: many kinks, so there is some way to go."""
    rng, network = np.random.default_rng(seed), random_mlp(seed, (4, 24, 20, 1))
    columns, outputs = np.arange(32), np.arange(32, 40)
    level = float(np.median(network(rng.uniform(-1, 1, (500, 4)))[:, 0]))
    cost = np.concatenate([rng.standard_normal(32), np.zeros(8)])
    rows = np.concatenate([np.ones(32), np.zeros(8)])[None]
    lb, ub = np.concatenate([-np.ones(32), np.full(8, -np.inf)]), np.concatenate([np.ones(32), np.full(8, level)])
    quadratic = np.diag(np.concatenate([np.full(32, 0.5), np.zeros(8)]))
    return Program(cost, quadratic=quadratic, rows=rows, row_ub=1.0, lb=lb, ub=ub), Embedding(
        network, columns.reshape(8, 4), outputs[:, None]
    )


def test_the_first_good_points_cost_no_bounds_no_split_and_no_cuts(monkeypatch):
    from dcembed.engine.bundle import local_split
    from dcembed.network import split

    program, embedding = coupled_problem()
    seen = []
    for place, name in ((local_split, "bound"), (local_split, "reduce"), (split, "split_units")):
        monkeypatch.setattr(place, name, lambda *rest, name=name: seen.append(name))
    steps = []

    def stop(record):
        steps.append(record.kind)
        return len(steps) == 6

    result = run(program, embedding, callback=stop)
    assert steps == ["tangent"] * 6
    assert seen == []
    assert result.status is Status.INTERRUPTED
    assert result.is_feasible


@given(seeds())
@settings(max_examples=30)
def test_the_penalty_follows_the_scale_of_objective_and_neural_rows(seed):
    rng = np.random.default_rng(seed)
    network = random_mlp(seed % 50, (2, 8, 1))
    w = rng.uniform(-1, 1, 2)

    def penalty(objective: float, row: float) -> float:
        program = Program(
            cost=objective * np.array([1.0, -2.0, 0.3]),
            rows=row * np.array([[0.5, 0.0, 1.0], [0.0, 1.0, -2.0]]),
            row_ub=row * np.ones(2),
            lb=[-1, -1, -np.inf],
            ub=[1, 1, np.inf],
        )
        problem = build_problem(eliminate(program, [Embedding(network, [0, 1], [2])]), quiet())
        slope = slopes(problem.embedded, w)
        return least_penalty(problem, w, slope, problem.embedded.gradients(slope))

    base = penalty(1.0, 1.0)
    assert penalty(1e4, 1.0) == pytest.approx(1e4 * base)
    assert penalty(1.0, 1e-3) == pytest.approx(1e3 * base)


def test_candidates_stay_inside_the_box(monkeypatch):
    program, embedding = coupled_problem(2)
    seen = []
    real = loop.try_step

    def watched(problem, workshop, state):
        tried = real(problem, workshop, state)
        seen.append((state.region, tried.candidate))
        return tried

    monkeypatch.setattr(loop, "try_step", watched)
    run(program, embedding, max_starts=1)
    assert len(seen) > 3
    for region, candidate in seen:
        if candidate is not None and candidate.is_feasible(np.inf):
            inside = (candidate.w >= region.box.lb - 1e-6) & (candidate.w <= region.box.ub + 1e-6)
            # A point on the way from the best feasible one may lie outside the box around the current point.
            assert inside.all() or candidate.is_feasible(TOL)


def test_the_same_seed_gives_the_same_trace():
    program, embedding = level_problem(17)
    runs = [run(program, embedding, seed=5) for _ in range(2)]
    first, second = ([(r.kind, r.objective, r.penalty, r.step, r.solver_status) for r in each.history] for each in runs)
    assert first == second


@pytest.mark.parametrize("seed", range(3))
def test_integers_and_indicators_are_held(monkeypatch, seed):
    from dcembed.engine import strategy

    program, embedding = indicator_problem(seed)
    real, walks = strategy.run_tangents, []

    def watched(problem, workshop, start, radius):
        walk = real(problem, workshop, start, radius)
        walks.append((start.w[problem.embedded.integer], walk.point.w[problem.embedded.integer]))
        return walk

    monkeypatch.setattr(strategy, "run_tangents", watched)
    result = run(program, embedding)
    assert result.is_feasible
    assert walks
    assert all(np.array_equal(before, after) for before, after in walks)
    # No choice is walked from twice unless the start has got further by then.
    assert {record.kind for record in result.history} == {"tangent", "bundle"}


def test_where_all_inputs_are_integers_there_is_nothing_to_walk_along():
    program, embedding = binary_problem(1)
    result = run(program, embedding)
    assert {record.kind for record in result.history} == {"bundle"}


def test_the_log_says_which_step_was_which(capsys):
    program, embedding = box_problem(random_mlp(0, (2, 8, 6, 1)), np.zeros(2), 1.0, limit=0.0)
    dcembed.solve(program, embedding, options=dcembed.Options(tangents=True, max_starts=1, time_limit=200.0, verbose=2))
    printed = capsys.readouterr().out
    assert " tangent\n" in printed
    assert " bundle\n" in printed


def test_a_solver_that_fails_costs_a_step(monkeypatch):
    from dcembed.solvers.base import Solution, SolveStatus
    from dcembed.solvers.highs_ import HighsSession

    program, embedding = level_problem(9)
    expected = dcembed.solve(program, embedding, start=np.zeros(3), options=quiet(tangents=True))
    real, calls = HighsSession.solve, []

    def fails_once(self, *rest, **more):
        calls.append(1)
        return Solution(SolveStatus.FAILED, None, "numerical trouble") if len(calls) == 2 else real(self, *rest, **more)

    monkeypatch.setattr(HighsSession, "solve", fails_once)
    result = dcembed.solve(program, embedding, start=np.zeros(3), options=quiet(tangents=True))
    assert result.is_feasible == expected.is_feasible
    assert result.objective == pytest.approx(expected.objective, abs=1e-3)


def test_masters_have_slacks_only_where_the_tangents_cannot_be_kept(monkeypatch):
    """From a point at which the row holds none is needed; from one far away, in a small box, it is."""
    written, write = [], workshop.Master.write
    monkeypatch.setattr(
        workshop.Master,
        "write",
        lambda self, majorant, penalty, *rest: written.append(penalty.is_hard) or write(self, majorant, penalty, *rest),
    )
    monkeypatch.setattr("dcembed.engine.tangent.state.FIRST_RADIUS", 1e-3)
    network = build_mlp([[[1.0]], [[1.0]]], [[1.0], [0.0]])
    program = Program(cost=[1.0, 0.0], lb=[-1.0, 1.5], ub=[1.0, np.inf])
    for start, is_hard in (([0.9, 0.0], [True]), ([-0.5, 0.0], [True, False])):
        written.clear()
        result = dcembed.solve(
            program, Embedding(network, [0], [1]), start=start, options=quiet(tangents=True, callback=lambda record: True)
        )
        assert written == is_hard
        assert result.history[0].kind == "tangent"


def test_a_start_outside_of_the_host_comes_inside_whatever_its_merit_says():
    program, embedding = continuous_problem("linear")
    embedded = eliminate(program, [embedding])
    problem = build_problem(embedded, quiet())
    outside, inside = measure_point(embedded, np.ones(2)), measure_point(embedded, np.zeros(2))
    assert begin(problem, outside, 1.0, is_given=True).is_outside
    assert not begin(problem, inside, 1.0, is_given=True).is_outside
    # Points that were walked to keep what they have: one that all but holds is not given up for its rounding.
    assert not begin(problem, outside, 1.0).is_outside
    for is_given, reached in ((True, inside), (False, outside)):
        state = begin(problem, outside, 1.0, is_given)
        solution, penalty = Solution(SolveStatus.OPTIMAL, inside.w), Penalty(1.0, 10.0, 1e6)
        tried = Tried(solution, inside, penalty, promise=1.0, improvement=-5.0, state=state, model=None)
        assert loop._advance(tried, inside).point is reached


def test_an_equality_whose_switch_is_off_is_no_row_at_all():
    """Two units of which one is enough: while a unit runs its heat is predicted, otherwise there is none. Columns: x0 x1 h0 h1 z0 z1 y0 y1."""
    network = build_mlp([[[1.0], [1.0]], [[2.0, -1.0]]], [[0.0, -1.0], None])
    unit = np.eye(8)
    predicted = [Indicator(4 + i, 1, unit[2 + i] - unit[6 + i], lb=0.0, ub=0.0) for i in range(2)]
    rests = [Indicator(4 + i, 0, unit[2 + i], lb=0.0, ub=0.0) for i in range(2)]
    program = Program(
        cost=[1.0, 1.1, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0],
        rows=[unit[2] + unit[3]],
        row_lb=1.5,
        lb=[0.0] * 6 + [-np.inf] * 2,
        ub=[3.0, 3.0, 9.0, 9.0, 1.0, 1.0] + [np.inf] * 2,
        integer=[4, 5],
        indicators=[*predicted, *rests],
    )
    result = run(program, [Embedding(network, [i], [6 + i]) for i in range(2)])
    assert result.objective == pytest.approx(1.75, abs=1e-4)
    assert [note for note in result.notes if "refused" in note] == []
