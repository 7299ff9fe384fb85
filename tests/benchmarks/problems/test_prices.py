"""Prices of ten regions, on labels and free."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from benchmarks.problems.prices import (
    LABELS,
    NUM_INPUTS,
    NUM_REGIONS,
    WIDTHS,
    WRITINGS,
    build_prices,
    draw_sales,
    load_prices,
    sales,
)
from dcembed.embedded.verify import predict
from problems import quiet


def test_the_stored_network_has_learned_the_sales_and_not_their_noise():
    network = load_prices()
    assert (network.num_inputs, network.widths, network.num_outputs) == (NUM_INPUTS, WIDTHS, 1)
    points, _ = draw_sales(4000, np.random.default_rng(7))
    assert np.mean((network(points)[:, 0] - sales(points)) ** 2) < 0.01 * np.var(sales(points))


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize("num_kinds", [1, 2])
def test_one_price_everywhere_is_feasible(writing, num_kinds):
    instance = build_prices(writing, num_kinds, 0)
    (start,) = instance.starts
    assert dcembed.verify(instance.program, instance.embeddings, start).violation <= 1e-9
    assert instance.embeddings[0].num_evaluations == NUM_REGIONS * num_kinds
    assert instance.program.num_integers == (NUM_REGIONS * num_kinds * LABELS.size if writing == "grid" else 0)


@pytest.mark.parametrize("num_kinds", [1, 2])
def test_both_writings_are_the_same_problem_on_the_labels(num_kinds):
    grid, free = (build_prices(writing, num_kinds, 3) for writing in WRITINGS)
    shape, size = (NUM_REGIONS, num_kinds), NUM_REGIONS * num_kinds
    rng = np.random.default_rng(4)
    for _ in range(10):
        # Neighbours and kinds of weeks have labels that are close to one another.
        label = 8 + rng.integers(0, 3, shape)
        picked = np.arange(LABELS.size) == label[:, :, None]
        x = np.zeros(free.program.num_columns)
        x[:size] = LABELS[label].reshape(-1)
        bought = predict(free.embeddings, x)[3 * size :]
        sold = bought * rng.uniform(0.3, 0.6, size)
        x[size : 2 * size], x[2 * size : 3 * size] = sold, 1.1 * sold
        longer = np.concatenate([x, picked.reshape(-1), (picked * sold.reshape(shape)[:, :, None]).reshape(-1)])
        first, second = (predict(i.embeddings, w) for i, w in ((grid, longer), (free, x)))
        assert dcembed.verify(grid.program, grid.embeddings, first).violation <= 1e-9
        assert dcembed.verify(free.program, free.embeddings, second).violation <= 1e-9
        assert grid.program.objective(first) == pytest.approx(free.program.objective(second), rel=1e-9)


def test_free_prices_earn_more_after_a_few_steps():
    instance = build_prices("free", 1, 0)
    (start,) = instance.starts
    result = dcembed.solve(instance.program, instance.embeddings, start, quiet(max_iterations=20))
    assert result.is_feasible
    assert result.objective < 1.1 * instance.program.objective(start)


def test_a_seed_is_the_same_supply_and_an_unknown_writing_is_named():
    one, again, other = (build_prices("free", 1, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.program.row_ub, again.program.row_ub)
    assert not np.array_equal(one.program.row_ub, other.program.row_ub)
    with pytest.raises(ValueError, match="grid, free"):
        build_prices("prose", 1, 0)


def test_training_gets_closer():
    pytest.importorskip("torch")
    from benchmarks.problems import train_prices

    fitted = train_prices.train(num_steps=100)
    assert fitted.error < 0.9
    assert fitted.network.widths == load_prices().widths
