"""Quadratic constraints and cones: what they mean, and that everything carries them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import dcembed
from dcembed import ConeConstraint, Embedding, Program, QuadraticConstraint, verify
from dcembed.embedded.elimination import eliminate
from dcembed.errors import InputError
from dcembed.program.cones import as_cone
from dcembed.program.tightening import tighten

NETWORK = dcembed.build_mlp([np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0]])], [np.zeros(2), np.zeros(1)])  # |x|


def random_constraint(seed: int, n: int = 4, rank: int = 3, diagonal: bool = False, tilted: bool = True) -> QuadraticConstraint:
    rng = np.random.default_rng(seed)
    root = np.diag(np.arange(n) < rank) * rng.uniform(0.5, 2.0, n) if diagonal else rng.normal(size=(rank, n))
    linear = rng.normal(size=n) if tilted else root.T @ rng.normal(size=root.shape[0])
    return QuadraticConstraint(root.T @ root, linear, rng.uniform(-1.0, 3.0))


@given(st.integers(0, 10_000), st.integers(0, 4), st.booleans(), st.booleans())
def test_a_quadratic_constraint_is_a_cone(seed, rank, diagonal, tilted):
    constraint = random_constraint(seed, 4, rank, diagonal, tilted)
    cone = as_cone(constraint)
    for w in np.random.default_rng(seed + 1).normal(size=(20, 4)) * 2:
        slack = constraint.ub - constraint.value(w)
        if abs(slack) > 1e-6:
            assert (cone.excess(w)[0] < 0) == (slack > 0)


def test_a_quadratic_constraint_that_nothing_satisfies_is_a_cone_without_points():
    cone = as_cone(QuadraticConstraint(np.eye(2), None, -1.0))
    assert (cone.excess(np.zeros(2)) > 0).all()


def test_the_violation_of_each_kind_is_measured():
    program = Program(
        cost=[0.0, 0.0],
        quadratic_constraints=[QuadraticConstraint(2 * np.eye(2), [1.0, 0.0], 3.0)],
        cones=[
            ConeConstraint([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [4.0, 0.0, 0.0]),
            ConeConstraint([[1.0, 0.0], [0.0, 1.0]], sizes=[1, 1]),
        ],
    )
    inside, outside = verify(program, [], np.array([0.5, 1.0])), verify(program, [], np.array([-3.0, 4.0]))
    assert inside.violation == 0.0
    assert outside.quadratics == pytest.approx(9 + 16 - 3 - 3)
    # ||(-3, 4)|| - 4 = 1, and the cone of one row asks for -3 >= 0.
    assert outside.cones == pytest.approx(3.0)
    assert outside.violation == outside.quadratics


def test_large_entries_do_not_overflow():
    cone = ConeConstraint([[0.0], [1.0]])
    assert cone.excess(np.array([1e200])) == pytest.approx(1e200)


def test_an_output_in_a_curved_constraint_stays_a_column():
    # Columns x, y, s, t: y, s and t are |x| of inputs of their own columns.
    def program(**curves) -> Program:
        return Program(cost=[1.0, 1.0, 1.0], lb=-1.0, ub=1.0, **curves)

    embedding = Embedding(NETWORK, [[0]], [[1]])
    plain = eliminate(program(), [embedding])
    assert plain.kept.tolist() == [0, 2]
    unit = np.eye(3)
    curves = [
        {"quadratic_constraints": [QuadraticConstraint(np.diag(unit[1]), None, 1.0)]},
        {"quadratic_constraints": [QuadraticConstraint(np.diag(unit[2]), unit[1], 1.0)]},
        {"cones": [ConeConstraint([unit[1], unit[2]])]},
    ]
    for curve in curves:
        tied = eliminate(program(**curve), [embedding])
        assert tied.kept.tolist() == [0, 1, 2]
        assert tied.linked.tolist() == [1]


def test_curved_constraints_are_renumbered_to_the_kept_columns():
    unit = np.eye(3)
    program = Program(
        cost=[1.0, 1.0, 1.0],
        quadratic_constraints=[QuadraticConstraint(np.diag(unit[2]), unit[0], 5.0)],
        cones=[ConeConstraint([unit[2], 2 * unit[0]], [1.0, 2.0])],
        lb=-1.0,
        ub=1.0,
    )
    host = eliminate(program, [Embedding(NETWORK, [[0]], [[1]])]).host
    assert host.quadratic_constraints[0].quadratic.toarray().tolist() == [[0, 0], [0, 1]]
    assert host.quadratic_constraints[0].coefficients.toarray().tolist() == [[1, 0]]
    assert host.cones[0].matrix.toarray().tolist() == [[0, 1], [2, 0]]
    assert host.problem_class == "SOCP"


def test_a_column_that_a_cone_uses_is_not_substituted():
    # The row ties column 2 to the prediction in column 1, which would define it.
    rows, row = [[0.0, 1.0, -1.0]], {"row_lb": 0.0, "row_ub": 0.0}
    embedding = Embedding(NETWORK, [[0]], [[1]])
    assert eliminate(Program(cost=np.ones(3), rows=rows, **row), [embedding]).definitions.columns.tolist() == [2]
    cone = ConeConstraint([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    kept = eliminate(Program(cost=np.ones(3), rows=rows, **row, cones=[cone]), [embedding])
    assert kept.definitions.columns.size == 0
    assert kept.kept.tolist() == [0, 2]


def test_curved_constraints_imply_bounds():
    ball = QuadraticConstraint(2 * np.eye(2), [-2.0, 0.0], 3.0)  # (x - 1)^2 + y^2 <= 4
    lb, ub = tighten(Program(cost=[0.0, 0.0], quadratic_constraints=[ball]))
    assert np.allclose(lb, [-1, -2], atol=1e-6)
    assert np.allclose(ub, [3, 2], atol=1e-6)
    cone = ConeConstraint([[1.0, 0.0], [0.0, 3.0]], [2.0, 0.0])  # |3 y| <= x + 2, x <= 1
    lb, ub = tighten(Program(cost=[0.0, 0.0], ub=[1.0, np.inf], cones=[cone]))
    assert np.allclose(lb, [-2, -1], atol=1e-6)
    assert np.allclose(ub, [1, 1], atol=1e-6)


@given(st.integers(0, 10_000))
def test_implied_bounds_cut_no_point_off(seed):
    rng = np.random.default_rng(seed)
    inside = rng.normal(size=3)
    matrix = rng.normal(size=(4, 3)) * (rng.random((4, 3)) < 0.5)
    cone = ConeConstraint(matrix, np.concatenate([[1.0], np.zeros(3)]) - matrix @ inside)
    form = random_constraint(seed, 3, 2)
    quadratic = QuadraticConstraint(form.quadratic, form.coefficients, form.value(inside) + 0.1)
    program = Program(cost=np.zeros(3), lb=inside - 5, ub=inside + 5, quadratic_constraints=[quadratic], cones=[cone])
    lb, ub = tighten(program)
    for w in inside + rng.normal(size=(200, 3)) * 0.3:
        if verify(program, [], w).violation == 0:
            assert (w >= lb).all()
            assert (w <= ub).all()


def test_classes_and_repr():
    ball, cone = QuadraticConstraint(np.eye(1), None, 1.0), ConeConstraint([[0.0], [1.0]], [1.0, 0.0])
    assert Program(cost=[1.0], quadratic_constraints=[ball]).problem_class == "QCP"
    assert Program(cost=[1.0], quadratic_constraints=[ball], integer=[0]).problem_class == "MIQCP"
    assert Program(cost=[1.0], quadratic=[[1.0]], cones=[cone]).problem_class == "SOCP"
    assert Program(cost=[1.0], cones=[cone], integer=[0]).problem_class == "MISOCP"
    both = Program(cost=[1.0], quadratic_constraints=[ball], cones=[cone, ConeConstraint(np.zeros((4, 1)), np.ones(4), [1, 3])])
    assert repr(both) == "Program(1 column, 0 rows, 1 quadratic constraint, 3 second-order cones)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: QuadraticConstraint(-np.eye(2)),
            "QuadraticConstraint: quadratic is not positive semidefinite (smallest eigenvalue -1), so the constraint is not convex. "
            "dcembed takes convex constraints; note that 1/2 w'Qw + a'w <= ub is meant.",
        ),
        (
            lambda: QuadraticConstraint(np.ones((2, 3))),
            "QuadraticConstraint: quadratic is square, with a row and a column for each column of w; received shape (2, 3).",
        ),
        (
            lambda: QuadraticConstraint(np.eye(2), [1.0]),
            "QuadraticConstraint: coefficients have shape (1, 1) but quadratic has 2 columns: expected (2,).",
        ),
        (
            lambda: QuadraticConstraint(np.eye(2), ub=np.inf),
            "QuadraticConstraint: ub=inf is not accepted. Give a finite number, or leave the constraint out.",
        ),
        (
            lambda: QuadraticConstraint([[np.nan]]),
            "QuadraticConstraint: quadratic has NaN or infinite entries. Leave a coefficient out (zero) instead.",
        ),
        (lambda: ConeConstraint(np.eye(2), [1.0]), "ConeConstraint: offset has shape (1,) but matrix has 2 rows: expected (2,)."),
        (
            lambda: ConeConstraint(np.eye(3), sizes=[2, 2]),
            "ConeConstraint: sizes are positive whole numbers with sum 3, the rows of matrix; received [2, 2].",
        ),
        (
            lambda: Program(cost=[1.0, 1.0], quadratic_constraints=[QuadraticConstraint(np.eye(1))]),
            "Program: quadratic constraint 0 has 1 columns but the program has 2.",
        ),
        (lambda: Program(cost=[1.0], cones=[ConeConstraint(np.eye(2))]), "Program: cone 0 has 2 columns but the program has 1."),
    ],
)
def test_what_is_wrong_is_said(make, message):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == message


def test_a_sparse_row_may_be_given():
    constraint = QuadraticConstraint(sp.eye_array(3), sp.csr_array([[0.0, 2.0, 0.0]]), 1.0)
    assert constraint.value(np.array([1.0, 1.0, 1.0])) == pytest.approx(3.5)
