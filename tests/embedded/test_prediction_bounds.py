"""Bounds of predictions that stay in the host follow from their networks."""

from __future__ import annotations

import numpy as np
from hypothesis import given

import dcembed
from dcembed import Embedding, Indicator, Program
from dcembed.embedded.elimination import eliminate
from problems import quiet, random_mlp
from strategies import seeds

ENDLESS = np.inf


def chain(seed: int, curved: bool = True) -> tuple[Program, list[Embedding]]:
    """Two inputs in a box feed a network, which feeds another; the last prediction is squared."""
    first, second = random_mlp(seed, (2, 6, 2)), random_mlp(seed + 1, (2, 5, 1))
    quadratic = np.zeros((5, 5))
    quadratic[4, 4] = 2.0 if curved else 0.0
    program = Program(cost=np.zeros(5), quadratic=quadratic, lb=[-1.0, -1.0, *[-ENDLESS] * 3], ub=[1.0, 1.0, *[ENDLESS] * 3])
    return program, [Embedding(first, [0, 1], [2, 3]), Embedding(second, [2, 3], [4])]


@given(seeds())
def test_no_prediction_lies_outside(seed):
    program, (first, second) = chain(seed % 100)
    embedded = eliminate(program, [first, second])
    host = embedded.bounded_host
    assert np.isfinite(host.lb).all()
    assert np.isfinite(host.ub).all()
    x = np.random.default_rng(seed).uniform(-1, 1, (200, 2))
    middle = first.network(x)
    w = np.hstack([x, middle, second.network(middle)])[:, embedded.kept]
    assert ((w >= host.lb) & (w <= host.ub)).all()


def test_the_host_that_points_are_measured_by_is_the_users():
    program, embeddings = chain(0)
    embedded = eliminate(program, embeddings)
    assert np.isinf(embedded.host.lb[embedded.linked]).all()
    narrow = Program(cost=program.cost, quadratic=program.quadratic, lb=program.lb, ub=[1.0, 1.0, ENDLESS, ENDLESS, 0.25])
    assert eliminate(narrow, embeddings).bounded_host.ub[-1] <= 0.25


def test_a_prediction_in_an_indicator_needs_no_bounds_of_its_own():
    """y = 1 switches on u <= 0 for a prediction u that feeds another network and has no bounds."""
    first, second = random_mlp(3, (1, 5, 1)), random_mlp(4, (1, 5, 1))
    unit = np.eye(4)
    program = Program(
        cost=[0.0, 0.0, 1.0, -0.5],
        lb=[-2.0, -ENDLESS, -ENDLESS, 0.0],
        ub=[2.0, ENDLESS, ENDLESS, 1.0],
        integer=[3],
        indicators=[Indicator(3, 1, unit[1], ub=0.0)],
    )
    result = dcembed.solve(program, [Embedding(first, [0], [1]), Embedding(second, [1], [2])], options=quiet(max_starts=3))
    assert result.is_feasible
