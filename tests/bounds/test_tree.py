"""Boxes of a tree: what they forget, and problems whose optimum they once cut off."""

from __future__ import annotations

import numpy as np
import pytest

from dcembed.bounds.boxes import Solved
from dcembed.bounds.relaxation import no_rows
from dcembed.bounds.tree import Tree
from dcembed.program.tightening import Box

from .random_problems import draw
from .steps import wrong_steps


def _solved(bound: float) -> Solved:
    return Solved(Box(np.zeros(1), np.ones(1)), [], bound, None, np.zeros(1), np.zeros(1), no_rows(1))


def test_the_bound_of_a_tree_is_the_least_of_open_and_closed_boxes():
    tree = Tree()
    assert tree.bound == np.inf
    tree.push(_solved(3.0))
    tree.close(5.0)
    assert tree.bound == 3.0
    tree.close(2.0)
    assert tree.bound == 2.0


# 73: reduced costs of another bound, and parts that they cut off forgotten; 334, 407: a column without end; 20: no pieces;
# 880: HiGHS takes a start for optimal; 1037: a box without a whole number.
@pytest.mark.parametrize("seed", [20, 73, 334, 407, 880, 1037])
def test_problems_that_once_went_wrong(seed):
    drawn = draw(seed)
    assert wrong_steps(drawn, with_start=True) == {}
    assert wrong_steps(drawn, with_start=False) == {}
