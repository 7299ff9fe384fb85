"""The network part of objective and restrictions: values, tangents, bounds."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given

from dcembed import AffineInputs, Embedding, Program, build_mlp
from dcembed.embedded import measured_network
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import (
    are_on_one_piece,
    by_direction,
    evaluate_measurements,
    kept_affine,
    largest_kept,
    linearize,
    pull_back,
    slopes,
    sweep,
)
from dcembed.embedded.point import measure_point
from dcembed.network.network import evaluate, preactivations, units
from embedded.problems import cases

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def sum_of_terms(embedded: EmbeddedProgram, w: np.ndarray, value) -> np.ndarray:
    """Measurements as plain loops: scale * value(measured, term) of every term."""
    total = np.zeros(embedded.restrictions.num_restrictions + 1)
    for measured in embedded.networks:
        terms = measured.terms
        for t in range(terms.block.size):
            point = measured.points(w)[[terms.block[t]]]
            total[terms.measurement[t]] += terms.scale[t] * value(measured, terms.direction[t], point)
    return total


def prediction(measured, direction, point) -> float:
    return float(measured.directions[direction] @ evaluate(measured.network, point)[0])


def kept_units(measured, direction, point) -> float:
    """The part of G that is in the units."""
    return _weighted(measured.split.convex, direction, measured, point)


def linearized(measured, direction, point) -> float:
    """H."""
    return _weighted(measured.split.concave, direction, measured, point)


def _weighted(weights, direction, measured, point) -> float:
    active = units(measured.network, preactivations(measured.network, point))
    return sum(float(weight[direction] @ z[0]) for weight, z in zip(weights, active, strict=True))


@given(cases())
def test_measurements_are_directions_of_the_predictions(case):
    embedded = case.eliminate()
    w = embedded.lower(case.point())
    assert np.allclose(evaluate_measurements(embedded, w, embedded.predict(w)), sum_of_terms(embedded, w, prediction), **CLOSE)


@given(cases())
def test_tangents_touch_the_linearized_component_and_stay_below(case):
    embedded = case.eliminate()
    w = embedded.lower(case.point())
    tangents = linearize(embedded, w)
    at_w = sum_of_terms(embedded, w, linearized)
    assert np.allclose(tangents.slope @ w + tangents.constant, at_w, **CLOSE)
    for scale in (1e-3, 1.0, 10.0):
        other = w + scale * case.rng.normal(size=w.size)
        height = sum_of_terms(embedded, other, linearized)
        assert (tangents.slope @ other + tangents.constant <= height + 1e-8 * (1 + np.abs(height) + np.abs(at_w))).all()


@given(cases())
def test_tangents_stay_below_also_from_a_kink(case):
    embedded = case.eliminate()
    w = np.zeros(embedded.host.num_columns)
    tangents = linearize(embedded, w)
    for _ in range(3):
        other = case.rng.normal(size=w.size)
        height = sum_of_terms(embedded, other, linearized)
        assert (tangents.slope @ other + tangents.constant <= height + 1e-8 * (1 + np.abs(height))).all()


@given(cases())
def test_affine_part_plus_units_minus_linearized_part_is_the_value(case):
    embedded = case.eliminate()
    w = embedded.lower(case.point())
    slope, constant = kept_affine(embedded)
    kept = slope @ w + constant + sum_of_terms(embedded, w, kept_units)
    assert np.allclose(kept - sum_of_terms(embedded, w, linearized), evaluate_measurements(embedded, w, embedded.predict(w)), **CLOSE)


@given(cases())
def test_no_point_of_the_box_exceeds_the_bound_on_the_units(case):
    embedded = case.eliminate()
    n = embedded.host.num_columns
    lb = np.round(case.rng.normal(size=n))
    ub = lb + case.rng.integers(0, 3, size=n)
    bound = largest_kept(embedded, lb, ub)
    assert np.isfinite(bound).all()
    corners = np.where(case.rng.random((6, n)) < 0.5, lb, ub)
    for w in [*corners, *case.rng.uniform(lb, ub, size=(6, n))]:
        assert (sum_of_terms(embedded, w, kept_units) <= bound + 1e-9 * (1 + bound)).all()


@given(cases())
def test_a_box_without_sides_gives_no_finite_bound_that_is_wrong(case):
    embedded = case.eliminate()
    n = embedded.host.num_columns
    lb, ub = np.full(n, -np.inf), np.full(n, np.inf)
    lb[0], ub[1] = -1.0, 1.0
    bound = largest_kept(embedded, lb, ub)
    assert not np.isnan(bound).any()
    for _ in range(4):
        w = np.clip(case.rng.normal(size=n) * 100, lb, ub)
        assert (sum_of_terms(embedded, w, kept_units) <= bound + 1e-9 * (1 + np.abs(bound))).all()


def test_a_unit_without_weight_may_be_infinite():
    # f = max(x, 0) - 2 max(-x, 0): the first unit is in G alone, the second in H alone.
    network = build_mlp([[[1.0], [-1.0]], [[1.0, -2.0]]], [None, None])
    embedded = eliminate(Program(cost=[0.0, 1.0]), [Embedding(network, [0], [1])])
    assert largest_kept(embedded, np.array([-np.inf]), np.array([3.0])).tolist() == [3.0]
    assert largest_kept(embedded, np.array([-3.0]), np.array([np.inf])).tolist() == [np.inf]


def test_a_small_example_spelled_out():
    # f = 2 max(x, 0) - 3 max(x - 1, 0) + 4 - x at x = w_0 + w_1 + 0.5, in the objective twice: cost 2.
    network = build_mlp([[[1.0], [1.0]], [[2.0, -3.0]]], [[0.0, -1.0], [4.0]])
    network.output.weights[0] = np.array([[-1.0]])
    inputs = AffineInputs(np.array([[1.0, 1.0, 0.0]]), [[0.5]])
    embedded = eliminate(Program(cost=[0.0, 0.0, 2.0]), [Embedding(network, inputs, [2])])
    w = np.array([1.0, 1.0])
    tangents = linearize(embedded, w)
    assert evaluate_measurements(embedded, w, embedded.predict(w)).tolist() == [2 * (2 * 2.5 - 3 * 1.5 + 4 - 2.5)]
    # H = 6 max(x - 1, 0), on its active side 6 (w_0 + w_1 - 0.5).
    assert tangents.slope.toarray().tolist() == [[6.0, 6.0]]
    assert tangents.constant.tolist() == [-3.0]
    slope, constant = kept_affine(embedded)
    assert slope.toarray().tolist() == [[-2.0, -2.0]]
    assert constant.tolist() == [2 * (4 - 0.5)]
    # G has 4 max(x, 0), and x is at most 2.5 on the unit box.
    assert largest_kept(embedded, np.zeros(2), np.ones(2)).tolist() == [10.0]


def test_a_network_without_units_has_nothing_to_linearize():
    network = build_mlp([[[2.0, -1.0]]], [[3.0]])
    embedded = eliminate(Program(cost=[0.0, 0.0, 1.0]), [Embedding(network, [0, 1], [2])])
    w = np.array([1.0, 4.0])
    tangents = linearize(embedded, w)
    assert evaluate_measurements(embedded, w, embedded.predict(w)).tolist() == [1.0]
    assert tangents.slope.nnz == 0
    assert tangents.constant.tolist() == [0.0]
    assert largest_kept(embedded, np.full(2, -np.inf), np.full(2, np.inf)).tolist() == [0.0]


def test_without_networks_there_is_only_a_zero_objective():
    embedded = eliminate(Program(cost=[1.0, 2.0]), [])
    w = np.ones(2)
    assert evaluate_measurements(embedded, w, embedded.predict(w)).tolist() == [0.0]
    assert linearize(embedded, w).slope.shape == (1, 2)
    assert kept_affine(embedded)[0].shape == (1, 2)
    assert largest_kept(embedded, w, w).tolist() == [0.0]


@given(cases())
def test_slopes_are_the_gradients_of_the_linear_piece(case):
    embedded = case.eliminate()
    w = embedded.lower(case.point())
    slope = slopes(embedded, w)
    assert slope.shape == (embedded.restrictions.num_restrictions + 1, embedded.host.num_columns)
    parts = [embedded.part_sums[m.number] @ pull_back(m, _gradients(m, w)) for m in embedded.networks]
    expected = sum((part.toarray() for part in parts), np.zeros(slope.shape))
    assert np.allclose(slope.toarray(), expected)


def _gradients(measured, w):
    """Of the parts in their inputs."""
    weights, inputs, _ = measured.direct
    (swept,) = sweep(measured, w, [by_direction(weights)])
    return swept.gradient + measured.term_sums @ inputs[measured.terms.direction]


def both_sides() -> EmbeddedProgram:
    """Two evaluations, whose predictions are held from both sides."""
    network = build_mlp([[[1.0, -0.5], [0.5, 1.0]], [[1.0, -1.0]]], [[0.2, -0.1], None])
    program = Program(cost=[1.0, 1.0, 1.0, 0.0, 0.0], lb=[-1, -1, -1, -0.9, -0.8], ub=[1, 1, 1, 0.9, 0.8])
    return eliminate(program, [Embedding(network, [[0, 1], [1, 2]], [3, 4])])


def test_a_point_is_passed_through_once(monkeypatch):
    embedded, calls, made = both_sides(), [0], measured_network.pass_through

    def counted(*arguments):
        calls[0] += 1
        return made(*arguments)

    monkeypatch.setattr(measured_network, "pass_through", counted)
    one, other = np.array([0.1, 0.2, 0.3]), np.array([0.15, 0.2, 0.3])
    for w in (one, other):
        measure_point(embedded, w)
    slope = slopes(embedded, other)
    assert are_on_one_piece(embedded, one, other)
    assert calls[0] == 2
    # Whoever changes an array after it was measured has another point.
    other[0] = -0.9
    np.testing.assert_allclose(measure_point(embedded, other).neural, evaluate_measurements(both_sides(), other), **CLOSE)
    assert calls[0] > 2
    assert (slopes(embedded, other) != slope).nnz > 0


def test_passes_are_not_sent_to_others():
    embedded = both_sides()
    fresh = len(pickle.dumps(embedded.networks[0]))
    embedded.networks[0].predict(np.zeros(3))
    assert "_memory" in vars(embedded.networks[0])
    sent = pickle.dumps(embedded.networks[0])
    assert "_memory" not in vars(pickle.loads(sent))
    assert len(sent) <= fresh + 100


def test_pieces_of_many_scenarios_with_one_map_are_told_apart():
    # So many that the first stage is added up from what moves and what does not.
    rng = np.random.default_rng(0)
    network = build_mlp([rng.normal(size=(4, 2)), rng.normal(size=(3, 4)), rng.normal(size=(1, 3))], [None, None, None])
    number, n = 600, 603
    program = Program(
        cost=np.concatenate([np.zeros(3), np.ones(number)]), lb=[-1.0] * 3 + [-np.inf] * number, ub=[1.0] * 3 + [np.inf] * number
    )
    inputs = AffineInputs(np.eye(2, n), rng.uniform(0.5, 1.0, (number, 2)))
    embedded = eliminate(program, [Embedding(network, inputs, np.arange(3, n))])
    assert embedded.networks[0].first_constants is not None
    w = np.array([0.1, 0.2, 0.0])
    near, far = w + np.array([1e-7, 0.0, 0.0]), np.array([-1.0, -1.0, 0.0])
    assert are_on_one_piece(embedded, w, near) == (abs(slopes(embedded, w) - slopes(embedded, near)).max() == 0.0)
    assert not are_on_one_piece(embedded, w, far)
