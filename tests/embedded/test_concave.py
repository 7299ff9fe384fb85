"""The concave part of an objective belongs to what steps linearize: values, slopes, tangents and splits agree about it."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed import Embedding, Program, split_quadratic, verify
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.held import hold_integers
from dcembed.embedded.measurements import kept_affine, linearize, slopes
from dcembed.embedded.point import measure_point, move_point
from dcembed.embedded.points import measure_points
from dcembed.engine.bundle.global_split import GlobalSplit
from dcembed.engine.bundle.local_split import split_on_box
from dcembed.program.derive import minimized
from dcembed.program.tightening import Box
from problems import random_mlp

NETWORK = random_mlp(1, (2, 7, 5, 2))
N = 6


def products(maximize: bool = False):
    """Two inputs, their predictions multiplied by them and by one another, a product of two other columns, one of them integer."""
    matrix = np.zeros((N, N))
    for i, j, value in ((0, 2, 1.0), (1, 3, -2.0), (2, 3, 0.3), (4, 5, 1.5)):
        matrix[i, j] = matrix[j, i] = value
    quadratic, concave = split_quadratic(matrix, maximize)
    program = Program(
        cost=np.linspace(-1.0, 1.0, N),
        quadratic=quadratic,
        concave=concave,
        offset=2.0,
        lb=[-1.0, -2.0, -np.inf, -np.inf, 0.0, -1.0],
        ub=[1.0, 2.0, np.inf, np.inf, 3.0, 100.0],
        integer=[4],
        maximize=maximize,
    )
    return program, Embedding(NETWORK, [0, 1], [2, 3]), matrix


@pytest.fixture
def embedded():
    program, embedding, _ = products()
    return eliminate(program, [embedding])


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    w = rng.uniform(-1.0, 1.0, (20, N))
    w[:, 4] = rng.integers(0, 4, 20)
    return w


def test_predictions_in_products_stay_columns_and_the_host_is_convex(embedded):
    assert embedded.linked.tolist() == [2, 3]
    assert embedded.host.concave is None
    assert np.linalg.eigvalsh(embedded.host.quadratic.toarray())[0] >= -1e-9
    assert np.linalg.eigvalsh(embedded.concave.toarray())[0] >= -1e-9
    assert embedded.input_columns.tolist() == list(range(N))


@pytest.mark.parametrize("maximize", [False, True])
def test_the_objective_is_the_users(maximize, points):
    program, embedding, matrix = products(maximize)
    embedded = eliminate(minimized(program), [embedding])
    many = measure_points(embedded, points)
    for number, w in enumerate(points):
        point = measure_point(embedded, w)
        objective = 0.5 * w @ matrix @ w + program.cost @ w + 2.0
        assert verify(program, [embedding], w).objective == pytest.approx(objective)
        assert program.sense * point.objective == pytest.approx(objective)
        assert many.objective[number] == pytest.approx(point.objective)
        assert np.allclose(many.neural[number], point.neural)


def test_a_moved_point_is_measured_like_any_other(embedded, points):
    first = measure_point(embedded, points[0])
    w = points[0].copy()
    w[5] += 0.7
    moved, again = move_point(embedded, first, w), measure_point(embedded, w)
    assert moved.objective == pytest.approx(again.objective)
    assert np.allclose(moved.neural, again.neural)


def test_slopes_are_derivatives(embedded, points):
    for w in points[:5]:
        slope = slopes(embedded, w).toarray()
        for j in (0, 1, 2, 3, 5):
            step = np.eye(N)[j] * 1e-6
            change = measure_point(embedded, w + step).neural - measure_point(embedded, w - step).neural
            assert slope[:, j] == pytest.approx(change / 2e-6, abs=1e-5)


def test_models_lie_above_the_objective_and_touch_it(embedded, points):
    """At any other point G - H^ with the tangents of one is no lower than the measurement itself."""
    box = Box(np.full(N, -1.0), np.full(N, 4.0))
    for split in (GlobalSplit(embedded, box), split_on_box(embedded, box)):
        slope, constant = split.kept
        ones = np.ones(embedded.host.num_columns)
        assert slope.shape[1] == ones.size
        for center in points[:5]:
            tangents, _ = split.linearize(center)
            plain = split.tangents(center)
            assert np.allclose((tangents.slope - plain.slope).toarray(), 0.0)
            assert np.allclose(tangents.constant, plain.constant)
            for w in points:
                truth = measure_point(embedded, w).neural
                heights = split.heights(w)
                kept = np.zeros(truth.size)
                part = np.concatenate([measured.parts.measurement for measured in embedded.networks])
                np.add.at(kept, part, heights.value)
                model = slope @ w + constant + kept - (tangents.slope @ w + tangents.constant)
                assert (model >= truth - 1e-9).all()
                if w is center:
                    assert np.allclose(model, truth)


def test_the_tangent_alone_lies_above_the_concave_part(embedded, points):
    concave = embedded.concave.toarray()
    for center in points:
        tangents, (slope, constant) = linearize(embedded, center), kept_affine(embedded)
        # No network is in this objective, so what is left of measurement 0 is the concave part.
        assert slope[[0]].nnz == 0
        assert constant[0] == 0.0
        at = -(tangents.slope[[0]] @ points.T).ravel() - tangents.constant[0]
        true = -0.5 * np.einsum("kn,nm,km->k", points, concave, points)
        assert (at >= true - 1e-9).all()


def test_products_are_split_by_the_ranges_of_their_columns(embedded):
    # The range of column 5 is 101, that of column 4 is 3: the squares of both are alike over their ranges.
    diagonal = embedded.concave.diagonal()
    assert diagonal[4] * 3.0**2 == pytest.approx(diagonal[5] * 101.0**2)


def test_held_integers_leave_the_concave_part(embedded, points):
    held = hold_integers(embedded, points[0])
    assert held.concave is embedded.concave
    w = points[1].copy()
    w[4] = points[0][4]
    assert measure_point(held, w).objective == pytest.approx(measure_point(embedded, w).objective)
