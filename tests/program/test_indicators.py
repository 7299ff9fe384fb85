"""Indicators written as rows mean the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from dcembed import Indicator, Program
from dcembed.errors import MissingBoundError
from dcembed.program.derive import derive
from dcembed.program.indicators import largest_values, linearize_indicators, switch
from strategies import seeds

NUMBERS = np.array([10, 11, 12])


def on_off(lb, ub, value: int = 1, coefficients=(1.0, 2.0, 0.0), side=(-np.inf, 4.0)) -> Program:
    """Two continuous columns and a binary one."""
    indicator = Indicator(2, value, np.array(coefficients), *side)
    return Program(cost=np.zeros(3), lb=[*lb, 0.0], ub=[*ub, 1.0], integer=[2], indicators=[indicator])


def row_excess(program: Program, w: np.ndarray) -> float:
    value = program.rows @ w
    return float(np.maximum(value - program.row_ub, program.row_lb - value).max(initial=0.0))


def logical_excess(program: Program, w: np.ndarray) -> float:
    """What the indicators that are on are exceeded by."""
    total = 0.0
    for indicator in program.indicators:
        if w[indicator.column] == indicator.value:
            value = float((indicator.coefficients @ w)[0])
            total = max(total, value - indicator.ub, indicator.lb - value)
    return total


@given(seeds())
def test_rows_mean_what_the_indicators_mean_at_every_binary_and_point(seed):
    rng = np.random.default_rng(seed)
    num_binary, num_plain = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    n = num_binary + num_plain
    lb = np.concatenate([np.zeros(num_binary), rng.normal(size=num_plain) - 2])
    ub = np.concatenate([np.ones(num_binary), lb[num_binary:] + rng.uniform(0, 4, size=num_plain)])
    indicators = []
    for _ in range(rng.integers(1, 5)):
        low, high = np.sort(rng.normal(size=2))
        kind = rng.integers(0, 4)
        # Rows may contain binaries, their own among them.
        coefficients = rng.normal(size=n) * (rng.random(n) < 0.7)
        sides = [(-np.inf, high), (low, np.inf), (low, high), (low, low)][kind]
        indicators.append(Indicator(int(rng.integers(num_binary)), int(rng.integers(2)), coefficients, *sides))
    program = Program(cost=np.zeros(n), lb=lb, ub=ub, integer=np.arange(num_binary), indicators=indicators)
    linear = linearize_indicators(program)
    assert linear.indicators == ()
    for binaries in product([0.0, 1.0], repeat=num_binary):
        for _ in range(4):
            w = np.concatenate([binaries, rng.uniform(lb, ub)[num_binary:]])
            assert np.isclose(row_excess(linear, w), logical_excess(program, w), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("value", [0, 1])
def test_a_row_is_switched_off_by_the_smallest_m(value):
    # x + 2 y <= 4 with x in [0, 2], y in [0, 5]: at most 12, so M = 8.
    linear = linearize_indicators(on_off([0.0, 0.0], [2.0, 5.0], value))
    assert linear.rows.toarray().tolist() == ([[1.0, 2.0, 8.0]] if value == 1 else [[1.0, 2.0, -8.0]])
    assert linear.row_ub.tolist() == ([12.0] if value == 1 else [4.0])
    assert linear.row_lb.tolist() == [-np.inf]


def test_a_row_that_always_holds_needs_no_m():
    linear = linearize_indicators(on_off([0.0, 0.0], [1.0, 1.0]))
    assert linear.rows.toarray().tolist() == [[1.0, 2.0, 0.0]]


def test_an_equality_becomes_two_rows():
    linear = linearize_indicators(on_off([0.0, 0.0], [2.0, 5.0], side=(4.0, 4.0)))
    assert linear.rows.toarray().tolist() == [[1.0, 2.0, 8.0], [-1.0, -2.0, 4.0]]
    assert linear.row_ub.tolist() == [12.0, 0.0]


def test_rows_of_the_program_come_last_and_stay():
    program = replace(on_off([0.0, 0.0], [2.0, 5.0]), rows=[[1.0, 1.0, 0.0]], row_lb=-1.0, row_ub=None)
    linear = linearize_indicators(program)
    assert linear.rows.toarray()[-1].tolist() == [1.0, 1.0, 0.0]
    assert linear.row_lb.tolist() == [-np.inf, -1.0]


def test_bounds_that_rows_imply_are_enough():
    indicator = Indicator(1, 1, [1.0, 0.0], ub=0.0)
    data = {"lb": [0.0, 0.0], "ub": [np.inf, 1.0], "integer": [1], "indicators": [indicator]}
    linear = linearize_indicators(Program(cost=np.zeros(2), rows=[[2.0, 0.0]], row_ub=6.0, **data))
    assert np.allclose(linear.rows.toarray()[0], [1.0, 3.0])


def test_a_program_without_indicators_is_returned_as_it_is():
    program = Program(cost=[1.0])
    assert linearize_indicators(program) is program


@pytest.mark.parametrize(
    ("lb", "ub", "coefficients", "side", "column", "missing"),
    [
        ([0.0, 0.0], [2.0, np.inf], [1.0, 2.0, 0.0], (-np.inf, 4.0), 11, "upper"),
        ([-np.inf, 0.0], [2.0, 5.0], [-1.0, 2.0, 0.0], (-np.inf, 4.0), 10, "lower"),
        ([-np.inf, 0.0], [2.0, 5.0], [1.0, 2.0, 0.0], (-4.0, np.inf), 10, "lower"),
    ],
)
def test_a_missing_bound_names_the_users_column_word_by_word(lb, ub, coefficients, side, column, missing):
    with pytest.raises(MissingBoundError) as caught:
        linearize_indicators(derive(on_off(lb, ub, coefficients=coefficients, side=side), column_numbers=NUMBERS))
    assert str(caught.value) == (
        f"Column {column} has no finite {missing} bound, but it is behind an indicator, which is written with a bound here. "
        f"Give column {column} a finite {missing} bound, or rows that imply one."
    )


def test_a_bound_that_the_row_does_not_need_may_be_missing():
    linearize_indicators(on_off([-np.inf, 0.0], [2.0, 5.0]))
    linearize_indicators(on_off([0.0, -np.inf], [2.0, np.inf], coefficients=[1.0, 0.0, 0.0]))


def test_switch_leaves_rows_without_indicator_alone():
    matrix = sp.csr_array(np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))
    column, value = np.array([-1, 1, 1]), np.array([0, 1, 0])
    rows, rhs = switch(matrix, np.array([5.0, 5.0, 5.0]), column, value, np.array([9.0, 2.0, 3.0]))
    assert rows.toarray().tolist() == [[1.0, 0.0], [1.0, 2.0], [1.0, -3.0]]
    assert rhs.tolist() == [5.0, 7.0, 5.0]


def test_largest_values_are_attained_in_a_corner():
    matrix = sp.csr_array(np.array([[1.0, -2.0], [0.0, 0.0]]))
    assert largest_values(Program(cost=np.zeros(2)), matrix, np.array([0.0, -3.0]), np.array([4.0, np.inf])).tolist() == [10.0, 0.0]
