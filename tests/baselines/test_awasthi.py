"""The algorithm of Awasthi et al.: objectives only."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.baselines import awasthi
from dcembed.errors import InputError
from problems import box_problem, level_problem, quiet, random_mlp


def test_neural_rows_are_refused():
    program, embedding = level_problem(0)
    with pytest.raises(InputError, match="scalar objective only, but this problem has 1 neural restriction"):
        awasthi.solve(program, embedding, options=quiet())


def test_it_descends_with_both_components_as_columns():
    network = random_mlp(3, (2, 8, 6, 1))
    program, embedding = box_problem(network, np.array([0.3, -0.2]), 1.0)
    result = awasthi.solve(program, embedding, np.array([1.0, 1.0, 0.0]), quiet())
    objectives = [objective for _, objective in result.incumbents]
    assert result.status is dcembed.Status.LOCALLY_SOLVED
    assert objectives == sorted(objectives, reverse=True)
    # 2 N - n_1 columns, as the direct representation has.
    assert result.sizes.added_columns == 2 * 14 - 8


def test_the_formulation_is_that_of_the_method():
    program, embedding = box_problem(random_mlp(3, (2, 8, 6, 1)), np.zeros(2), 1.0)
    one, other = (awasthi.solve(program, embedding, np.zeros(3), quiet(formulation=f)) for f in ("lazy", "two-path"))
    assert one.sizes == other.sizes
    assert one.objective == other.objective
