"""The host as matrices: defaults, broadcasting, what is refused and in which words."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given

from dcembed import ConeConstraint, Indicator, Program, QuadraticConstraint
from dcembed.errors import InputError
from strategies import seeds


def on_off(column: int = 1, **changes) -> Program:
    """Two columns, the second binary, with one indicator."""
    indicator = Indicator(**({"column": column, "value": 1, "coefficients": [1.0, 0.0], "ub": 0.0} | changes))
    return Program(cost=[1.0, 1.0], lb=0.0, ub=[5.0, 1.0], integer=[1], indicators=[indicator])


def message(function, *args, **kwargs) -> str:
    with pytest.raises(InputError) as caught:
        function(*args, **kwargs)
    return str(caught.value)


def test_everything_but_the_cost_has_a_default():
    program = Program(cost=[1, 2, 3])
    assert program.cost.dtype == np.float64
    assert program.num_columns == 3
    assert program.rows.shape == (0, 3)
    assert program.row_lb.shape == program.row_ub.shape == (0,)
    assert (program.lb == -np.inf).all()
    assert (program.ub == np.inf).all()
    assert not program.integer.any()
    assert program.quadratic is None
    assert program.offset == 0.0
    assert program.indicators == ()


def test_rows_are_free_by_default():
    program = Program(cost=[1.0, 2.0], rows=[[1.0, 1.0]])
    assert program.row_lb[0] == -np.inf
    assert program.row_ub[0] == np.inf


def test_one_number_stands_for_all_columns_or_rows():
    program = Program(cost=[1.0, 2.0], rows=np.ones((3, 2)), row_lb=-1, row_ub=4.0, lb=0, ub=7)
    assert program.row_lb.tolist() == [-1.0] * 3
    assert program.row_ub.tolist() == [4.0] * 3
    assert program.lb.tolist() == [0.0, 0.0]
    assert program.ub.tolist() == [7.0, 7.0]


def test_one_row_may_be_given_flat():
    assert Program(cost=[1.0, 2.0], rows=[1.0, 3.0], row_ub=1.0).rows.toarray().tolist() == [[1.0, 3.0]]


@pytest.mark.parametrize("integer", [[False, True, True], np.array([False, True, True]), [1, 2], (2, 1), np.array([1, 2], dtype=np.uint8)])
def test_integer_columns_are_a_mask_or_a_list_of_numbers(integer):
    program = Program(cost=np.ones(3), integer=integer)
    assert program.integer.tolist() == [False, True, True]
    assert program.num_integers == 2


def test_an_empty_list_of_integers_is_no_integers():
    assert Program(cost=np.ones(3), integer=[]).num_integers == 0


@pytest.mark.parametrize(
    ("quadratic", "integer", "expected"),
    [(None, None, "LP"), ([[1.0]], None, "QP"), (None, [0], "MILP"), ([[1.0]], [0], "MIQP"), ([[0.0]], None, "LP")],
)
def test_the_problem_class_follows_from_quadratic_and_integers(quadratic, integer, expected):
    assert Program(cost=[1.0], quadratic=quadratic, integer=integer).problem_class == expected


def test_a_triangular_quadratic_is_made_symmetric():
    program = Program(cost=np.zeros(2), quadratic=[[2.0, 2.0], [0.0, 2.0]])
    assert program.quadratic.toarray().tolist() == [[2.0, 1.0], [1.0, 2.0]]


def test_an_antisymmetric_quadratic_is_none_at_all():
    assert Program(cost=np.zeros(2), quadratic=[[0.0, 1.0], [-1.0, 0.0]]).quadratic is None


@given(seeds())
def test_objective_and_gradient_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    root, c, w, offset = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=n), rng.normal()
    q = root.T @ root
    program = Program(cost=c, quadratic=q, offset=offset)
    assert np.isclose(program.objective(w), 0.5 * w @ q @ w + c @ w + offset)
    assert np.allclose(program.gradient(w), q @ w + c)
    assert np.isclose(Program(cost=c, offset=offset).objective(w), c @ w + offset)
    assert np.array_equal(Program(cost=c).gradient(w), c)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, np.array])
def test_matrices_may_be_dense_or_sparse(form):
    program = Program(cost=[1.0, 2.0], rows=form([[1, 0], [2, 3]]), quadratic=form([[1, 0], [0, 2]]))
    assert program.rows.toarray().tolist() == [[1.0, 0.0], [2.0, 3.0]]
    assert program.quadratic.toarray().tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_the_users_arrays_stay_the_users():
    rows = sp.csr_array((np.array([1.0, 2.0, 0.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    cost, before = np.ones(2), rows.copy()
    program = Program(cost=cost, rows=rows)
    assert rows.nnz == 3
    assert np.array_equal(rows.indices, before.indices)
    cost[:] = 7.0
    rows.data[:] = 9.0
    assert program.cost.tolist() == [1.0, 1.0]
    assert program.rows.toarray().tolist() == [[2.0, 1.0], [0.0, 0.0]]


def test_stored_zeros_do_not_count_as_coefficients():
    rows = sp.csr_array((np.array([1.0, 0.0]), (np.array([0, 0]), np.array([0, 1]))), shape=(1, 2))
    assert Program(cost=[1.0, 1.0], rows=rows).rows.nnz == 1
    assert Indicator(1, 1, rows).coefficients.nnz == 1


def test_duplicate_entries_are_summed():
    rows = sp.coo_array((np.array([1.0, 2.0]), (np.array([0, 0]), np.array([1, 1]))), shape=(1, 2))
    assert Program(cost=[1.0, 1.0], rows=rows).rows.toarray().tolist() == [[0.0, 3.0]]


@pytest.mark.parametrize("coefficients", [[1.0, 0.0], [[1.0, 0.0]], sp.csr_array([[1.0, 0.0]]), sp.coo_matrix([[1.0, 0.0]])])
def test_coefficients_of_an_indicator_are_one_row_dense_or_sparse(coefficients):
    program = on_off(coefficients=coefficients)
    assert program.indicator_rows.matrix.toarray().tolist() == [[1.0, 0.0]]


def test_indicators_are_stacked_in_order():
    one, two = Indicator(0, 1, [0.0, 2.0], ub=3.0), Indicator(0, 0, [0.0, -1.0], lb=-4.0)
    rows = Program(cost=[0.0, 0.0], lb=[0.0, -9.0], ub=[1.0, 9.0], integer=[0], indicators=[one, two]).indicator_rows
    assert rows.matrix.toarray().tolist() == [[0.0, 2.0], [0.0, -1.0]]
    assert rows.column.tolist() == [0, 0]
    assert rows.value.tolist() == [1, 0]
    assert rows.lb.tolist() == [-np.inf, -4.0]
    assert rows.ub.tolist() == [3.0, np.inf]


def test_no_indicators_are_stacked_to_nothing():
    assert Program(cost=[0.0, 0.0]).indicator_rows.matrix.shape == (0, 2)


def test_the_printout_counts():
    assert repr(Program(cost=[1.0])) == "Program(1 column, 0 rows)"
    assert repr(on_off()) == "Program(2 columns, 0 rows, 1 integer, 1 indicator)"
    assert repr(Program(cost=np.ones(2), quadratic=np.eye(2))) == "Program(2 columns, 0 rows, quadratic objective)"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"cost": []}, "Program: cost is a vector with one entry per column, received shape (0,)."),
        ({"cost": [[1.0, 2.0]]}, "Program: cost is a vector with one entry per column, received shape (1, 2)."),
        ({"cost": [1.0, np.nan]}, "Program: cost has NaN or infinite entries. Leave a coefficient out (zero) instead."),
        ({"cost": [1.0, np.inf]}, "Program: cost has NaN or infinite entries. Leave a coefficient out (zero) instead."),
        ({"offset": np.nan}, "Program: offset has NaN or infinite entries. Leave a coefficient out (zero) instead."),
        ({"rows": [[np.inf, 1.0]]}, "Program: rows has NaN or infinite entries. Leave a coefficient out (zero) instead."),
        ({"quadratic": np.full((2, 2), np.nan)}, "Program: quadratic has NaN or infinite entries. Leave a coefficient out (zero) instead."),
        ({"rows": [[1.0, 2.0, 3.0]]}, "Program: rows has 3 columns but cost has 2 entries. Both count the columns of w."),
        ({"quadratic": np.eye(3)}, "Program: quadratic has shape (3, 3) but cost has 2 entries: expected (2, 2)."),
        ({"rows": np.ones((3, 2)), "row_lb": [1, 2]}, "Program: row_lb has shape (2,) but there are 3 rows: expected (3,) or one number."),
        ({"rows": np.eye(2), "row_ub": np.ones(4)}, "Program: row_ub has shape (4,) but there are 2 rows: expected (2,) or one number."),
        ({"lb": [0.0, 0.0, 0.0]}, "Program: lb has shape (3,) but there are 2 columns: expected (2,) or one number."),
        ({"ub": [[1.0, 1.0]]}, "Program: ub has shape (1, 2) but there are 2 columns: expected (2,) or one number."),
        ({"lb": [0.0, np.nan]}, "Program: a bound of column 1 is NaN. Use -inf or inf for none."),
        ({"rows": np.ones((2, 2)), "row_ub": [np.nan, 1.0]}, "Program: a bound of row 0 is NaN. Use -inf or inf for none."),
        ({"lb": [0.0, 2.0], "ub": [1.0, 1.5]}, "Program: the bounds of column 1 cross: lb = 2 > ub = 1.5."),
        ({"lb": 1.0, "ub": 0.0}, "Program: the bounds of column 0 cross: lb = 1 > ub = 0 (1 more like it)."),
        ({"rows": np.ones((2, 2)), "row_lb": 3.0, "row_ub": [4.0, 2.0]}, "Program: the bounds of row 1 cross: lb = 3 > ub = 2."),
        ({"integer": [True]}, "Program: the integer mask has shape (1,) but there are 2 columns: expected (2,)."),
        ({"integer": [0, 2]}, "Program: integer is a mask of 2 booleans or a list of column numbers from 0 to 1, received list [0, 2]."),
        (
            {"integer": [0.0, 1.0]},
            "Program: integer is a mask of 2 booleans or a list of column numbers from 0 to 1, received list [0.0, 1.0].",
        ),
        ({"rows": [["a", "b"]]}, "Program: rows is not accepted: numbers are expected, received list [['a', 'b']] (type <U1)."),
        (
            {"quadratic": [[1.0, 2.0], [2.0, 1.0]]},
            "Program: quadratic is not positive semidefinite (smallest eigenvalue -1), so the objective is not convex; "
            "note that 1/2 w'Qw - 1/2 w'Cw is minimized. "
            "dcembed.split_quadratic gives both parts of an objective that is not convex, quadratic= and concave=.",
        ),
        (
            {"concave": [[1.0, 2.0], [2.0, 1.0]], "maximize": True},
            "Program: concave is not negative semidefinite (largest eigenvalue 3), so -1/2 w'Cw is not convex; "
            "note that 1/2 w'Qw - 1/2 w'Cw is maximized. "
            "dcembed.split_quadratic gives both parts of an objective that is not convex, quadratic= and concave=.",
        ),
    ],
)
def test_bad_input_is_refused_word_by_word(arguments, expected):
    assert message(Program, **({"cost": [1.0, 2.0]} | arguments)) == expected


@pytest.mark.parametrize("bound", [{"lb": np.inf}, {"ub": -np.inf}])
def test_an_infinite_bound_on_the_wrong_side_is_refused(bound):
    assert "the bounds of column 0 cross" in message(Program, cost=[1.0], **bound)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"column": 2}, "Program: indicator 0 is on column 2; columns go from 0 to 1."),
        ({"column": -1}, "Program: indicator 0 is on column -1; columns go from 0 to 1."),
        ({"column": 0}, "Program: indicator 0 is on column 0, which is not binary. Make it integer with lb = 0 and ub = 1."),
        ({"coefficients": [1.0]}, "Program: indicator 0 has 1 coefficients but there are 2 columns."),
        ({"coefficients": [1.0, np.nan]}, "Program: indicator 0 has NaN or infinite entries. Leave a coefficient out (zero) instead."),
        ({"coefficients": np.eye(2)}, "An indicator's coefficients are one row, received shape (2, 2). Make one indicator per row."),
        ({"value": 2}, "An indicator's value is 0 or 1, received 2."),
        ({"lb": 1.0}, "Program: the bounds of indicator on column 1 cross: lb = 1 > ub = 0."),
        ({"lb": np.nan}, "Program: a bound of indicator on column 1 is NaN. Use -inf or inf for none."),
    ],
)
def test_a_bad_indicator_is_refused_word_by_word(changes, expected):
    assert message(on_off, **changes) == expected


def test_an_integer_column_with_wider_bounds_is_not_binary():
    indicator = Indicator(0, 1, [0.0, 1.0], ub=0.0)
    assert "which is not binary" in message(Program, cost=[0.0, 0.0], lb=0.0, ub=2.0, integer=[0], indicators=[indicator])


def test_a_fixed_binary_is_still_binary():
    Program(cost=[0.0, 0.0], lb=[1.0, 0.0], ub=[1.0, 9.0], integer=[0], indicators=[Indicator(0, 1, [0.0, 1.0], ub=0.0)])


def factor(num_rows: int, n: int, seed: int) -> sp.csr_array:
    return sp.random_array((num_rows, n), density=4 / n, rng=np.random.default_rng(seed), format="csr")


@pytest.mark.parametrize("n", [30, 3000])
def test_a_singular_but_semidefinite_quadratic_is_taken(n):
    g = factor(n // 3, n, 1)
    assert Program(cost=np.zeros(n), quadratic=g.T @ g).is_quadratic


@pytest.mark.parametrize("n", [30, 3000])
def test_a_semidefinite_quadratic_is_taken_at_any_scale(n):
    g = factor(n // 3, n, 2)
    for scale in (1e-8, 1e8):
        Program(cost=np.zeros(n), quadratic=scale * (g.T @ g))


@pytest.mark.parametrize("n", [30, 3000])
@pytest.mark.parametrize("depth", [1e-3, 3.0])
def test_an_indefinite_quadratic_is_refused_with_its_eigenvalue(n, depth):
    diagonal = np.ones(n)
    diagonal[n // 2] = -depth
    expected = f"(smallest eigenvalue {-depth:.3g})"
    assert expected in message(Program, cost=np.zeros(n), quadratic=sp.diags_array(diagonal, format="csr"))


@pytest.mark.parametrize("n", [30, 3000])
def test_an_indefinite_quadratic_with_a_zero_diagonal_is_refused(n):
    pairs = np.arange(0, n, 2)
    quadratic = sp.csr_array((np.full(pairs.size, 2.0), (pairs, pairs + 1)), shape=(n, n))
    assert "(smallest eigenvalue -1)" in message(Program, cost=np.zeros(n), quadratic=quadratic)


@given(seeds())
def test_the_convexity_check_agrees_with_the_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    root = rng.normal(size=(n, n))
    q = root.T @ root - rng.choice([0.0, 0.5, 2.0]) * np.eye(n)
    if np.linalg.eigvalsh(q)[0] > -1e-12:
        Program(cost=np.zeros(n), quadratic=q)
    elif np.linalg.eigvalsh(q)[0] < -1e-6 * np.abs(q).max():
        assert "not positive semidefinite" in message(Program, cost=np.zeros(n), quadratic=q)


def named(**changes) -> Program:
    """A load x and a switch b, each constraint with a name."""
    parts = {
        "cost": [1.0, 1.0],
        "rows": [[1.0, 1.0], [1.0, -1.0]],
        "lb": 0.0,
        "ub": [5.0, 1.0],
        "integer": [1],
        "indicators": [Indicator(1, 1, [1.0, 0.0], ub=0.0, name="off"), Indicator(1, 0, [1.0, 0.0], ub=4.0)],
        "quadratic_constraints": [QuadraticConstraint(np.eye(2), ub=9.0, name="disc"), QuadraticConstraint(np.eye(2), ub=9.0)],
        "cones": [ConeConstraint(np.eye(2)), ConeConstraint(np.ones((2, 2)), sizes=[1, 1], names=["left", "right"])],
        "column_names": ["load", "switch"],
        "row_names": ["capacity", ""],
    }
    return Program(**(parts | changes))


def test_everything_is_called_by_its_name_or_else_its_number():
    program = named()
    assert [program.column_label(j) for j in range(2)] == ["column 'load'", "column 'switch'"]
    assert [program.row_label(i) for i in range(2)] == ["row 'capacity'", "row 1"]
    assert [program.indicator_label(k) for k in range(2)] == ["indicator 'off'", "indicator 1"]
    assert [program.quadratic_label(k) for k in range(2)] == ["quadratic constraint 'disc'", "quadratic constraint 1"]
    assert [program.cone_label(k) for k in range(3)] == ["cone 0", "cone 'left'", "cone 'right'"]
    unnamed = named(column_names=None, row_names=None)
    assert (unnamed.column_label(1), unnamed.row_label(0)) == ("column 1", "row 0")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"lb": [6.0, 0.0]}, "Program: the bounds of column 'load' cross: lb = 6 > ub = 5."),
        ({"lb": [np.nan, 0.0]}, "Program: a bound of column 'load' is NaN. Use -inf or inf for none."),
        ({"row_lb": [1.0, 1.0], "row_ub": [0.0, 2.0]}, "Program: the bounds of row 'capacity' cross: lb = 1 > ub = 0."),
        (
            {"integer": []},
            "Program: indicator 'off' is on column 'switch', which is not binary. Make it integer with lb = 0 and ub = 1.",
        ),
        (
            {"quadratic_constraints": [QuadraticConstraint(np.eye(3), name="disc")]},
            "Program: quadratic constraint 'disc' has 3 columns but the program has 2.",
        ),
        ({"cones": [ConeConstraint(np.eye(3), names=["ball"])]}, "Program: cone 'ball' has 3 columns but the program has 2."),
        ({"column_names": ["load"]}, "Program: column_names has 1 names but there are 2 columns: one each is expected."),
        ({"row_names": ["a", "b", "c"]}, "Program: row_names has 3 names but there are 2 rows: one each is expected."),
    ],
)
def test_errors_use_the_names(changes, expected):
    assert message(named, **changes) == expected


def test_an_indicator_whose_bounds_cross_is_called_by_its_name():
    assert message(Indicator, 1, 1, [1.0], lb=2.0, ub=1.0, name="off") == "Program: the bounds of indicator 'off' cross: lb = 2 > ub = 1."
    assert "indicator on column 1" in message(Indicator, 1, 1, [1.0], lb=2.0, ub=1.0)


def test_a_maximization_has_the_users_objective_and_a_concave_quadratic():
    program = Program(cost=[3.0], quadratic=[[-2.0]], offset=1.0, ub=10.0, maximize=True)
    assert (program.maximize, program.sense, Program(cost=[1.0]).sense) == (True, -1.0, 1.0)
    assert program.objective(np.array([2.0])) == 3.0
    assert "so what is maximized is not concave" in message(Program, cost=[3.0], quadratic=[[2.0]], maximize=True)


def test_what_is_maximized_must_be_concave():
    assert Program(cost=[1.0, 1.0], quadratic=-np.eye(2), maximize=True).sense == -1.0
    with pytest.raises(
        InputError, match=r"quadratic is not negative semidefinite \(largest eigenvalue 1\), so what is maximized is not concave"
    ):
        Program(cost=[1.0, 1.0], quadratic=np.eye(2), maximize=True)
