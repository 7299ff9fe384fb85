"""The best point of a run: the same one, whatever the order in which points are met."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import Point, measure_plainly, measure_point
from dcembed.run.incumbent import Incumbent
from problems import box_problem, random_mlp

TOL = 1e-6


@pytest.fixture(scope="module")
def points() -> list[Point]:
    """Of these many are equal but for rounding, some to the last bit."""
    program, embedding = box_problem(random_mlp(0, (2, 6, 1)), np.zeros(2), 1.0)
    embedded = eliminate(program, [embedding])

    def measured(x) -> Point:
        return measure_plainly(embedded, measure_point(embedded, embedded.lower(x)))

    rng = np.random.default_rng(1)
    drawn = sorted(map(measured, rng.uniform(0.0, 1.0, (6, 3))), key=lambda point: point.objective)
    rounded = [measured(drawn[0].x + 4e-16 * rng.integers(0, 4, size=3)) for _ in range(12)]
    return sorted([*drawn, *rounded], key=lambda point: point.objective)


def heard(points, order) -> Incumbent:
    incumbent = Incumbent(TOL)
    for seconds, number in enumerate(order):
        incumbent.offer(points[number], float(seconds), f"point {number}", int(number))
    return incumbent


def test_the_best_point_does_not_depend_on_the_order_in_which_points_are_met(points):
    near = [point for point in points if point.objective - points[0].objective < 1e-12]
    assert len(near) > 3, "rounding is to decide here"
    orders = [np.random.default_rng(seed).permutation(len(points)) for seed in range(200)]
    kept = [heard(points, order) for order in orders]
    assert len({incumbent.point.w.tobytes() for incumbent in kept}) == 1
    assert {incumbent.point.objective for incumbent in kept} == {points[0].objective}


def test_what_is_better_by_rounding_alone_is_no_news(points):
    for seed in range(50):
        incumbent = heard(points, np.random.default_rng(seed).permutation(len(points)))
        objectives = [objective for _, objective in incumbent.trace]
        assert len(objectives) == len(incumbent.points) == len(incumbent.origins)
        assert (np.diff(objectives) < -1e-13).all()
        assert objectives[-1] == incumbent.point.objective
        np.testing.assert_array_equal(incumbent.points[-1], incumbent.point.x)


def test_many_small_improvements_together_are_news(points):
    best, incumbent = points[0], Incumbent(TOL)
    steps = [best.objective - 1e-13 * number for number in range(100)]
    for number, objective in enumerate(steps):
        incumbent.offer(Point(**{**vars(best), "objective": objective}), float(number))
    assert incumbent.point.objective == steps[-1]
    assert 3 <= len(incumbent.trace) <= 20


def test_of_equal_points_that_of_the_first_start_is_kept_and_of_one_start_the_first(points):
    """As where the objective is the same everywhere: the user's start stays."""
    one, two, three = (Point(**{**vars(point), "objective": 0.0}) for point in points[-3:])
    for order, kept in (([(one, 0), (two, 1), (three, 0)], one), ([(two, 1), (three, 1)], two), ([(three, 4), (two, 1), (one, 3)], two)):
        incumbent = Incumbent(TOL)
        for point, start in order:
            incumbent.offer(point, 0.0, start=start)
        assert incumbent.point is kept
        assert len(incumbent.trace) == 1


def test_a_feasible_point_takes_the_place_of_a_better_one_that_is_not(points):
    wrong = Point(**{**vars(points[-1]), "objective": points[0].objective - 1.0, "violation": 1.0})
    for order in ([wrong, points[0]], [points[0], wrong]):
        incumbent = Incumbent(TOL)
        for point in order:
            incumbent.offer(point, 0.0)
        assert incumbent.point is points[0]
