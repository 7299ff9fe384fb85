"""Many points measured in one pass."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from dcembed.embedded import points as points_module
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.embedded.points import evaluation_cost, measure_points
from embedded.problems import cases
from problems import box_problem, random_mlp

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@given(cases())
def test_many_points_are_measured_like_each_of_them(case):
    embedded = case.eliminate()
    w = np.array([embedded.lower(case.point()) for _ in range(5)])
    together = measure_points(embedded, w)
    for number, alone in enumerate(measure_point(embedded, row) for row in w):
        assert np.array_equal(together.w[number], alone.w)
        assert np.isclose(together.objective[number], alone.objective, **CLOSE)
        assert np.allclose(together.neural[number], alone.neural, **CLOSE)
        assert np.allclose(together.excess[number], alone.excess, **CLOSE)
        assert np.isclose(together.merit(3.0)[number], alone.merit(3.0), **CLOSE)


@given(cases())
def test_the_size_of_a_chunk_changes_nothing(case):
    embedded = case.eliminate()
    w = np.array([embedded.lower(case.point()) for _ in range(4)])
    whole = measure_points(embedded, w).neural
    size, points_module.CHUNK_ENTRIES = points_module.CHUNK_ENTRIES, 1
    try:
        assert np.allclose(measure_points(embedded, w).neural, whole, **CLOSE)
    finally:
        points_module.CHUNK_ENTRIES = size


def test_the_cost_of_a_point_is_the_number_of_weights_of_all_evaluations():
    program, embedding = box_problem(random_mlp(0, (3, 10, 8, 1)), np.ones(3), 0.3)
    assert evaluation_cost(eliminate(program, [embedding])) == 3 * 10 + 10 * 8 + 8
