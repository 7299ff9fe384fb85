"""CVXPY problems with networks in them."""

from __future__ import annotations

import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest

import dcembed
from dcembed import verify
from dcembed.errors import InputError, OptionError
from frontends.calls import count_calls
from frontends.problems import PROBLEMS, ConvexQP, NeuralMILP, NeuralMIQP, make_network, solved

cp = pytest.importorskip("cvxpy", reason="cvxpy is not installed")
import dcembed.cvxpy as front  # noqa: E402
from dcembed.frontends.cvxpy_ import current_point  # noqa: E402

# f of the MILP is between -BIG and BIG on its box.
BIG = 5.0


def write_convex_qp():
    x = cp.Variable(4, name="x")
    f = front.embed(ConvexQP.network, cp.vstack([x[:2], x[2:]]), name="f")
    return cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(x - ConvexQP.target)), [cp.sum(x) == ConvexQP.total, x >= -1, x <= 1, f <= ConvexQP.limit]
    )


def write_milp():
    case = NeuralMILP
    x, z, b = cp.Variable(2, name="x", bounds=[0, 1]), cp.Variable(2, boolean=True, name="z"), cp.Variable(boolean=True, name="b")
    f = front.embed(case.network, x, name="f")[0]
    indicator = f >= case.level - BIG * (1 - b)
    return cp.Problem(cp.Maximize(f + case.reward * b - case.cost @ z), [x <= z, cp.sum(z) <= 1 + b, indicator])


def write_miqp():
    case = NeuralMIQP
    x, k = cp.Variable(2, name="x"), cp.Variable(integer=True, name="k")
    f = front.embed(case.network, x, name="f")[0]
    return cp.Problem(
        cp.Minimize(cp.sum_squares(x - case.center) + 0.1 * k), [cp.abs(x) <= 1, k >= 0, k <= 3, f == case.slope * k + case.intercept]
    )


WRITERS = {ConvexQP: write_convex_qp, NeuralMILP: write_milp, NeuralMIQP: write_miqp}


def snapshot(problem) -> tuple:
    variables = [(v.name(), v.id, v.shape, {k: str(a) for k, a in v.attributes.items()}) for v in problem.variables()]
    return str(problem), variables, [(c.id, str(c)) for c in problem.constraints], str(problem.objective)


@pytest.mark.parametrize("case", PROBLEMS, ids=lambda case: case.__name__)
def test_a_problem_gives_what_its_matrix_form_gives(case):
    expected = solved(case)
    problem = WRITERS[case]()
    before = snapshot(problem)
    value = problem.solve(method="dcembed", time_limit=200, max_starts=1)
    result = front.result_of(problem)
    assert snapshot(problem) == before
    assert result.is_feasible
    assert verify(result.program, result.embeddings, result.x).violation <= 1e-5
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    assert value == problem.value == pytest.approx(sign * expected.objective, abs=1e-6)
    assert result.objective == pytest.approx(value, abs=1e-6)
    assert problem.status == "locally_solved"
    assert all(constraint.violation().max() <= 1e-5 for constraint in problem.constraints)


@pytest.mark.parametrize("case", PROBLEMS, ids=lambda case: case.__name__)
def test_the_values_are_the_networks(case):
    problem = WRITERS[case]()
    problem.solve(method="dcembed", max_starts=1)
    variables = {variable.name(): variable for variable in problem.variables()}
    f = variables["f"]
    assert np.allclose(f.value, case.network(np.atleast_2d(f.inputs.value)).reshape(f.shape), atol=1e-5)
    for variable in variables.values():
        if variable.attributes["boolean"] or variable.attributes["integer"]:
            assert np.array_equal(variable.value, np.round(variable.value))


NETWORK = make_network(2, (6, 6), 7, convex=True)


def test_a_second_order_cone_and_inputs_that_are_nowhere_else():
    x = cp.Variable(2)
    f = front.embed(NETWORK, x)
    # x is in a cone, c only in the inputs of the network.
    c = cp.Variable(bounds=[0.2, 1.0])
    g = front.embed(NETWORK, [c, 0.3])
    problem = cp.Problem(cp.Minimize(f[0] + g[0]), [cp.norm(x) <= 1])
    problem.solve(method="dcembed")
    circle = np.linspace(0, 2 * np.pi, 20_001)
    disc = np.concatenate([r * np.stack([np.cos(circle), np.sin(circle)], axis=1) for r in np.linspace(0, 1, 41)])
    line = np.stack([np.linspace(0.2, 1.0, 10_001), np.full(10_001, 0.3)], axis=1)
    best = NETWORK(disc).min() + NETWORK(line).min()
    assert front.result_of(problem).program.problem_class == "SOCP"
    assert best - 1e-2 < problem.value < best + 1e-5
    assert np.linalg.norm(x.value) <= 1 + 1e-5
    assert 0.2 <= c.value <= 1.0


def test_convex_quadratics_in_constraints_and_a_prediction_above_one():
    x = cp.Variable(2)
    f = front.embed(make_network(2, (6,), 4), x)[0]
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum_squares(x) <= f, cp.quad_form(x, np.diag([1.0, 4.0])) <= 3])
    problem.solve(method="dcembed")
    assert problem.status == "locally_solved"
    assert np.sum(x.value**2) <= f.value + 1e-5
    assert problem.value < 0


def test_a_network_may_feed_another():
    first, second = make_network(2, (5,), 1), make_network(2, (5,), 2)
    x = cp.Variable(2, bounds=[-1, 1])
    y = front.embed(first, x)
    z = front.embed(second, [y[0], x[0] + 1])
    problem = cp.Problem(cp.Minimize(z[0]))
    problem.solve(method="dcembed")
    points = np.atleast_2d(x.value)
    inner = first(points)
    assert y.value == pytest.approx(inner[0], abs=1e-5)
    assert z.value == pytest.approx(second(np.array([[inner[0, 0], points[0, 0] + 1]]))[0], abs=1e-4)


def test_batches_keep_their_order():
    network = make_network(3, (4,), 3)
    two = dcembed.build_mlp(
        [np.random.default_rng(0).normal(size=(4, 3)), np.random.default_rng(1).normal(size=(2, 4))], [np.zeros(4), np.zeros(2)]
    )
    data = np.random.default_rng(2).normal(size=(5, 3))
    x = cp.Variable((5, 3))
    for net in (network, two):
        f = front.embed(net, 2 * x - data)
        assert f.shape == (5, net.num_outputs)
        problem = cp.Problem(cp.Minimize(cp.sum(f)), [x == data.round(1)])
        problem.solve(method="dcembed")
        assert np.allclose(f.value, net(2 * data.round(1) - data), atol=1e-6)


def test_variables_with_attributes_come_back():
    S, p, n = cp.Variable((2, 2), symmetric=True), cp.Variable(2, nonneg=True), cp.Variable(integer=True)
    f = front.embed(NETWORK, [S[0, 1], p[0]])
    problem = cp.Problem(cp.Minimize(f[0] + cp.sum(p) + n + S[0, 0]), [cp.abs(S) <= 1, p <= 1, n >= -2.5])
    problem.solve(method="dcembed")
    assert S.value[0, 1] == S.value[1, 0]
    assert S.value[0, 0] == pytest.approx(-1, abs=1e-6)
    assert (p.value >= 0).all()
    assert n.value == -2
    assert f.value == pytest.approx(NETWORK(np.array([[S.value[0, 1], p.value[0]]]))[0], abs=1e-6)


def test_parameters_are_taken_at_their_values():
    limit, scale = cp.Parameter(name="limit"), cp.Parameter(name="scale", value=2.0)
    x = cp.Variable(2)
    f = front.embed(NETWORK, scale * x)
    # A product of parameters is not DPP, which must not matter.
    problem = cp.Problem(cp.Minimize(f[0] + 5 * cp.sum(x)), [cp.abs(x) <= scale * limit])
    with pytest.raises(
        InputError, match=r"^Constraint 0 .* has parameters without a value: limit\. Set parameter\.value before solving\.$"
    ):
        problem.solve(method="dcembed")
    values = []
    for limit.value in (0.1, 0.4):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            values.append(problem.solve(method="dcembed"))
        assert f.value == pytest.approx(NETWORK(2 * np.atleast_2d(x.value))[0], abs=1e-6)
    assert values[1] < values[0]


def test_solving_again_begins_where_it_was_told():
    problem = write_miqp()
    problem.solve(method="dcembed", max_iterations=0)
    variables = {variable.name(): variable for variable in problem.variables()}
    variables["x"].value, variables["k"].value = np.array([0.5, 0.5]), 2
    extraction = front.extract(problem)
    point = dict(zip(extraction.program.column_names, current_point(extraction), strict=True))
    assert (point["x[0]"], point["x[1]"], point["k"]) == (0.5, 0.5, 2.0)
    problem.solve(method="dcembed", warm_start=True)
    assert problem.value <= 0.645384 + 1e-6


def test_options_reach_the_run(capsys):
    problem = write_convex_qp()
    problem.solve(method="dcembed", verbose=True, solver="PIQP", max_iterations=1, seed=3)
    assert "on piqp" in capsys.readouterr().out
    assert front.result_of(problem).solver == "piqp"
    assert problem.status == "iteration_limit"
    with pytest.raises(OptionError, match="unknown option 'timelimit'"):
        problem.solve(method="dcembed", timelimit=3)


def test_an_infeasible_host_is_infeasible():
    x = cp.Variable(2, bounds=[-1, 1])
    for sense, value in ((cp.Minimize, np.inf), (cp.Maximize, -np.inf)):
        problem = cp.Problem(sense(front.embed(NETWORK, x)[0]), [x[0] >= 2])
        assert problem.solve(method="dcembed") == value
        assert problem.status == "infeasible"
        assert x.value is None


def test_a_problem_whose_tangents_fall_without_end_is_not_called_unbounded():
    """f(x) = max(x - 1, 0) - max(x, 0) is never below -1, but its tangents are."""
    x = cp.Variable(1)
    step = dcembed.build_mlp([[[1.0], [1.0]], [[-1.0, 1.0]]], [[0.0, -1.0], None])
    problem = cp.Problem(cp.Minimize(front.embed(step, x)[0]))
    for tangents in (False, True):
        problem.solve(method="dcembed", tangents=tangents)
        assert problem.status == "locally_solved"
        assert problem.value == pytest.approx(-1.0)


def test_without_a_feasible_point_nothing_is_claimed():
    x = cp.Variable(2, bounds=[-1, 1])
    f = front.embed(NETWORK, x)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [f >= 1e3, cp.sum(x) <= 0])
    assert problem.solve(method="dcembed", max_starts=1) is None
    assert problem.status == "locally_infeasible"
    assert problem.value is None
    assert x.value is None
    assert front.result_of(problem).x is not None


@pytest.mark.parametrize("solver", [None, "CLARABEL"])
def test_other_methods_are_refused(solver):
    x = cp.Variable(2, bounds=[-1, 1])
    f = front.embed(NETWORK, x, name="f")
    problem = cp.Problem(cp.Minimize(cp.sum(x) + f[0]), [f >= 0])
    message = r"^f is the prediction of a network, which problem.solve\(method=\"dcembed\"\) alone can read"
    for _ in range(2):
        with pytest.raises(InputError, match=message):
            problem.solve(solver=solver)
        assert problem.status is None
        assert x.value is None
    with pytest.raises(InputError, match=r"was not solved by dcembed last"):
        front.result_of(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem.solve(method="dcembed", max_starts=1)
    point = x.value.copy()
    with pytest.raises(InputError, match=message):
        problem.solve(solver=solver)
    with pytest.raises(InputError, match=message):
        problem.get_problem_data(cp.CLARABEL)
    with pytest.raises(InputError, match=message):
        f.value = np.zeros(f.shape)
    # What dcembed found is still there.
    assert np.array_equal(x.value, point)
    assert f.value == pytest.approx(NETWORK(point))


X = cp.Variable(2, name="x", bounds=[-1, 1])
NOT_CONVEX = "{} is not convex by CVXPY's rules (DCP). dcembed takes convex problems with networks in them."
PREDICTION_NOT_CONVEX = (
    "{} is not convex by CVXPY's rules (DCP), and the prediction f is in it. "
    "Use predictions in affine expressions, or where a convex expression of them is allowed."
)
NO_CONE = (
    "{} needs a cone that dcembed does not take (exponential, power or semidefinite). "
    "Accepted are linear, convex quadratic and second-order-cone expressions."
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: cp.square(f) >= 1, PREDICTION_NOT_CONVEX),
        (lambda f: X[0] * f[0] <= 1, PREDICTION_NOT_CONVEX),
        (lambda f: cp.norm(X) >= 1, NOT_CONVEX),
        (lambda f: cp.exp(X[0]) <= 2, NO_CONE),
        (lambda f: cp.bmat([[X[0], f[0]], [f[0], 1]]) >> 0, NO_CONE),
    ],
)
def test_a_constraint_that_cannot_be_carried_is_named(make, message):
    f = front.embed(NETWORK, X, name="f")
    bad = make(f)
    problem = cp.Problem(cp.Minimize(f[0]), [X <= 1, bad])
    with pytest.raises(InputError) as caught:
        problem.solve(method="dcembed")
    assert str(caught.value) == message.format(f"Constraint 1 ({bad})" if len(str(bad)) <= 160 else f"Constraint 1 ({str(bad)[:157]}...)")


def test_constraints_are_named_by_their_labels():
    bad = cp.norm(X) >= 1
    bad.label = "far enough"
    with pytest.raises(InputError, match=r"^Constraint 0 \(far enough: "):
        cp.Problem(cp.Minimize(front.embed(NETWORK, X)[0]), [bad]).solve(method="dcembed")


@pytest.mark.parametrize(
    ("make", "message"),
    [(lambda f: X[0] * f[0], PREDICTION_NOT_CONVEX), (lambda f: -cp.norm(X), NOT_CONVEX), (lambda f: f[0] - cp.log(X[0] + 2), NO_CONE)],
)
def test_an_objective_that_cannot_be_carried_is_named(make, message):
    problem = cp.Problem(cp.Minimize(make(front.embed(NETWORK, X, name="f"))))
    with pytest.raises(InputError) as caught:
        problem.solve(method="dcembed")
    assert str(caught.value) == message.format(f"The objective ({problem.objective})")


def test_a_problem_without_variables():
    with pytest.raises(InputError, match=r"^The CVXPY problem has no variables: there is nothing to decide\.$"):
        cp.Problem(cp.Minimize(0)).solve(method="dcembed")


def test_inputs_that_do_not_fit():
    for shape in ((3,), (2, 3)):
        with pytest.raises(InputError) as caught:
            front.embed(NETWORK, cp.Variable(shape))
        assert str(caught.value) == f"embed: X has shape {shape}, but the network has 2 inputs: expected (2,) or (k, 2)."
    with pytest.raises(InputError) as caught:
        front.embed(NETWORK, cp.abs(X))
    assert str(caught.value) == "embed: X is not real and affine in the variables: abs(x). Give the network affine expressions."


@pytest.mark.parametrize("inputs", [[], [[X[0], 1.0], [2.0]], [X, X[0]], "x"], ids=str)
def test_inputs_that_cannot_be_stacked(inputs):
    with pytest.raises(InputError, match=rf"^embed: X is an expression, an array, or a list .* received {type(inputs).__name__}, which"):
        front.embed(NETWORK, inputs)


def test_a_parameter_without_a_value_is_named_with_its_constraint():
    level = cp.Parameter(name="level")
    f = front.embed(NETWORK, X, name="f")
    cases = [
        (cp.Problem(cp.Minimize(f[0]), [X <= 1, f <= level]), r"Constraint 1 \(f <= level\)"),
        (cp.Problem(cp.Minimize(f[0] + level)), r"The objective \(minimize f\[0\] \+ level\)"),
        (cp.Problem(cp.Minimize(front.embed(NETWORK, X + level, name="g")[0])), r"The input of g \(x \+ .*level.*\)"),
    ]
    for problem, what in cases:
        with pytest.raises(InputError, match=rf"^{what} has parameters without a value: level\. Set parameter\.value before solving\.$"):
            problem.solve(method="dcembed")


def test_a_semidefinite_variable_is_named():
    S = cp.Variable((2, 2), PSD=True, name="S")
    with pytest.raises(InputError, match=r"^The variable S is semidefinite"):
        cp.Problem(cp.Minimize(cp.sum(front.embed(NETWORK, S))), [S <= 1]).solve(method="dcembed")


def test_lists_of_expressions_and_numbers_are_stacked():
    x = cp.Variable(2)
    assert front.embed(NETWORK, np.array([x[0], 1.0], dtype=object)).inputs.shape == (2,)
    assert front.embed(NETWORK, [x[0], 1.0]).inputs.shape == (2,)
    assert front.embed(NETWORK, [[x[0], 1.0], [2.0, x[1]], x]).inputs.shape == (3, 2)
    assert front.embed(NETWORK, np.ones((4, 2))).shape == (4, 1)


def test_rows_with_one_column_become_bounds_and_contradictions_stay_rows():
    x = cp.Variable(2)
    f = front.embed(NETWORK, x)
    program = front.extract(cp.Problem(cp.Minimize(f[0]), [x >= -1, 2 * x <= 4, x[0] == 1])).program
    assert program.num_rows == 0
    assert sorted(zip(program.lb, program.ub, strict=True)) == [(-np.inf, np.inf), (-1, 2), (1, 1)]
    assert front.extract(cp.Problem(cp.Minimize(f[0]), [x >= 3, x <= 1])).program.num_rows == 4


def test_nothing_of_the_input_equalities_is_left():
    x = cp.Variable(2, bounds=[-1, 1])
    f = front.embed(NETWORK, np.array([[1.0, 1.0], [1.0, -1.0]]) @ x + 3)
    extracted = front.extract(cp.Problem(cp.Minimize(f[0])))
    assert extracted.program.num_columns == 3
    assert extracted.program.num_rows == 0
    w = np.zeros(3)
    column = np.setdiff1d(np.arange(3), extracted.embeddings[0].outputs)
    w[column] = [0.25, 0.5]
    assert extracted.embeddings[0].points(w) == pytest.approx(np.array([[3.75, 2.75]]))


def test_what_cvxpy_adds_is_called_by_what_it_was_added_for():
    x = cp.Variable(2, name="x")
    s = cp.Variable((2, 2), symmetric=True, name="s")
    d = cp.Variable((2, 2), diag=True, name="d")
    p = cp.Variable((2, 2), nonneg=True, name="p")
    f = front.embed(NETWORK, x, name="f")
    constraints = [
        cp.abs(x) <= 1 + x[1],
        (cp.norm(x) <= f[0] + 2).set_label("disc"),
        cp.sum(s) + cp.sum(d) + cp.sum(p) <= 1,
        cp.SOC(x[0] + 3, x),
        (x[0] - 9 <= p.T).set_label("low"),
    ]
    program = front.extract(cp.Problem(cp.Minimize(f[0] + cp.max(x)), constraints)).program
    named = set(program.column_names)
    assert {"x[0]", "x[1]", "f[0]", "s[0,0]", "s[0,1]", "s[1,1]", "d[0,0]", "d[1,1]", "p[0,0]", "p[1,0]"} <= named
    assert {"the objective, auxiliary", "constraint 0 (abs(x) <= 1.0 + x[1]), auxiliary[1]", "disc, auxiliary"} <= named
    assert "s[1,0]" not in named
    counts = {name: program.row_names.count(name) for name in program.row_names}
    # x <= t, -x <= t and t <= 1 + x_1 for the absolute value, x_i <= t for the maximum.
    assert counts["constraint 0 (abs(x) <= 1.0 + x[1])[1]"] == 3
    assert counts["the objective[0]"] == counts["the objective[1]"] == 1
    assert counts["low[0,1]"] == counts["low[1,0]"] == counts["disc"] == 1
    (names,) = [cone.names for cone in program.cones]
    assert sorted(names) == ["constraint 3 (SOC(reshape(x[0] + 3.0, (1,), F), x))", "disc"]
    # Each name stands where it belongs: the row of p.T >= x[0] - 9 at [0, 1] is over p[1, 0].
    (row,) = [program.rows[[i]] for i, name in enumerate(program.row_names) if name == "low[0,1]"]
    assert {program.column_names[j] for j in row.indices} == {"p[1,0]", "x[0]"}


def test_extraction_goes_by_arrays_not_by_rows():
    from benchmarks.studies.frontend_cvxpy import make_problem

    # The first loads what the others have.
    _, few, many = (count_calls(partial(front.extract, make_problem(num_rows))) for num_rows in (1000, 1000, 5000))
    assert many - few <= 2 * 4000


def test_the_module_says_what_is_missing():
    code = "import sys; sys.modules['cvxpy'] = None; import dcembed.cvxpy"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (
        'MissingPackageError: dcembed.cvxpy needs the package cvxpy, which is not installed. Run: pip install "dcembed[cvxpy]"'
        in run.stderr
    )
