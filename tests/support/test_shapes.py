"""Boxes, ellipsoids, clusters and combinations by themselves."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.support.ellipsoid import shrunk_covariance
from support.regions import QUICK, two_clouds


def test_shrinkage_is_that_of_ledoit_and_wolf():
    covariance = pytest.importorskip("sklearn.covariance", reason="scikit-learn is not installed")
    rng = np.random.default_rng(0)
    for number, d in ((10, 6), (40, 6), (500, 3)):
        data = rng.normal(size=(number, d)) @ rng.normal(size=(d, d))
        assert shrunk_covariance(data) == pytest.approx(covariance.ledoit_wolf(data)[0])


def test_an_ellipsoid_of_data_in_a_plane_is_flat_and_has_them_inside():
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 4))
    region = dcembed.support(plane, "ellipsoid")
    assert region.contains(plane, 1e-9).all()
    away = plane.mean(axis=0) + 3.0 * np.linalg.svd(plane - plane.mean(axis=0))[2][-1]
    assert not region.contains(away[None]).any()


def test_a_box_leaves_out_what_is_beyond_the_quantiles():
    data = np.linspace(0.0, 1.0, 101)[:, None]
    region = dcembed.support(data, "box", coverage=0.9)
    assert region.contains([[0.05], [0.95], [0.02], [0.98]]).tolist() == [True, True, False, False]


@pytest.mark.parametrize("shape", ["ellipsoid", "box"])
def test_clusters_leave_out_what_is_between_them(shape):
    rng = np.random.default_rng(0)
    data = np.vstack([rng.normal(size=(80, 2)), rng.normal(size=(80, 2)) + 20.0])
    region = dcembed.support(data, "clusters", clusters=2, shape=shape)
    assert region.contains(data, 1e-9).all()
    assert region.contains([[0.0, 0.0], [20.0, 20.0], [10.0, 10.0]]).tolist() == [True, True, False]
    assert dcembed.support(data, "hull").contains([[10.0, 10.0]]).all()
    # A valley between the clouds, which a hull would let the search into.
    valley = dcembed.build_mlp([[[1.0, 1.0], [-1.0, -1.0]], [[1.0, 1.0]]], [[-20.0, 20.0], None])
    program = dcembed.Program(cost=[0.0, 0.0, 1.0], lb=[-50, -50, -np.inf], ub=[50, 50, np.inf])
    answers = {
        kind: dcembed.solve(program, dcembed.Embedding(valley, [0, 1], [2], support=made), options=QUICK).objective
        for kind, made in (("clusters", region), ("hull", dcembed.support(data, "hull")))
    }
    assert answers["hull"] == pytest.approx(0.0, abs=1e-5)
    assert answers["clusters"] > 5.0


def test_one_cluster_is_one_ellipsoid():
    data = two_clouds()
    one, other = dcembed.support(data, "clusters", clusters=1), dcembed.support(data, "ellipsoid")
    points = data + 3.0 * data.std(axis=0)
    assert one.excess(points) == pytest.approx(other.excess(points))


def test_only_combinations_that_were_observed_are_inside():
    rng = np.random.default_rng(0)
    kinds = np.eye(3)[rng.integers(0, 3, 200)]
    level = np.where(kinds[:, 0] == 1.0, 1.0, rng.integers(2, 4, 200)).astype(float)
    data = np.column_stack([rng.normal(size=200), kinds, level])
    region = dcembed.support(data, "hull", discrete=[1, 2, 3, 4])
    observed = {tuple(row) for row in data[:, 1:]}
    for number in range(3):
        for value in (1.0, 2.0, 3.0, 2.5):
            row = np.concatenate([[0.0], np.eye(3)[number], [value]])
            assert region.contains(row[None])[0] == (tuple(row[1:]) in observed)
    # A network that wants the combination that never was: kind 0 at level 3.
    wants = dcembed.build_mlp([[[0.0, 1.0, 0.0, 0.0, 1.0]]], [None])
    program = dcembed.Program(
        cost=[0, 0, 0, 0, 0, 1.0],
        lb=[-9, 0, 0, 0, 1, -99],
        ub=[9, 1, 1, 1, 3, 99],
        integer=[1, 2, 3, 4],
        rows=[[0, 1, 1, 1, 0, 0]],
        row_lb=1,
        row_ub=1,
        maximize=True,
    )
    result = dcembed.solve(program, dcembed.Embedding(wants, [0, 1, 2, 3, 4], [5], support=region), options=QUICK)
    assert result.is_feasible
    assert tuple(np.round(result.x[1:5], 6)) in observed
    assert result.objective == pytest.approx(3.0, abs=1e-5)
    free = dcembed.solve(program, dcembed.Embedding(wants, [0, 1, 2, 3, 4], [5]), options=QUICK)
    assert free.objective == pytest.approx(4.0, abs=1e-5)
