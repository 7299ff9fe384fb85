"""Some blocks alone are what they are in the whole problem, and walks in parts are walks of all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_columns import LINKS, draw_point, layout_of

import dcembed
from block_problems import block_case
from dcembed.crew.crew import Crew
from dcembed.crew.task import Shared
from dcembed.engine.columns import walks
from dcembed.engine.columns.layout import lay_out
from dcembed.engine.columns.narrowing import can_narrow, narrow
from dcembed.engine.columns.pieces import measure_pieces
from dcembed.engine.columns.pricing import walk
from dcembed.engine.problem import build_problem
from dcembed.run.clock import Clock
from strategies import seeds


@settings(max_examples=40, deadline=None)
@given(seed=seeds(), link=st.sampled_from(LINKS))
def test_some_blocks_are_measured_as_in_the_whole_problem(seed, link):
    layout = layout_of(
        block_case(seed, link=link, second=seed % 2 == 1, permuted=seed % 3 == 0, activation=("relu", "tanh")[seed % 5 == 0])
    )
    if not can_narrow(layout):
        return
    rng = np.random.default_rng(seed)
    blocks = np.flatnonzero(rng.random(layout.num_blocks) < 0.4)
    blocks = blocks if blocks.size else np.array([0])
    part, w = narrow(layout, blocks), draw_point(layout, seed)
    whole, some = measure_pieces(layout, w), measure_pieces(part.layout, w[part.columns])
    np.testing.assert_allclose(some.cost, whole.cost[blocks], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(some.violation, whole.violation[blocks], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(some.use.toarray(), whole.use[blocks].toarray(), rtol=1e-12, atol=1e-12)
    prices = rng.normal(size=layout.links.num_links)
    for all_of_them, few in zip(walk(layout, prices, w, 3), walk(part.layout, prices, w[part.columns], 3), strict=False):
        np.testing.assert_allclose(few.w, all_of_them.w[part.columns], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_walks_in_parts_find_what_walks_of_all_find(monkeypatch, link):
    case = block_case(3, link=link)
    embedded = case.eliminate()
    problem = build_problem(embedded, dcembed.Options(search="converge", verbose=False))
    layout = lay_out(embedded, problem.blocks, problem.box)
    w, prices = draw_point(layout, 1), np.ones(layout.links.num_links)
    best = np.full(layout.num_blocks, np.inf)

    def walked():
        return walks.walk_blocks(Crew(), Shared(problem), layout, walks.Ways(prices, w, best, 1e-6), Clock(np.inf))

    whole = walked()
    monkeypatch.setattr(walks, "PART_BLOCKS", 3)
    parts = walked()
    assert walks.count_parts(layout) > 1 or not can_narrow(layout)
    order, other = (np.lexsort((pool.value(prices), pool.block)) for pool in (whole, parts))
    assert np.array_equal(whole.block[order], parts.block[other])
    np.testing.assert_allclose(whole.values[order], parts.values[other], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(whole.cost[order], parts.cost[other], rtol=1e-6, atol=1e-6)
