"""Whether a problem falls apart, and into what."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from block_problems import Case, block_case
from dcembed import Embedding, Program, build_mlp
from dcembed.embedded.blocks import find_blocks
from dcembed.embedded.elimination import eliminate
from strategies import seeds

LINKS = ("budget", "demand", "range", "predictions")


def partition(case: Case) -> tuple[set[frozenset[int]], int]:
    """The blocks as sets of the user's columns, and the number of links."""
    embedded = case.eliminate()
    blocks = find_blocks(embedded)
    assert blocks is not None
    groups = {frozenset(embedded.kept[blocks.block == number].tolist()) for number in range(blocks.num_blocks)}
    return groups, blocks.num_links


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("permuted", [False, True])
def test_items_are_blocks_and_what_they_share_links_them(link, second, permuted):
    case = block_case(3, 12, link, second, permuted)
    groups, num_links = partition(case)
    kept = set(case.eliminate().kept.tolist())
    assert groups == {frozenset(np.flatnonzero(case.item == number).tolist()) & kept for number in range(12)}
    assert num_links == 2


@settings(deadline=None, max_examples=25)
@given(seeds(), st.sampled_from(LINKS), st.booleans())
def test_the_order_of_rows_and_columns_makes_no_difference(seed, link, second):
    plain, mixed = block_case(seed, 9, link, second), block_case(seed, 9, link, second, permuted=True)
    items = {frozenset(plain.item[list(group)].tolist()) for group in partition(plain)[0]}
    assert items == {frozenset(mixed.item[list(group)].tolist()) for group in partition(mixed)[0]}
    assert partition(plain)[1] == partition(mixed)[1]


@settings(deadline=None, max_examples=25)
@given(seeds(), st.sampled_from(LINKS), st.booleans())
def test_no_network_and_no_indicator_is_cut_in_two(seed, link, second):
    embedded = block_case(seed, 9, link, second, permuted=True).eliminate()
    blocks = find_blocks(embedded)
    for measured in embedded.networks:
        for number in range(measured.num_blocks):
            rows = measured.maps[measured.rows_of(measured.map_of[[number]])[0]]
            assert np.unique(blocks.block[rows.indices]).size == 1
    for indicator in embedded.host.indicators:
        assert np.unique(blocks.block[[indicator.column, *indicator.coefficients.indices]]).size == 1


def test_a_quadratic_objective_that_ties_everything_leaves_one_piece():
    case = block_case(0, 12)
    n = case.program.num_columns
    program = Program(cost=np.zeros(n), quadratic=np.ones((n, n)), rows=case.program.rows, row_ub=case.program.row_ub, lb=0.0, ub=1.0)
    assert find_blocks(eliminate(program, case.embeddings)) is None


def test_few_items_are_no_structure():
    assert find_blocks(block_case(0, 4).eliminate()) is None


def test_one_network_on_all_columns_is_one_piece():
    net = build_mlp(weights=[np.ones((4, 20)), np.ones((1, 4))], biases=[np.zeros(4), np.zeros(1)])
    program = Program(cost=np.zeros(21), rows=np.ones((1, 21)), row_ub=1.0, lb=0.0, ub=1.0)
    assert find_blocks(eliminate(program, [Embedding(net, np.arange(20), [20])])) is None


def test_items_that_nothing_ties_together_have_no_links():
    case = block_case(0, 12)
    rows = case.program.rows[:-2]
    program = Program(cost=case.program.cost, rows=rows, row_ub=case.program.row_ub[:-2], lb=0.0, ub=1.0)
    assert find_blocks(eliminate(program, case.embeddings)) is None


def test_columns_beside_one_network_only_belong_to_its_block_however_long_their_rows():
    """Weights of a hull: six of them in every row of an item, and none in what the items share."""
    k, m = 40, 6
    network = build_mlp([np.ones((2, 2)), np.ones((1, 2))], [np.zeros(2), None])
    n = k * (3 + m)
    inputs, outputs = np.arange(2 * k).reshape(k, 2), np.arange(2 * k, 3 * k)
    weights = np.arange(3 * k, n).reshape(k, m)
    rows = np.zeros((3 * k + 1, n))
    rng = np.random.default_rng(0)
    for item in range(k):
        for j in range(2):
            rows[3 * item + j, inputs[item, j]] = 1.0
            rows[3 * item + j, weights[item]] = -rng.normal(size=m)
        rows[3 * item + 2, weights[item]] = 1.0
    rows[-1, inputs[:, 0]] = 1.0
    sides = np.tile([0.0, 0.0, 1.0], k)
    lb, ub = np.full(n, -9.0), np.full(n, 9.0)
    lb[weights], lb[outputs], ub[outputs] = 0.0, -np.inf, np.inf
    cost = np.zeros(n)
    cost[outputs] = 1.0
    program = Program(cost=cost, rows=rows, row_lb=[*sides, -np.inf], row_ub=[*sides, 1.0], lb=lb, ub=ub)
    embedded = eliminate(program, [Embedding(network, inputs, outputs[:, None])])
    blocks = find_blocks(embedded)
    assert blocks is not None
    assert blocks.num_blocks == k
    assert blocks.linking_rows.tolist() == [3 * k]
    for item in range(k):
        assert np.unique(blocks.block[np.isin(embedded.kept, [*inputs[item], *weights[item]])]).size == 1
