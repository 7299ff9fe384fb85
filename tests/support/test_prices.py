"""Prices of limits where inputs are kept in a region."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed

QUICK = {"verbose": False, "search": "converge", "max_starts": 2}


@pytest.mark.parametrize("kind", ["box", "hull", "ellipsoid"])
def test_a_budget_is_worth_what_the_objective_gains_inside_the_region(kind):
    """x0 + x1 is held by a budget and by the data; one more unit of the budget is worth the slope that is left along the region."""
    rng = np.random.default_rng(0)
    data = rng.uniform(0.0, 2.0, size=(400, 2))
    region = dcembed.support(data, kind)
    plane = dcembed.build_mlp([[[3.0, 1.0]]], [None])

    def best(budget: float) -> dcembed.Result:
        program = dcembed.Program(
            cost=[0.0, 0.0, 1.0], rows=[[1.0, 1.0, 0.0]], row_ub=budget, lb=-9.0, ub=99.0, maximize=True, row_names=["budget"]
        )
        return dcembed.solve(program, dcembed.Embedding(plane, [0, 1], [2], support=region), options=QUICK)

    result, more, less = best(2.5), best(2.501), best(2.499)
    price = result.prices.by_name["budget"]
    assert (more.objective - result.objective) / 0.001 - 1e-2 <= price <= (result.objective - less.objective) / 0.001 + 1e-2
    assert price > 0.1
    assert result.prices.unexplained < 0.05
    assert result.prices.bounds.size == 3
    assert "hull" not in str(result.prices)
