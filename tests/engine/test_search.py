"""The search over starts: which come when, and what ends it."""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program, Status, build_mlp
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.engine.outcome import Outcome
from dcembed.engine.search import orders as search
from dcembed.engine.search import patience, turns
from dcembed.engine.search.flat import is_flat
from dcembed.run.clock import Clock
from dcembed.run.journal import Step
from problems import binary_problem, box_problem, level_problem, quiet, random_mlp

pytestmark = pytest.mark.patient

BOX = box_problem(random_mlp(0, (2, 8, 1)), np.ones(2), 1.0)


def patched(monkeypatch, statuses=(), num_steps: int = 3) -> list[np.ndarray]:
    """Starts that end where they began, with these statuses one after the other and the last for all others; where they began."""
    begun = []

    def run_start(problem, point, steps, settled, journal):
        begun.append(point.w)
        for step in itertools.islice(steps, num_steps):
            journal.step(Step(steps.start, step, point, point, 1.0, "step"))
        status = statuses[min(steps.start, len(statuses) - 1)] if statuses else Status.LOCALLY_SOLVED
        best = point if point.is_feasible(1e-5) else None
        # None of them was left: they have had all their steps.
        return Outcome(journal.clock.ended() or status, point, best, num_steps=problem.options.max_iterations)

    monkeypatch.setattr(search, "run_start", run_start)
    return begun


def let_time_pass(clock: Clock, seconds: float) -> None:
    clock._began -= seconds


def run(options: dict, problem=BOX, start=None) -> dcembed.Result:
    return dcembed.solve(*problem, start=start, options={"verbose": False, **options})


def test_by_default_a_run_ends_when_twenty_starts_have_brought_nothing_better(monkeypatch):
    begun = patched(monkeypatch)
    result = run({})
    best = min(range(len(begun)), key=lambda number: measured(begun[number]))
    assert len(begun) - 1 - best >= 20
    assert result.status is Status.LOCALLY_SOLVED
    assert result.reason == f"nothing better in {len(begun) - 1 - best} starts since start {best}, with " + (
        f"{4 * (len(begun) - 1 - best)} steps after {4 * (best + 1)}"
    )
    assert result.reason in result.summary()


def measured(w: np.ndarray) -> float:
    return measure_point(eliminate(BOX[0], [BOX[1]]), w).objective


def test_one_pass_is_five_starts_or_as_many_as_asked_for(monkeypatch):
    begun = patched(monkeypatch)
    assert run({"search": "converge"}).reason == "5 starts, as many as asked for"
    assert len(begun) == 5
    for mode in ("converge", "patient", "until-limit"):
        begun.clear()
        run({"search": mode, "max_starts": 7})
        assert len(begun) == 7


def test_until_the_limit_means_until_the_limit(monkeypatch):
    begun = patched(monkeypatch)
    monkeypatch.setattr(patience, "MAX_FRUITLESS_STARTS", 0)
    monkeypatch.setattr(patience, "MAX_FRUITLESS_WORK", 0)
    run({"time_limit": 1000.0})
    assert len(begun) == 1
    begun.clear()
    start = search.run_start

    def start_and_wait(problem, point, steps, settled, journal):
        let_time_pass(journal.clock, 100.0)
        return start(problem, point, steps, settled, journal)

    monkeypatch.setattr(search, "run_start", start_and_wait)
    result = run({"search": "until-limit", "time_limit": 950.0})
    assert result.seconds >= 950.0
    assert len(begun) == 10
    assert result.status is Status.TIME_LIMIT
    assert result.reason == "the time limit was reached after 10 starts"


def test_a_time_limit_among_further_starts_leaves_a_settled_point_settled(monkeypatch):
    begun = []

    def run_start(problem, point, steps, settled, journal):
        begun.append(point)
        if steps.start == 0:
            return Outcome(Status.LOCALLY_SOLVED, point, point)
        let_time_pass(journal.clock, 1000.0)
        return Outcome(Status.TIME_LIMIT, point, worse)

    monkeypatch.setattr(search, "run_start", run_start)
    worse = None
    assert run({"time_limit": 1000.0}).status is Status.LOCALLY_SOLVED
    assert len(begun) == 2
    begun.clear()
    # A better point that has not been settled is another matter.
    embedded = eliminate(BOX[0], [BOX[1]])
    worse = min((measure_point(embedded, w) for w in np.random.default_rng(0).uniform(-2, 2, (500, 2))), key=lambda point: point.objective)
    assert run({"time_limit": 1000.0}, start=[1.9, 1.9, 0.0]).status is Status.TIME_LIMIT


def test_the_users_starts_come_first_and_ours_follow(monkeypatch):
    begun = patched(monkeypatch)
    starts = [np.array([0.1, 0.2, 0.0]), np.array([-0.3, 0.4, 0.0])]
    run({"max_starts": 5}, start=starts)
    assert len(begun) == 5
    assert np.array_equal(begun[0], starts[0][:2])
    assert np.array_equal(begun[1], starts[1][:2])
    # Where the host alone is best: at the lower bounds.
    assert np.allclose(begun[2], -2.0)
    # All of the user's are made, and nothing else where they are enough.
    begun.clear()
    run({"max_starts": 1}, start=starts)
    assert len(begun) == 2


@pytest.mark.parametrize("status", [Status.ITERATION_LIMIT, Status.NUMERICAL_ERROR])
def test_a_start_that_fails_does_not_end_the_others_but_many_in_a_row_do(monkeypatch, status):
    begun = patched(monkeypatch, [status, status, Status.LOCALLY_SOLVED])
    assert run({"max_starts": 6}).status is Status.LOCALLY_SOLVED
    assert len(begun) == 6
    begun = patched(monkeypatch, [Status.LOCALLY_SOLVED, status])
    result = run({"max_starts": 12})
    assert len(begun) == 9
    assert result.reason == f"8 starts in a row ended with {status.name}"
    # Those that the user gives are made all the same.
    begun = patched(monkeypatch, [status])
    run({"max_starts": 12}, start=np.random.default_rng(0).uniform(-1, 1, (10, 3)))
    assert len(begun) == 10


def test_what_is_true_of_every_start_ends_the_run(monkeypatch):
    begun = patched(monkeypatch, [Status.HOST_INFEASIBLE])
    result = run({})
    assert len(begun) == 1
    # What was said is not true here: there is a point, and it is found.
    assert result.is_feasible
    assert result.status is Status.NUMERICAL_ERROR
    assert result.reason == "the solver called the host infeasible, but here is a feasible point"


def test_a_solver_that_says_unbounded_does_not_end_the_others(monkeypatch):
    begun = patched(monkeypatch, [Status.UNBOUNDED, Status.LOCALLY_SOLVED])
    assert run({"max_starts": 4}).status is Status.LOCALLY_SOLVED
    assert len(begun) == 4


def test_points_that_run_away_are_unbounded_and_end_the_run():
    # min relu(x - 1) / 2 - relu(x): falls without end.
    network = build_mlp([np.ones((2, 1)), np.array([[-1.0, 0.5]])], [np.array([0.0, -1.0]), np.zeros(1)])
    program = Program(cost=[0.0, 1.0], lb=[-np.inf] * 2, ub=[np.inf] * 2)
    result = run({}, (program, Embedding(network, [0], [1])))
    assert result.status is Status.UNBOUNDED
    assert result.reason.startswith("start 0 ended with UNBOUNDED; x0 went to ")
    assert result.objective < -1e9


def test_a_host_without_a_point_says_so():
    program = Program(cost=[1.0, 0.0], rows=[[1.0, 0.0]], row_lb=2.0, lb=[-1.0, -np.inf], ub=[1.0, np.inf])
    result = run({}, (program, Embedding(random_mlp(0, (1, 4, 1)), [0], [1])))
    assert result.status is Status.HOST_INFEASIBLE
    assert result.reason == "the solver found no point of the host"


def test_where_no_further_start_can_be_drawn_the_log_says_so(capsys):
    program = Program(cost=[0.0, 1.0], lb=[0.0, -np.inf], ub=[2.0, np.inf], integer=[0])
    result = run({"verbose": True}, (program, Embedding(random_mlp(0, (1, 4, 1)), [0], [1])))
    assert result.reason.startswith("no further start could be drawn after ")
    assert "no further start could be drawn after " in capsys.readouterr().out


def test_a_column_without_bounds_does_not_end_the_starts(monkeypatch):
    # minimize t with t >= f_k(x): t has no bounds, nor has the output that its square links.
    network = random_mlp(4, (2, 8, 3))
    rows = np.hstack([np.zeros((2, 2)), np.ones((2, 1)), -np.eye(3)[:2]])
    program = Program(
        cost=[0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        quadratic=np.diag([0.0, 0.0, 0.0, 0.0, 0.0, 0.1]),
        rows=rows,
        row_lb=0.0,
        lb=[-1.0, -1.0, *[-np.inf] * 4],
        ub=[1.0, 1.0, *[np.inf] * 4],
    )
    begun = patched(monkeypatch)
    result = run({"search": "converge"}, (program, Embedding(network, [0, 1], [3, 4, 5])))
    assert len(begun) == 5
    assert min(np.abs(one[:2] - other[:2]).max() for one, other in pairwise(begun)) > 1e-3
    # Every start that was drawn has t and the linked output where they belong: it is feasible.
    assert result.is_feasible


def test_the_same_seed_gives_the_same_trace_over_all_starts():
    for problem in (level_problem(3), binary_problem(2)):
        runs = [run({"max_starts": 4, "seed": 5}, problem) for _ in range(2)]
        first, second = ([(r.start, r.objective, r.penalty, r.step, r.solver_status) for r in result.history] for result in runs)
        assert first == second
        assert {entry[0] for entry in first} == set(range(4))


def test_a_start_where_every_unit_is_dead_is_left(capsys):
    # maximize relu(relu(x + y - 1.4) - 0.3 relu(..)) over the unit box: nothing at all happens below x + y = 1.4.
    network = build_mlp([[[1.0, 1.0], [1.0, -1.0]], [[1.0, -0.3]], [[1.0]]], [[-1.4, 0.0], None, None])
    program = Program(cost=[0.0, 0.0, 1.0], lb=[0.0, 0.0, -np.inf], ub=[1.0, 1.0, np.inf], maximize=True)
    embedding = Embedding(network, [0, 1], [2])
    dead = measure_point(eliminate(program, [embedding]), np.array([0.1, 0.2]))
    assert is_flat(eliminate(program, [embedding]), dead, 1e-5)
    result = dcembed.solve(program, embedding, start=[0.1, 0.2, 0.0], options=quiet(max_starts=1, verbose=True))
    assert result.objective == pytest.approx(0.6, abs=1e-6)
    assert "start 0: no network has a slope there" in capsys.readouterr().out


def test_a_point_is_flat_only_if_no_network_that_matters_has_a_slope():
    network = build_mlp([[[1.0], [-1.0]], [[1.0, 0.0], [0.0, 1.0]]], [[-1.0, -1.0], None])
    program = Program(cost=[0.0, 0.0, 1.0], lb=[-3.0, -np.inf, -np.inf], ub=[3.0, 0.5, np.inf])
    embedded = eliminate(program, [Embedding(network, [0], [1, 2])])

    def flat(x: float) -> bool:
        return is_flat(embedded, measure_point(embedded, np.array([x])), 1e-5)

    # f_1 = relu(-x - 1) is the objective, f_0 = relu(x - 1) <= 0.5 a row.
    assert flat(0.0)
    assert flat(1.2)
    assert not flat(2.0)
    assert not flat(-2.0)


def small_problem(seed: int, num_inputs: int) -> tuple[Program, Embedding, float, float]:
    """minimize f_0 where f_1 is among its lowest 30 percent, for two layers of 30 units with their kinks all over the box."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(30, num_inputs)) * 4
    second = rng.normal(size=(30, 30)) * np.sqrt(2 / 30)
    shift = -(first * rng.uniform(-1, 1, (30, num_inputs))).sum(axis=1)
    values = np.maximum(rng.uniform(-1, 1, (2000, num_inputs)) @ first.T + shift, 0.0) @ second.T
    biases = [shift, -np.array([rng.choice(column) for column in values.T]), None]
    network = build_mlp([first, second, rng.normal(size=(2, 30)) / 4], biases)
    axis = np.linspace(-1, 1, 20001 if num_inputs == 1 else 401)
    f = network(np.stack(np.meshgrid(*[axis] * num_inputs, indexing="ij"), axis=-1).reshape(-1, num_inputs))
    limit = float(np.quantile(f[:, 1], 0.3))
    allowed = f[f[:, 1] <= limit, 0]
    lb, ub = [*[-1.0] * num_inputs, -np.inf, -np.inf], [*[1.0] * num_inputs, np.inf, limit]
    program = Program(cost=[*[0.0] * num_inputs, 1.0, 0.0], lb=lb, ub=ub)
    return program, Embedding(network, range(num_inputs), [num_inputs, num_inputs + 1]), allowed.min(), float(np.ptp(allowed))


@pytest.mark.parametrize("num_inputs", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_small_networks_of_many_pieces_end_at_the_best_of_a_grid(seed, num_inputs):
    program, embedding, best, spread = small_problem(seed, num_inputs)
    result = run({"search": "converge"}, (program, embedding))
    assert result.is_feasible
    assert result.objective <= best + 0.01 * spread


def test_the_best_of_the_starts_that_were_left_is_taken_up_again(monkeypatch):
    monkeypatch.setattr(turns, "PROBE_STEPS", 2)
    program, embedding = box_problem(random_mlp(2, (3, 16, 12, 1)), np.ones(3), 0.2, limit=0.0)
    result = dcembed.solve(program, embedding, options=quiet(max_starts=6))
    made = [(record.start, record.number) for record in result.history]
    assert result.status is Status.LOCALLY_SOLVED
    assert len(made) == len(set(made))
    # Others were made in between, and its steps are counted on.
    again = next(index for index in range(1, len(made)) if made[index][1] == 3)
    assert made[again - 1][0] != made[again][0] or made[again - 1][1] == 2
    assert any(start != made[again][0] for start, _ in made[:again])


def test_a_single_start_is_never_left(monkeypatch):
    monkeypatch.setattr(turns, "PROBE_STEPS", 1)
    program, embedding = level_problem(9)
    for options in ({"max_starts": 1}, {"search": "converge", "max_starts": 2}):
        result = dcembed.solve(program, embedding, options=quiet(**options))
        made = [(record.start, record.number) for record in result.history]
        assert made == sorted(made)
        assert max(number for start, number in made if start == 0) > 1


@pytest.mark.parametrize(("limit", "given"), [(-1e6, None), (-1e6, 2.0), (np.inf, None)])
def test_every_other_start_has_a_firm_penalty_while_nothing_feasible_is_known_and_none_is_given(monkeypatch, limit, given):
    penalties = []

    def run_start(problem, point, steps, settled, journal):
        penalties.append(problem.options.initial_penalty)
        best = point if point.is_feasible(1e-5) else None
        return Outcome(Status.LOCALLY_SOLVED if best else Status.LOCALLY_INFEASIBLE, point, best, num_steps=problem.options.max_iterations)

    monkeypatch.setattr(search, "run_start", run_start)
    run({"max_starts": 8, "initial_penalty": given}, box_problem(random_mlp(0, (2, 8, 1)), np.ones(2), 1.0, limit=limit))
    firm = [number for number, penalty in enumerate(penalties) if penalty != given]
    assert firm == ([3, 5, 7] if limit < 0 and given is None else [])
