"""The largest of the last tangents: what it says of a kink, and what it never says of the current point."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given

from dcembed import Embedding, Program, build_mlp
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.measurements import num_measurements, slopes
from dcembed.embedded.point import measure_point
from dcembed.engine.subproblem import Majorant
from dcembed.engine.tangent import memory
from dcembed.engine.tangent.memory import NUM_TANGENTS, build_excess, build_model, earlier_rows, remember
from dcembed.program.tightening import Box
from problems import random_mlp
from strategies import seeds


def embedded_problem(network):
    n = network.num_inputs
    lb, ub = np.concatenate([-np.ones(n), [-np.inf]]), np.concatenate([np.ones(n), [0.5]])
    return eliminate(Program(cost=[*np.zeros(n), 1.0], lb=lb, ub=ub), [Embedding(network, np.arange(n), [n])])


def tangents_at(embedded, w):
    point, slope = measure_point(embedded, w), slopes(embedded, w)
    return Majorant(slope, point.neural - slope @ point.w, None)


BOX = Box(-np.ones(2), np.ones(2))


def model(embedded, earlier, current, w, at):
    """The model around w, of the objective and of each restriction, at another point of the box."""
    size, restrictions = w.size, embedded.restrictions
    built = build_model(earlier, current, restrictions, w, Box(-np.ones(size), np.ones(size)))
    rhs = np.concatenate([[0.0], restrictions.rhs])
    value = current.slope @ at + current.constant
    value[1:] += restrictions.linear @ at
    own = built.slope @ at + built.constant + np.where(built.measurement == 0, value[0], rhs[built.measurement])
    np.maximum.at(value, built.measurement, own)
    return value


def exact(embedded, w):
    neural = measure_point(embedded, w).neural.copy()
    neural[1:] += embedded.restrictions.linear @ w
    return neural


@given(seeds())
def test_the_model_is_exact_at_the_point_and_never_below_its_tangent(seed):
    rng = np.random.default_rng(seed)
    embedded = embedded_problem(random_mlp(seed % 50, (2, 8, 6, 1)))
    earlier = [tangents_at(embedded, w) for w in rng.uniform(-1, 1, (NUM_TANGENTS, 2))]
    w, at = rng.uniform(-1, 1, (2, 2))
    current = tangents_at(embedded, w)
    assert np.allclose(model(embedded, earlier, current, w, w), exact(embedded, w))
    assert (model(embedded, earlier, current, w, at) >= model(embedded, [], current, w, at) - 1e-12).all()


def test_both_sides_of_a_kink_are_known():
    """|x| from its tangents at -1/2 and 1/2."""
    absolute = build_mlp([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]])
    embedded = embedded_problem(absolute)
    left, right = (tangents_at(embedded, np.array([x])) for x in (-0.5, 0.5))
    for x in np.linspace(-1, 1, 9):
        assert np.isclose(model(embedded, [left], right, np.array([0.5]), np.array([x]))[0], abs(x))


def test_a_tangent_above_the_point_is_lowered_to_it():
    """-|x| lies below its tangents everywhere."""
    network = build_mlp([[[1.0], [-1.0]], [[-1.0, -1.0]]], [[0.0, 0.0], [0.0]])
    embedded = embedded_problem(network)
    left, right = (tangents_at(embedded, np.array([x])) for x in (-0.5, 0.5))
    assert np.isclose(model(embedded, [left], right, np.array([0.5]), np.array([0.5]))[0], -0.5)


def test_equal_tangents_are_no_rows_and_only_the_last_are_kept():
    embedded = embedded_problem(random_mlp(0, (2, 6, 1)))
    current = tangents_at(embedded, np.zeros(2))
    assert build_model([current], current, embedded.restrictions, np.zeros(2), BOX).measurement.size == 0
    kept = ()
    for _ in range(5):
        kept = remember(kept, current)
    assert len(kept) == NUM_TANGENTS


def test_rows_that_say_nothing_in_the_box_are_left_out():
    """|x| <= 1/2 from its tangents at -1/2 and 1/2: on the right the left one says nothing, and where |x| is small both keep the limit."""
    absolute = build_mlp([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]])
    embedded = embedded_problem(absolute)
    left, right = (tangents_at(embedded, np.array([x])) for x in (-0.5, 0.5))

    def kept(lb, ub):
        box = Box(np.array([lb]), np.array([ub]))
        built = build_model([left], right, embedded.restrictions, np.array([0.5]), box)
        return built.measurement[np.isin(built.constant, earlier_rows(built, embedded.restrictions, box, 7).constant)].tolist()

    assert kept(-1.0, 1.0) == [0, 1]
    assert kept(0.25, 1.0) == []
    assert kept(-0.25, 0.5) == [0]


def test_a_shift_of_the_restrictions_is_one_of_all_their_tangents():
    embedded = embedded_problem(random_mlp(0, (2, 6, 1)))
    earlier, current = [tangents_at(embedded, np.array([0.5, -0.5]))], tangents_at(embedded, np.zeros(2))
    built = build_model(earlier, current, embedded.restrictions, np.zeros(2), BOX)
    shifted = built.shifted(np.array([0.0, 0.25]))
    assert np.allclose(shifted.current.constant - current.constant, [0.0, 0.25])
    assert np.allclose(shifted.constant - built.constant, 0.25 * built.measurement)


def test_with_very_many_restrictions_the_master_keeps_the_size_of_the_host(monkeypatch):
    embedded = embedded_problem(random_mlp(0, (2, 6, 1)))
    assert build_excess(embedded).num_columns == 1
    monkeypatch.setattr(memory, "MAX_RESTRICTIONS", 0)
    other = Majorant(sp.csr_array(2 * slopes(embedded, np.ones(2))), np.zeros(num_measurements(embedded)), None)
    assert build_model([other], tangents_at(embedded, np.zeros(2)), embedded.restrictions, np.zeros(2), BOX).measurement.size == 0


def test_earlier_tangents_of_an_equality_are_not_kept():
    # The second column is the prediction and a share of the first: from both sides, two tangents would leave but the points where they meet.
    network = random_mlp(2, (1, 8, 1))
    program = Program(
        cost=[1.0, 0.0, 0.0],
        rows=[[0.5, -1.0, 1.0], [1.0, 0.0, 1.0]],
        row_lb=[0.0, -np.inf],
        row_ub=[0.0, 2.0],
        lb=[-1, -9, -np.inf],
        ub=[1, 9, np.inf],
    )
    embedded = eliminate(program, [Embedding(network, [0], [2])])
    earlier = [tangents_at(embedded, np.array([x, 0.0])) for x in (-0.9, 0.9)]
    w = np.array([0.1, 0.0])
    built = build_model(earlier, tangents_at(embedded, w), embedded.restrictions, w, Box(np.array([-1.0, -9.0]), np.array([1.0, 9.0])))
    sides = np.concatenate(embedded.restrictions.sides)
    assert sides.size == 2
    assert not np.isin(built.measurement - 1, sides).any()
