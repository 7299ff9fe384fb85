"""How long a run goes on without anything better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import Point, measure_point
from dcembed.engine.search.patience import Patience, heard
from problems import box_problem, random_mlp

PROGRAM, EMBEDDING = box_problem(random_mlp(0, (1, 4, 1)), np.ones(1), 1.0)
POINT = measure_point(eliminate(PROGRAM, [EMBEDDING]), np.zeros(1))


def at(objective: float, violation: float = 0.0) -> Point:
    return replace(POINT, objective=objective, violation=violation)


def after(patience: Patience, objective: float, num_steps: int = 9) -> Patience:
    return heard(patience, at(objective), at(objective), num_steps, 1e-6)


@pytest.mark.patient
def test_it_is_over_after_twenty_starts_without_anything_better():
    patience = after(Patience(), 1.0)
    for number in range(20):
        assert not patience.is_over, number
        patience = after(patience, 1.0 - 1e-7)
    assert patience.is_over
    assert patience.reason == "nothing better in 20 starts since start 0, with 200 steps after 10"


def test_it_is_over_only_after_twice_the_work_that_found_the_best():
    patience = after(after(Patience(), 1.0, 99), 0.5, 99)
    for _ in range(39):
        patience = after(patience, 0.7)
        assert not patience.is_over
    assert after(patience, 0.7).is_over
    # A start of no step is some work all the same: patience ends in any case.
    for _ in range(400):
        patience = after(patience, 0.7, 0)
    assert patience.is_over


def test_something_better_begins_it_anew():
    patience = Patience()
    for number in range(30):
        patience = after(patience, -float(number))
    assert not patience.is_over
    assert (patience.best_start, patience.best_work) == (29, 300)


def test_without_a_feasible_point_less_violation_is_better_and_a_feasible_point_is_best():
    patience = heard(Patience(), at(0.0, 1.0), None, 9, 1e-6)
    patience = heard(patience, at(0.0, 0.99), None, 9, 1e-6)
    assert patience.best_start == 0
    patience = heard(patience, at(0.0, 0.5), None, 9, 1e-6)
    assert patience.best_start == 2
    patience = after(patience, 1e9)
    assert patience.best_start == 3
    patience = heard(patience, at(0.0, 0.1), None, 9, 1e-6)
    assert patience.best_start == 3
