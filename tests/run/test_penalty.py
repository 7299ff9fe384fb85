"""The initial penalty scales itself to the problem."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import Embedding, Options, Program
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.run.penalty import estimate_penalty, initial_penalty
from problems import random_mlp


def estimate(objective: float = 1.0, row: float = 1.0, column: float = 1.0, quadratic: bool = False) -> float:
    """The estimate for a problem with a factor on its objective, its neural row and one of its columns."""
    network = random_mlp(0, (2, 8, 1))
    scale = np.array([column, 1.0, 1.0])
    matrix = sp.csr_array(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]) / scale)
    from dcembed import AffineInputs

    program = Program(
        cost=objective * np.array([1.0, -2.0, 0.0]) / scale,
        quadratic=objective * np.diag([2.0 / column**2, 1.0, 0.0]) if quadratic else None,
        rows=[row * np.array([0.5, 0.0, 1.0]) / scale],
        row_ub=0.0,
        lb=np.array([-1.0, -1.0, -np.inf]) * scale,
        ub=np.array([1.0, 1.0, np.inf]) * scale,
    )
    embedded = eliminate(program, [Embedding(network, AffineInputs(matrix), [2])])
    w = np.array([0.3, -0.2]) * scale[:2]
    point = measure_point(embedded, w)
    return estimate_penalty(embedded, point)


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("factor", [1e-4, 1e5])
def test_the_estimate_follows_the_scale_of_objective_and_rows(factor, quadratic):
    base = estimate(quadratic=quadratic)
    assert estimate(objective=factor, quadratic=quadratic) == pytest.approx(factor * base)
    assert estimate(row=factor, quadratic=quadratic) == pytest.approx(base / factor)


def test_the_estimate_does_not_see_the_units_of_a_bounded_column():
    assert estimate(column=0.01) == pytest.approx(estimate())


def test_given_penalties_are_taken_as_they_are():
    network = random_mlp(0, (2, 8, 1))
    embedded = eliminate(Program(cost=[1.0, 1.0, 0.0], lb=-1.0, ub=1.0), [Embedding(network, [0, 1], [2])])
    point = measure_point(embedded, np.zeros(2))
    penalty = initial_penalty(Options(initial_penalty=3.0, penalty_growth=2.0, max_penalty=10.0), embedded, point)
    assert (penalty.value, penalty.growth, penalty.limit) == (3.0, 2.0, 10.0)
    assert [penalty.grown().value, penalty.grown().grown().value] == [6.0, 10.0]
    default = initial_penalty(Options(), embedded, point)
    assert default.limit == pytest.approx(1e6 * default.value)
