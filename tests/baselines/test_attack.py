"""Sampling and descent: the region and its projection, the passes in torch, known optima, and what is refused."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import dcembed
from dcembed import ConeConstraint, Embedding, Program, QuadraticConstraint, Status, build_mlp
from dcembed.baselines import attack
from dcembed.baselines.boxes_and_balls import TorchRegion, read_region
from dcembed.baselines.torch_measurements import TorchMeasurements, find_epigraph_columns
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.errors import InputError
from problems import binary_problem, box_problem, grid_optimum, level_problem, quiet, random_mlp

torch = pytest.importorskip("torch")
# A sum of absolute values of two inputs.
SIZES = build_mlp([np.vstack([np.eye(2), -np.eye(2)]), np.ones((1, 4))], [None, None])


def ball_host(radius: float = 0.5, center=(1.0, 1.0)) -> Program:
    """A cone of constant head over two inputs; the prediction is the third column."""
    return Program(
        cost=[0.0, 0.0, 1.0],
        lb=[0.8, -4.0, -np.inf],
        ub=[4.0, 4.0, np.inf],
        cones=[ConeConstraint([[0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]], [radius, *(-np.array(center))])],
    )


def rounds(number: int = 3, **changes) -> dcembed.Options:
    return quiet(**{"time_limit": np.inf, "max_iterations": number, **changes})


def largest_output() -> tuple[Program, Embedding]:
    """Minimize the largest of three outputs, by a free column t and rows f_i - t <= 0.1 i."""
    network = random_mlp(4, (2, 10, 8, 3))
    rows = np.hstack([np.zeros((3, 2)), np.eye(3), -np.ones((3, 1))])
    program = Program(cost=[0, 0, 0, 0, 0, 1.0], rows=rows, row_ub=[0.0, 0.1, 0.2], lb=[-1, -1, *[-np.inf] * 4], ub=[1, 1, *[np.inf] * 4])
    return program, Embedding(network, [0, 1], [2, 3, 4])


def test_a_ball_is_read_from_a_quadratic_and_from_a_cone():
    curved = Program(cost=np.ones(2), quadratic_constraints=[QuadraticConstraint(4.0 * np.eye(2), [-4.0, 8.0], 0.0)])
    (ball,) = read_region(curved, "It").balls
    np.testing.assert_allclose(ball.center, [1.0, -2.0])
    assert ball.radius == pytest.approx(np.sqrt(5.0))
    region = read_region(eliminate(ball_host(), [Embedding(SIZES, [0, 1], [2])]).host, "It")
    assert region.balls[0].radius == pytest.approx(0.5)
    np.testing.assert_allclose(region.ub, [1.5, 1.5])
    np.testing.assert_allclose(region.lb, [0.8, 0.5])


def test_the_projection_is_onto_the_nearest_point():
    region = read_region(eliminate(ball_host(), [Embedding(SIZES, [0, 1], [2])]).host, "It")
    points = np.random.default_rng(0).uniform(-1, 3, (50, 2))
    nearest = TorchRegion(region, torch.float64).project(torch.tensor(points)).numpy()
    axis = np.linspace(0.5, 1.5, 401)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    grid = grid[(grid[:, 0] >= 0.8) & (np.linalg.norm(grid - 1.0, axis=1) <= 0.5)]
    distance = np.linalg.norm(points[:, None] - grid, axis=2).min(axis=1)
    assert (np.linalg.norm(nearest - 1.0, axis=1) <= 0.5 + 1e-12).all()
    assert (nearest[:, 0] >= 0.8).all()
    np.testing.assert_allclose(np.linalg.norm(points - nearest, axis=1), distance, atol=5e-3)


def test_samples_lie_in_the_region():
    region = read_region(eliminate(ball_host(), [Embedding(SIZES, [0, 1], [2])]).host, "It")
    drawn = TorchRegion(region, torch.float64).sample(200, torch.Generator().manual_seed(0)).numpy()
    assert (np.linalg.norm(drawn - 1.0, axis=1) <= 0.5 + 1e-12).all()
    assert np.linalg.matrix_rank(drawn - drawn.mean(axis=0)) == 2


def test_the_passes_of_torch_are_those_of_numpy():
    program, embedding = level_problem(1)
    embedded = eliminate(program, [embedding])
    points = np.random.default_rng(0).uniform(-2, 2, (20, 2))
    _, objective, excess = TorchMeasurements(embedded, torch.float64)(torch.tensor(points))
    measured = [measure_point(embedded, w) for w in points]
    np.testing.assert_allclose(objective, [point.objective for point in measured], atol=1e-12)
    np.testing.assert_allclose(excess, [point.excess for point in measured], atol=1e-12)


def test_a_column_above_neural_rows_follows_from_them():
    program, embedding = largest_output()
    embedded = eliminate(program, [embedding])
    np.testing.assert_array_equal(embedded.kept[find_epigraph_columns(embedded)], [5])
    x = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    placed, objective, excess = TorchMeasurements(embedded, torch.float64)(torch.tensor(np.hstack([x, np.zeros((30, 1))])))
    expected = (embedding.network(x) - [0.0, 0.1, 0.2]).max(axis=1)
    np.testing.assert_allclose(placed[:, 2], expected, atol=1e-12)
    np.testing.assert_allclose(objective, expected, atol=1e-12)
    np.testing.assert_allclose(excess, 0.0, atol=1e-12)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 301)] * 2), axis=-1).reshape(-1, 2)
    best = (embedding.network(grid) - [0.0, 0.1, 0.2]).max(axis=1).min()
    result = attack.solve(program, embedding, options=rounds())
    assert result.is_feasible
    assert result.objective == pytest.approx(best, abs=0.02)


def test_a_column_below_neural_rows_follows_from_them_too():
    """Maximize the least of three outputs."""
    program, embedding = largest_output()
    least = Program(cost=-program.cost, rows=-program.rows, row_ub=0.0, lb=program.lb, ub=program.ub)
    embedded = eliminate(least, [embedding])
    np.testing.assert_array_equal(embedded.kept[find_epigraph_columns(embedded)], [5])
    x = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    _, objective, excess = TorchMeasurements(embedded, torch.float64)(torch.tensor(np.hstack([x, np.zeros((30, 1))])))
    np.testing.assert_allclose(objective, -embedding.network(x).min(axis=1), atol=1e-12)
    np.testing.assert_allclose(excess, 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_over_a_box_is_found(seed):
    network, cost = random_mlp(seed, (2, 8, 6, 1)), np.array([0.3, -0.2])
    result = attack.solve(*box_problem(network, cost, 1.0), options=rounds())
    assert result.objective == pytest.approx(grid_optimum(network, cost, 1.0, np.inf, 2.0, 401), abs=0.01)
    assert result.status is Status.ITERATION_LIMIT


def test_the_minimum_over_a_ball_is_found():
    # |x| + |y| over the ball of radius 0.5 around (1, 1) without its part x < 0.8: best at x = 0.8.
    result = attack.solve(ball_host(), Embedding(SIZES, [0, 1], [2]), options=rounds())
    assert result.is_feasible
    assert result.objective == pytest.approx(0.8 + 1 - np.sqrt(0.25 - 0.04), abs=1e-3)


def test_neural_rows_are_penalized():
    program, embedding = level_problem(2)
    result = attack.solve(program, embedding, options=rounds())
    assert result.is_feasible
    assert result.objective == pytest.approx(grid_optimum(embedding.network, program.cost[:2], 0.0, program.ub[2], 2.0, 401), abs=0.05)
    assert {record.penalty for record in attack.solve(program, embedding, options=rounds(1, initial_penalty=7.0)).history} == {7.0}


def test_sparse_weights_are_taken():
    network = build_mlp([np.kron(np.eye(8), [[1.0], [-1.0]]), np.ones((1, 16))], [None, None])
    program = Program(cost=np.append(np.full(8, 0.5), 1.0), lb=[-1.0] * 8 + [-np.inf], ub=[1.0] * 8 + [np.inf])
    result = attack.solve(program, Embedding(network, np.arange(8), [8]), options=rounds())
    assert result.objective == pytest.approx(0.0, abs=0.05)


def test_a_better_start_is_never_lost_and_the_seed_makes_the_rounds():
    program, embedding = box_problem(random_mlp(0, (2, 8, 6, 1)), np.zeros(2), 1.0)
    first = attack.solve(program, embedding, options=rounds(1, seed=1))
    again = attack.solve(program, embedding, first.x, options=rounds(1, seed=2))
    assert again.objective <= first.objective
    other = attack.solve(program, embedding, options=rounds(1, seed=5))
    assert other.history[0].objective != first.history[0].objective


def test_the_threads_of_torch_are_given_back():
    before = torch.get_num_threads()
    attack.solve(*box_problem(random_mlp(0, (2, 4, 1)), np.zeros(2), 1.0), options=rounds(1, threads=before + 1))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rows": [[1.0, 1.0, 0.0]], "row_ub": 1.0}, "boxes and balls only, but this host has 1 rows without predictions"),
        ({"quadratic_constraints": [QuadraticConstraint(np.diag([1.0, 2.0, 0.0]), ub=1.0)]}, "a curved constraint that is no ball"),
        ({"cones": [ConeConstraint([[0, 1.0, 0], [1.0, 0, 0]])]}, "a curved constraint that is no ball"),
        ({"ub": [1.0, np.inf, np.inf]}, "column 1 is unbounded"),
    ],
)
def test_other_hosts_are_refused(changes, told):
    program = Program(**{"cost": [0.0, 0.0, 1.0], "lb": [-1.0, -1.0, -np.inf], "ub": [1.0, 1.0, np.inf], **changes})
    with pytest.raises(InputError, match=told):
        attack.solve(program, Embedding(SIZES, [0, 1], [2]), options=rounds(1))


def test_integers_are_refused():
    program, embedding = binary_problem(0)
    with pytest.raises(InputError, match="continuous hosts only, but this one has 10 integer columns"):
        attack.solve(program, embedding, options=rounds(1))


def test_a_round_ends_in_its_middle_when_the_time_is_over(monkeypatch):
    program, embedding = largest_output()
    stop, merit, asked = threading.Event(), attack._Descent._merit, []

    def first_only(self, points):
        asked.append(len(points))
        stop.set()
        return merit(self, points)

    monkeypatch.setattr(attack._Descent, "_merit", first_only)
    result = attack.solve(program, [embedding], options=rounds(stop=stop))
    # One chunk of those drawn, the chosen ones, and one step.
    assert len(asked) == 3
    assert result.status is Status.INTERRUPTED
    assert result.is_feasible
