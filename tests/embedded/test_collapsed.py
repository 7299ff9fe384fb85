"""Terms that share their decisions, evaluated together and one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from dcembed import verify
from dcembed.embedded.collapsed import find_groups
from dcembed.embedded.measurements import evaluate_measurements, kept_affine, largest_kept, linearize, slopes
from dcembed.embedded.point import measure_plainly, measure_point
from dcembed.embedded.points import concave_heights, gradient_of_points, measure_points
from dcembed.engine.bundle.global_split import GlobalSplit
from dcembed.program.tightening import Box
from embedded.problems import cases
from embedded.scenarios import scenario_problems


def assert_close(one, other, size: float = 1.0) -> None:
    """To 1e-9, relative to the size of what was added up."""
    one, other = (part.toarray() if hasattr(part, "toarray") else np.asarray(part) for part in (one, other))
    assert np.allclose(one, other, rtol=1e-9, atol=1e-11 * size)


def size_at(plain, w: np.ndarray) -> float:
    """How large the predictions are in the sums."""
    return 1.0 + sum(float(measured.terms.scale.sum() * np.abs(measured.predict(w)).max()) for measured in plain.networks)


@given(scenario_problems())
def test_values_agree(problem):
    together, plain = problem.both()
    assert sum(m.plain.terms.block.size for m in together.networks) < sum(m.terms.block.size for m in plain.networks)
    w = together.lower(problem.point())
    assert_close(evaluate_measurements(together, w), evaluate_measurements(plain, w, plain.predict(w)), size_at(plain, w))


@given(scenario_problems())
def test_slopes_and_tangents_agree_on_either_side_of_kinks(problem):
    together, plain = problem.both()
    w = together.lower(problem.point())
    size = size_at(plain, w)
    assert_close(slopes(together, w), slopes(plain, w))
    for on_at_kinks in (True, False):
        one, other = linearize(together, w, on_at_kinks), linearize(plain, w, on_at_kinks)
        assert_close(one.slope, other.slope)
        assert_close(one.constant, other.constant, size)


@given(scenario_problems())
def test_components_agree(problem):
    together, plain = problem.both()
    w = together.lower(problem.point())
    box = Box(np.clip(plain.host.lb, -5, 5), np.clip(plain.host.ub, -5, 5))
    for one, other in zip(kept_affine(together), kept_affine(plain), strict=True):
        assert_close(one, other, 10.0)
    one, other = (GlobalSplit(embedded, box).heights(w) for embedded in (together, plain))
    assert_close(one.value, other.value, size_at(plain, w))
    assert_close(one.slope, other.slope)
    assert np.allclose(largest_kept(together, *box), largest_kept(plain, *box), rtol=1e-9)


@given(scenario_problems())
def test_many_points_agree(problem):
    together, plain = problem.both()
    w = np.array([together.lower(problem.point()) for _ in range(3)])
    size = max(size_at(plain, row) for row in w)
    assert_close(measure_points(together, w).neural, measure_points(plain, w).neural, size)
    weights = problem.rng.normal(size=(3, plain.restrictions.num_restrictions + 1))
    assert_close(gradient_of_points(together, w, weights), gradient_of_points(plain, w, weights), 100.0)


@given(scenario_problems())
def test_a_point_is_measured_alike_with_and_without_its_predictions(problem):
    together, plain = problem.both()
    w = together.lower(problem.point())
    point, whole = measure_point(together, w), measure_point(plain, w)
    size = size_at(plain, w)
    with pytest.raises(ValueError, match="without its predictions"):
        _ = point.x
    assert_close(point.objective, whole.objective, size)
    assert_close(point.violation, whole.violation, size)
    assert_close(point.excess, whole.excess, size)
    reported = measure_plainly(together, point)
    assert reported.objective == whole.objective == verify(problem.program, problem.embeddings, reported.x).objective
    assert np.array_equal(reported.x, whole.x)
    assert measure_plainly(together, reported) is reported


@given(cases())
def test_nothing_is_collapsed_where_nothing_is_shared(case):
    embedded = case.eliminate()
    assert not embedded.shares_decisions
    assert all(measured.plain is measured for measured in embedded.networks)


def test_groups_are_the_large_ones_as_far_as_memory_goes():
    part, direction = np.repeat([0, 1, 1], [600, 700, 3]), np.repeat([0, 1, 0], [600, 700, 3])
    groups = find_groups(part, direction, 64)
    assert groups.edges.tolist() == [0, 600, 1300]
    assert groups.part.tolist() == [0, 1]
    assert groups.direction.tolist() == [0, 1]
    assert np.array_equal(groups.terms, np.arange(1300))
    assert find_groups(part, direction, 10**6) is None
    assert find_groups(part[1200:], direction[1200:], 64) is None


@given(scenario_problems())
def test_heights_of_many_points_are_those_of_the_tangents(problem):
    together, _ = problem.both()
    collapsed = replace(together, networks=tuple(measured for measured in together.networks if measured.plain.terms.block.size == 0))
    w = np.array([together.lower(problem.point()) for _ in range(3)])
    heights = concave_heights(collapsed, w)
    for row, height in zip(w, heights, strict=True):
        tangents = linearize(collapsed, row)
        assert_close(height, tangents.slope @ row + tangents.constant, size_at(together, row))
