"""Hulls and their thinning, beside linear programs that look at all of the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import dcembed
from dcembed.support.projection import project, project_onto_cloud
from dcembed.support.thinning import thin


def distance_in_maximum(cloud: np.ndarray, point: np.ndarray) -> float:
    """The distance of a point from the hull of a cloud in the largest coordinate, by a linear program."""
    m, d = cloud.shape
    cost = np.append(np.zeros(m), 1.0)
    ones = np.ones((d, 1))
    rows = np.vstack([np.hstack([cloud.T, -ones]), np.hstack([-cloud.T, -ones])])
    solution = linprog(cost, rows, np.concatenate([point, -point]), np.append(np.ones(m), 0.0)[None], [1.0])
    return float(solution.fun)


def is_in_hull(cloud: np.ndarray, point: np.ndarray) -> bool:
    solution = linprog(np.zeros(len(cloud)), A_eq=np.vstack([cloud.T, np.ones(len(cloud))]), b_eq=np.append(point, 1.0))
    return solution.status == 0


def test_membership_is_that_of_a_linear_program_on_a_thousand_points():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 2))
    region = dcembed.support(data, "hull")
    assert region.error == 0.0
    points = rng.normal(size=(1000, 2)) @ np.linalg.cholesky(np.cov(data.T)).T * 1.6
    expected = np.array([is_in_hull(data, point) for point in points])
    assert 200 < expected.sum() < 800
    assert np.array_equal(region.contains(points), expected)


@pytest.mark.parametrize(("number", "d", "most"), [(200, 2, 5), (200, 5, 40), (150, 10, 60), (120, 12, 80)])
def test_the_error_of_thinning_is_what_is_stated(number, d, most):
    rng = np.random.default_rng(d)
    data = rng.normal(size=(number, d))
    found = thin(data, most)
    assert found.chosen.size <= most
    worst = max(distance_in_maximum(data[found.chosen], point) for point in data)
    assert 0.0 < worst <= found.error + 1e-9
    # The projection is the nearest point by length and not by its largest coordinate: what is stated may be more, but not much.
    assert found.error <= 3.0 * worst


def test_no_point_of_a_thinned_region_is_further_from_the_hull_than_stated():
    rng = np.random.default_rng(2)
    data = rng.normal(size=(200, 6))
    region = dcembed.support(data, "hull", points=60)
    assert region.error > 0.0
    z = region.scale.apply(data)
    points = rng.normal(size=(120, 6))
    inside = points[region.excess(points * region.scale.spread + region.scale.center) == 0.0]
    assert len(inside) > 20
    assert max(distance_in_maximum(z, point) for point in inside) <= region.error + 1e-7


def test_ten_thousand_points_in_ten_dimensions_are_a_few_hundred_columns():
    data = np.random.default_rng(0).normal(size=(10_000, 10))
    region = dcembed.support(data, "hull")
    assert region.piece.num_columns <= 200
    assert region.piece.num_rows <= 40
    sample = data[::50]
    assert region.excess(sample).max() <= 1e-9


def test_a_hull_that_is_flat_or_small_is_itself():
    rng = np.random.default_rng(1)
    plane = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 5))
    region = dcembed.support(plane, "hull")
    assert region.contains(plane, 1e-7).all()
    away = plane[0] + np.linalg.svd(plane)[2][-1]
    assert not region.contains(away[None]).any()
    line = dcembed.support([[1.0], [4.0], [2.0]], "hull")
    assert line.contains([[1.0], [4.0], [4.1], [0.9]]).tolist() == [True, True, False, False]


@given(st.integers(0, 10_000))
def test_a_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    cloud, point = rng.normal(size=(rng.integers(2, 40), rng.integers(1, 6))), None
    point = rng.normal(size=cloud.shape[1]) * rng.choice([0.1, 1.0, 5.0])
    weights, nearest = project(cloud, point)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0)
    assert nearest == pytest.approx(weights @ cloud)
    # All of the hull is beyond the plane through the projection.
    gap = nearest - point
    assert ((cloud - nearest) @ gap).min() >= -1e-8 * max(1.0, float(gap @ gap))
    assert project_onto_cloud(cloud, point) == pytest.approx(nearest, abs=1e-7)


def test_large_clouds_are_projected_onto_exactly():
    rng = np.random.default_rng(5)
    cloud = rng.normal(size=(3000, 6))
    for point in rng.normal(size=(10, 6)) * 2.5:
        assert np.linalg.norm(point - project_onto_cloud(cloud, point)) == pytest.approx(
            np.linalg.norm(point - project(cloud, point)[1]), abs=1e-8
        )


def test_the_same_seed_chooses_the_same_points():
    data = np.random.default_rng(0).normal(size=(2000, 8))
    assert np.array_equal(thin(data, 50, seed=3).chosen, thin(data, 50, seed=3).chosen)
