"""Elimination of outputs: the embedded problem says the same as the user's program."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings

from dcembed import AffineInputs, Embedding, Indicator, Program, build_mlp, solve, verify
from dcembed.embedded.elimination import eliminate, equal_maps
from dcembed.embedded.embedded_program import EmbeddedProgram
from dcembed.embedded.measurements import evaluate_measurements
from dcembed.embedded.point import measure_point
from dcembed.embedded.verify import predict
from dcembed.network import NetworkBuilder
from embedded.problems import cases

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def hinge_and_slope():
    """f(x) = (max(x, 0), 2 - x)."""
    builder = NetworkBuilder((1,))
    x = builder.input
    slope = builder.shift(builder.scale(x, -1.0), 2.0)
    return builder.finish(builder.concat([builder.relu(x), slope]))


def hinge(slope: float = 1.0):
    """f(x) = slope * max(x, 0)."""
    return build_mlp([[[1.0]], [[slope]]], [None, None])


def objective_of(embedded: EmbeddedProgram, w: np.ndarray) -> float:
    return embedded.host.objective(w) + evaluate_measurements(embedded, w, embedded.predict(w))[0]


def violation_of(embedded: EmbeddedProgram, w: np.ndarray) -> float:
    """The largest violation of host and restrictions, from the data of the embedded program alone."""
    restrictions = embedded.restrictions
    excess = restrictions.linear @ w + evaluate_measurements(embedded, w, embedded.predict(w))[1:] - restrictions.rhs
    for i in np.flatnonzero(restrictions.indicator >= 0):
        if np.round(w[restrictions.indicator[i]]) != restrictions.indicator_value[i]:
            excess[i] = 0.0
    return max(verify(embedded.host, [], w).violation, excess.max(initial=0.0))


@settings(max_examples=120)
@given(cases())
def test_objective_and_violation_are_those_of_the_users_program(case):
    embedded = case.eliminate()
    for _ in range(3):
        w = embedded.lower(case.point())
        truth = verify(case.program, case.embeddings, embedded.lift(w))
        assert np.isclose(objective_of(embedded, w), truth.objective, **CLOSE)
        assert np.isclose(violation_of(embedded, w), truth.violation, **CLOSE)


@settings(max_examples=120)
@given(cases())
def test_the_same_holds_at_points_with_true_predictions(case):
    embedded = case.eliminate()
    x = predict(case.embeddings, case.point())
    w = embedded.lower(x)
    truth = verify(case.program, case.embeddings, embedded.lift(w))
    assert np.isclose(objective_of(embedded, w), truth.objective, **CLOSE)
    assert np.isclose(violation_of(embedded, w), truth.violation, **CLOSE)


@given(cases(may_link=False))
def test_lifting_undoes_lowering_where_nothing_is_linked(case):
    embedded = case.eliminate()
    assert embedded.linked.size == 0
    x = embedded.definitions.apply(predict(case.embeddings, case.point()))
    assert np.allclose(embedded.lift(embedded.lower(x)), x, **CLOSE)


@given(cases())
def test_lowering_undoes_lifting(case):
    embedded = case.eliminate()
    w = embedded.lower(case.point())
    assert np.array_equal(embedded.lower(embedded.lift(w)), w)


@given(cases())
def test_only_outputs_that_cannot_be_substituted_stay(case):
    embedded = case.eliminate()
    n = case.program.num_columns
    outputs = np.unique(np.concatenate([embedding.outputs.reshape(-1) for embedding in case.embeddings]))
    stays = case.program.integer.copy()
    for embedding in case.embeddings:
        stays |= (abs(embedding.affine_inputs(n).matrix).sum(axis=0) > 0).reshape(-1)
    if case.program.quadratic is not None:
        stays |= (abs(case.program.quadratic).sum(axis=0) > 0).reshape(-1)
    expected = np.setdiff1d(outputs, np.flatnonzero(stays))
    assert np.array_equal(np.setdiff1d(np.arange(n), embedded.kept), np.union1d(expected, embedded.definitions.columns))
    assert not stays[embedded.definitions.columns].any()
    assert np.array_equal(embedded.kept[embedded.linked], np.intersect1d(outputs, np.flatnonzero(stays)))


@given(cases())
def test_the_host_is_the_program_on_the_kept_columns(case):
    embedded, program = case.eliminate(), case.program
    assume(embedded.definitions.columns.size == 0)
    host, kept = embedded.host, embedded.kept
    assert np.array_equal(host.cost, program.cost[kept])
    assert np.array_equal(host.lb, program.lb[kept])
    assert np.array_equal(host.ub, program.ub[kept])
    assert np.array_equal(host.integer, program.integer[kept])
    assert host.offset == program.offset
    gone = np.setdiff1d(np.arange(program.num_columns), kept)
    plain = ~(abs(program.rows.toarray()[:, gone]).sum(axis=1) > 0)
    assert np.array_equal(host.rows.toarray(), program.rows.toarray()[plain][:, kept])


@given(cases())
def test_slacks_are_numbered_from_zero_and_shared_by_two_at_most(case):
    restrictions = case.eliminate().restrictions
    counts = np.bincount(restrictions.slack, minlength=restrictions.num_slacks)
    assert counts.size == restrictions.num_slacks
    assert ((counts == 1) | (counts == 2)).all()


@given(cases())
def test_a_measured_point_agrees_with_the_embedded_program(case):
    embedded = case.eliminate()
    point = measure_point(embedded, embedded.lower(case.point()))
    assert np.isclose(point.objective, objective_of(embedded, point.w), **CLOSE)
    assert np.isclose(point.violation, violation_of(embedded, point.w), **CLOSE)
    assert point.slack.shape == (embedded.restrictions.num_slacks,)
    assert point.slack.max(initial=0.0) == point.excess.max(initial=0.0)


@given(cases())
def test_equal_directions_are_split_once(case):
    for measured in case.eliminate().networks:
        directions = measured.directions
        assert np.unique(directions, axis=0).shape == directions.shape
        assert np.allclose(np.abs(directions).sum(axis=1), 1.0)
        assert (measured.terms.scale > 0).all()


def small_example() -> EmbeddedProgram:
    """Columns x, y, f_1, f_2 with f = (max(x, 0), 2 - x)."""
    program = Program(
        cost=[1.0, 0.0, 3.0, -1.0],
        offset=0.5,
        rows=[
            [0.0, 1.0, 2.0, -1.0],  # 1 <= y + 2 f_1 - f_2 <= 4
            [1.0, 0.0, 0.0, 1.0],  # x + f_2 = 3
            [1.0, 1.0, 0.0, 0.0],  # x + y <= 5
        ],
        row_lb=[1.0, 3.0, -np.inf],
        row_ub=[4.0, 3.0, 5.0],
        lb=[-9.0, -9.0, -np.inf, -np.inf],
        ub=[9.0, 9.0, 7.0, np.inf],
    )
    return eliminate(program, [Embedding(hinge_and_slope(), [0], [2, 3])])


def test_a_small_example_gives_exactly_these_restrictions():
    restrictions = small_example().restrictions
    assert restrictions.linear.toarray().tolist() == [
        [0.0, 1.0],  #   y + 2 f_1 - f_2 <= 4
        [1.0, 0.0],  #   x + f_2         <= 3
        [0.0, 0.0],  #       f_1         <= 7
        [0.0, -1.0],  # -y - 2 f_1 + f_2 <= -1
        [-1.0, 0.0],  # -x - f_2         <= -3
    ]
    assert restrictions.rhs.tolist() == [4.0, 3.0, 7.0, -1.0, -3.0]
    assert restrictions.slack.tolist() == [1, 0, 2, 3, 0]
    assert restrictions.indicator.tolist() == [-1] * 5
    assert restrictions.num_restrictions == 5
    assert restrictions.num_slacks == 4


def test_a_small_example_gives_exactly_these_terms():
    (measured,) = small_example().networks
    terms = measured.terms
    assert terms.measurement.tolist() == [0, 1, 2, 3, 4, 5]
    assert terms.block.tolist() == [0] * 6
    assert terms.scale.tolist() == [4.0, 3.0, 1.0, 1.0, 3.0, 1.0]
    nu = terms.scale[:, None] * measured.directions[terms.direction]
    assert np.allclose(nu, [[3.0, -1.0], [2.0, -1.0], [0.0, 1.0], [1.0, 0.0], [-2.0, 1.0], [0.0, -1.0]])


def test_a_small_example_leaves_exactly_this_host():
    embedded = small_example()
    host = embedded.host
    assert embedded.kept.tolist() == [0, 1]
    assert embedded.linked.size == 0
    assert embedded.input_columns.tolist() == [0]
    assert host.cost.tolist() == [1.0, 0.0]
    assert host.offset == 0.5
    assert host.rows.toarray().tolist() == [[1.0, 1.0]]
    assert host.row_ub.tolist() == [5.0]
    assert host.ub.tolist() == [9.0, 9.0]


@pytest.mark.parametrize(
    ("lb", "ub", "num_restrictions", "num_slacks"),
    [(1.0, 1.0, 2, 1), (1.0, 2.0, 2, 2), (-np.inf, 2.0, 1, 1), (1.0, np.inf, 1, 1), (-np.inf, np.inf, 0, 0)],
)
@pytest.mark.parametrize("where", ["row", "bounds", "indicator"])
def test_an_equality_has_one_slack_for_both_sides_and_a_range_two(where, lb, ub, num_restrictions, num_slacks):
    data = {
        "row": {"rows": [[0.0, 1.0, 0.0]], "row_lb": lb, "row_ub": ub},
        "bounds": {"lb": [-np.inf, lb, 0.0], "ub": [np.inf, ub, 1.0]},
        "indicator": {"indicators": [Indicator(2, 1, [0.0, 1.0, 0.0], lb, ub)]},
    }[where]
    program = Program(**({"cost": np.zeros(3), "lb": [-9.0, -np.inf, 0.0], "ub": [9.0, np.inf, 1.0], "integer": [2]} | data))
    restrictions = eliminate(program, [Embedding(hinge(), [0], [1])]).restrictions
    assert restrictions.num_restrictions == num_restrictions
    assert restrictions.num_slacks == num_slacks


def test_a_restriction_behind_an_indicator_knows_its_binary():
    indicators = [Indicator(3, 0, [1.0, 2.0, 0.0, 0.0], ub=5.0), Indicator(2, 1, [1.0, 0.0, 0.0, 0.0], ub=6.0)]
    program = Program(cost=np.zeros(4), lb=[-9.0, -np.inf, 0.0, 0.0], ub=[9.0, np.inf, 1.0, 1.0], integer=[2, 3], indicators=indicators)
    embedded = eliminate(program, [Embedding(hinge(), [0], [1])])
    # Column 1 is gone, so binaries 2 and 3 are columns 1 and 2 of the host.
    assert embedded.restrictions.indicator.tolist() == [2]
    assert embedded.restrictions.indicator_value.tolist() == [0]
    assert embedded.restrictions.linear.toarray().tolist() == [[1.0, 0.0, 0.0]]
    (left,) = embedded.host.indicators
    assert left.column == 1
    assert left.coefficients.toarray().tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("how", ["integer", "quadratic", "chained"])
def test_an_output_that_cannot_be_substituted_is_tied_by_an_equality(how):
    data = {"integer": {"integer": [1]}, "quadratic": {"quadratic": np.diag([0.0, 1.0, 0.0])}, "chained": {}}[how]
    embeddings = [Embedding(hinge(), [0], [1])] + ([Embedding(hinge(2.0), [1], [2])] if how == "chained" else [])
    embedded = eliminate(Program(cost=[0.0, 5.0, 1.0], **data), embeddings)
    assert 1 in embedded.kept
    assert embedded.kept[embedded.linked].tolist() == [1]
    assert embedded.host.cost[1] == 5.0
    restrictions = embedded.restrictions
    assert restrictions.linear.toarray()[:, :2].tolist() == [[0.0, 1.0], [0.0, -1.0]]
    assert restrictions.slack.tolist() == [0, 0]
    w = embedded.lower(np.array([3.0, 1.0, 0.0]))
    assert measure_point(embedded, w).excess.tolist() == [0.0, 2.0]


def test_a_column_that_two_networks_define_is_eliminated_by_the_first_and_ties_them():
    program = Program(cost=[0.0, 0.0, 1.0])
    embedded = eliminate(program, [Embedding(hinge(), [0], [2]), Embedding(hinge(3.0), [1], [2])])
    assert embedded.kept.tolist() == [0, 1]
    assert embedded.linked.size == 0
    assert embedded.lift(np.array([2.0, 5.0])).tolist() == [2.0, 5.0, 2.0]
    assert measure_point(embedded, np.array([2.0, 5.0])).excess.tolist() == [0.0, 13.0]
    assert measure_point(embedded, np.array([6.0, 2.0])).excess.tolist() == [0.0, 0.0]


def test_a_linked_column_that_two_networks_define_is_tied_twice_but_listed_once():
    embedded = eliminate(Program(cost=np.zeros(3), integer=[2]), [Embedding(hinge(), [0], [2]), Embedding(hinge(3.0), [1], [2])])
    assert embedded.linked.tolist() == [2]
    assert embedded.restrictions.num_slacks == 2


def test_evaluations_that_nothing_uses_cost_nothing():
    program = Program(cost=np.zeros(6), rows=[[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]], row_ub=1.0)
    embedded = eliminate(program, [Embedding(hinge(), [0, 1, 2], [3, 4, 5])])
    (measured,) = embedded.networks
    assert measured.num_blocks == 1
    assert measured.points(np.array([7.0, 8.0, 9.0])).tolist() == [[8.0]]


def test_a_network_that_nothing_uses_drops_out():
    embedded = eliminate(Program(cost=[1.0, 0.0]), [Embedding(hinge(), [0], [1])])
    assert embedded.networks == ()
    assert embedded.restrictions.num_restrictions == 0
    assert embedded.lift(np.array([4.0])).tolist() == [4.0, 4.0]


def test_without_embeddings_the_host_is_the_program():
    embedded = eliminate(Program(cost=[1.0, 2.0], rows=[[1.0, 1.0]], row_ub=1.0), [])
    assert embedded.kept.tolist() == [0, 1]
    assert embedded.host.num_rows == 1
    assert embedded.restrictions.num_restrictions == 0
    assert embedded.input_columns.size == 0


def test_stored_zeros_on_an_output_do_not_make_a_neural_row():
    row = sp.csr_array((np.array([1.0, 0.0]), (np.array([0, 0]), np.array([0, 1]))), shape=(1, 3))
    bounds = {"lb": [-9.0, -np.inf, 0.0], "ub": [9.0, np.inf, 1.0]}
    program = Program(cost=np.zeros(3), rows=row, row_ub=1.0, integer=[2], indicators=[Indicator(2, 1, row, ub=0.0)], **bounds)
    embedded = eliminate(program, [Embedding(hinge(), [0], [1])])
    assert embedded.restrictions.num_restrictions == 0
    assert embedded.host.num_rows == 1
    assert len(embedded.host.indicators) == 1


def test_affine_inputs_keep_their_offsets_block_by_block():
    inputs = AffineInputs(np.array([[1.0, 0.0, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0]]), [[10.0], [20.0]])
    embedded = eliminate(Program(cost=[0.0, 0.0, 1.0, 1.0]), [Embedding(hinge(), inputs, [2, 3])])
    (measured,) = embedded.networks
    assert measured.points(np.array([1.0, 5.0])).tolist() == [[11.0], [27.0]]
    w = np.array([1.0, 5.0])
    assert evaluate_measurements(embedded, w, embedded.predict(w)).tolist() == [38.0]


@pytest.mark.parametrize("limit", [3.0, 1.0])
def test_constant_inputs_leave_something_to_solve_for(limit):
    """Every column follows from the inputs: y = f(1.5), t = 2 y; what is asked is whether t is within its limit."""
    inputs = AffineInputs(sp.csr_array((1, 2)), [[1.5]])
    program = Program(cost=[1.0, 1.0], rows=[[2.0, -1.0]], row_lb=[0.0], row_ub=[0.0], ub=[np.inf, limit])
    embedding = Embedding(hinge(), inputs, [0])
    assert eliminate(program, [embedding]).kept.size > 0
    result = solve(program, embedding)
    assert result.is_feasible == (limit == 3.0)
    assert not result.is_feasible or np.allclose(result.x, [1.5, 3.0])


@pytest.mark.parametrize("number", [4912, 4913, 4914, 4915])
def test_equal_maps_are_found_whatever_their_number(number):
    # Products of matrices may round their last rows in another way than the others.
    map_of, first = equal_maps(sp.csr_array(np.tile(np.eye(19, 16), (number, 1))), np.arange(number), 19)
    assert first.tolist() == [0]
    assert not map_of.any()
