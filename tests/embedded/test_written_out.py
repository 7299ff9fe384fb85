"""Units written out: the same problem, over more columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcembed import AffineInputs, Embedding, Program
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.measurements import input_box
from dcembed.embedded.open_block import open_blocks
from dcembed.embedded.point import measure_point
from dcembed.embedded.unit_bounds import propagate
from dcembed.embedded.written_out import write_out
from dcembed.engine.bundle.exact_units import choose_units
from dcembed.network.bounds import bound
from dcembed.program.tightening import tighten
from problems import random_mlp
from strategies import networks, seeds

MODERATE = (0.3, 1.0, 2.0)


def embed(network, seed: int, k: int = 3):
    """k evaluations of affine inputs of four integers, in the objective and in a range; nothing uses the last evaluation."""
    rng = np.random.default_rng(seed)
    num_outputs = k * network.num_outputs
    n = 4 + num_outputs
    matrix = np.zeros((k * network.num_inputs, n))
    matrix[:, :4] = rng.normal(size=(k * network.num_inputs, 4))
    used = np.arange(n) < n - network.num_outputs
    program = Program(
        cost=rng.normal(size=n) * used,
        rows=rng.normal(size=(1, n)) * used,
        row_lb=-1.0,
        row_ub=1.0,
        lb=np.concatenate([np.full(4, -1.0), np.full(num_outputs, -np.inf)]),
        ub=np.concatenate([np.full(4, 2.0), np.full(num_outputs, np.inf)]),
        integer=np.arange(4),
    )
    inputs = AffineInputs(matrix, rng.normal(size=(k, network.num_inputs)))
    return eliminate(program, [Embedding(network, inputs, 4 + np.arange(num_outputs).reshape(k, -1))]), rng


def blocks_of(embedded):
    box = tighten(embedded.host)
    return open_blocks(embedded, [bound(measured.network, *input_box(measured, *box)) for measured in embedded.networks])


@settings(max_examples=20, deadline=None)
@given(networks(scales=MODERATE), seeds(), st.integers(0, 12))
def test_a_problem_with_units_written_out_is_the_same_problem(network, seed, max_units):
    embedded, rng = embed(network, seed)
    blocks = blocks_of(embedded)
    chosen = choose_units(blocks, rng.integers(-1, 3, 4).astype(float), max_units)
    written = write_out(embedded, blocks, chosen)
    assert written.num_units <= max_units
    assert written.embedded.host.num_columns == embedded.host.num_columns + 3 * written.num_units
    for w in rng.integers(-1, 3, (5, 4)).astype(float):
        here, there = measure_point(embedded, w), measure_point(written.embedded, written.lift(w))
        assert there.objective == pytest.approx(here.objective, rel=1e-9, abs=1e-9)
        assert there.slack == pytest.approx(here.slack, rel=1e-9, abs=1e-9)
        assert there.violation == pytest.approx(here.violation, rel=1e-9, abs=1e-7)


def test_the_columns_of_a_unit_hold_it_exactly():
    embedded, rng = embed(random_mlp(3, (2, 6, 1)), 0)
    blocks = blocks_of(embedded)
    written = write_out(embedded, blocks, choose_units(blocks, np.zeros(4), 4))
    w = rng.integers(-1, 3, 4).astype(float)
    lifted = written.lift(w)
    # Another value of any unit violates a row.
    for column in range(4, 4 + 4):
        for change in (-0.5, 0.5):
            moved = lifted.copy()
            moved[column] += change
            assert measure_point(written.embedded, moved).violation > 1e-3


def test_units_are_chosen_with_all_that_they_depend_on_and_where_tangents_may_be_wrong():
    embedded, _ = embed(random_mlp(0, (3, 6, 5, 1)), 1)
    blocks = blocks_of(embedded)
    for max_units in (1, 5, 20, 200):
        chosen = choose_units(blocks, np.zeros(4), max_units)
        assert sum(mask.sum() for mask in chosen) <= max_units
        for block, mask in zip(blocks, chosen, strict=True):
            assert not ((block.links[mask] != 0) & ~mask).any()
    # All that may be wrong, and no more: units that only the convex component has need no binary.
    (single,) = blocks_of(embed(random_mlp(0, (3, 8, 1)), 1, k=2)[0])
    (mask,) = choose_units([single], np.zeros(4), 200)
    signs = single.weights[1] @ single.out_units
    assert mask.tolist() == (signs < 0).any(axis=0).tolist()


def test_bounds_of_later_stages_follow_from_tighter_ones_of_the_first():
    network = random_mlp(1, (2, 5, 4, 1))
    box = np.full((1, 2), -1.0), np.full((1, 2), 1.0)
    loose = bound(network, *box)
    first = loose[0][0] / 4, loose[0][1] / 4
    tight = propagate(network, box, [first, *loose[1:]])
    assert (tight[0][0] >= first[0]).all()
    assert (tight[1][0] >= loose[1][0]).all()
    assert (tight[1][1] <= loose[1][1]).all()
    assert (tight[1][1] < loose[1][1]).any()
