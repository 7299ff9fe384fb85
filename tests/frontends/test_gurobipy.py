"""gurobipy models with networks: what is accepted, what is rejected, and what the model holds afterwards."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import numpy as np
import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")

from tests.frontends.problems import PROBLEMS, ConvexQP, NeuralMILP, NeuralMIQP, make_network  # noqa: E402

import dcembed  # noqa: E402
from dcembed.errors import InputError, OptionError  # noqa: E402
from dcembed.frontends import contract  # noqa: E402
from dcembed.frontends import gurobipy_ as front  # noqa: E402
from dcembed.frontends.gurobipy_optimize import find_start  # noqa: E402
from dcembed.gurobipy import Model, NoSolutionError, add_predictor_constr, optimize  # noqa: E402

INF = gp.GRB.INFINITY
NETWORK = make_network(2, (5,), 0)


@pytest.fixture
def env():
    with gp.Env(params={"OutputFlag": 0}) as env:
        yield env


@pytest.fixture
def model(env):
    with gp.Model(env=env) as model:
        yield model


def write_qp(model):
    x = model.addMVar(4, lb=-1, ub=1, name="x")
    y = model.addMVar(2, lb=-INF, ub=ConvexQP.limit, name="y")
    model.addConstr(x.sum() == ConvexQP.total, name="total")
    away = x - ConvexQP.target
    model.setObjective(0.5 * (away @ away))
    return add_predictor_constr(model, ConvexQP.network, x.reshape(2, 2), y)


def write_milp(model):
    x = model.addMVar(2, ub=1, name="x")
    z = model.addMVar(2, vtype=gp.GRB.BINARY, name="z")
    b = model.addVar(vtype=gp.GRB.BINARY, name="b")
    predictor = add_predictor_constr(model, NeuralMILP.network, x)
    y = predictor.output[0, 0].item()
    model.addConstr(x <= z)
    model.addConstr(z.sum() <= 1 + b)
    model.addConstr((b == 1) >> (y >= NeuralMILP.level), name="if_b")
    model.setObjective(y + NeuralMILP.reward * b - NeuralMILP.cost @ z, gp.GRB.MAXIMIZE)
    return predictor


def write_miqp(model):
    x = model.addMVar(2, lb=-1, ub=1, name="x")
    k = model.addVar(vtype=gp.GRB.INTEGER, ub=3, name="k")
    predictor = add_predictor_constr(model, NeuralMIQP.network, x)
    model.addConstr(predictor.output[0, 0] == NeuralMIQP.slope * k + NeuralMIQP.intercept)
    away = x - NeuralMIQP.center
    model.setObjective(away @ away + 0.1 * k)
    return predictor


WRITERS = dict(zip(PROBLEMS, (write_qp, write_milp, write_miqp), strict=True))


def written(model, tmp_path):
    path = str(tmp_path / "model.lp")
    model.write(path)
    with open(path) as file:
        return file.read()


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.__name__)
def test_the_three_problems_give_what_their_matrices_give(problem, model, tmp_path):
    predictor = WRITERS[problem](model)
    before, parameters = (
        written(model, tmp_path),
        {name: model.getParamInfo(name)[2] for name in ("SolutionLimit", "NodeLimit", "TimeLimit")},
    )
    result = optimize(model, time_limit=60)
    reference = dcembed.solve(*problem.matrices(), options={"verbose": False})
    assert result.program.sense * result.objective == pytest.approx(reference.objective, abs=1e-6)
    # The answer is where a user of gurobipy reads it, also after the model was written and updated.
    assert written(model, tmp_path) == before
    model.update()
    assert model.ObjVal == pytest.approx(result.objective, abs=1e-6)
    assert model.getAttr("X", model.getVars()) == pytest.approx(result.x, abs=1e-6)
    assert predictor.get_error().max() <= 1e-6
    assert model.Status == gp.GRB.SOLUTION_LIMIT
    assert {name: model.getParamInfo(name)[2] for name in parameters} == parameters


def test_gurobi_itself_prints_nothing(capsys):
    with gp.Env() as env, gp.Model(env=env) as model:
        write_milp(model)
        capsys.readouterr()
        optimize(model, verbose=False)
        optimize(model, verbose=False)
        assert capsys.readouterr().out == ""
        assert (model.Params.OutputFlag, model.Params.LogToConsole) == (1, 1)


def small(model):
    """Two inputs whose predictions a model wants small."""
    x = model.addMVar(2, lb=-1, ub=1, name="x")
    return x, x.tolist()


INPUTS = {
    "MVar": lambda x, v: x,
    "MVar of one row": lambda x, v: x.reshape(1, 2),
    "list": lambda x, v: v,
    "nested list": lambda x, v: [v],
    "tuple": lambda x, v: tuple(v),
    "list of MVar": lambda x, v: [x[0], x[1]],
    "object array": lambda x, v: np.array(v, dtype=object),
    "dict": lambda x, v: {"a": v[0], "b": v[1]},
    "tupledict": lambda x, v: gp.tupledict({0: v[0], 1: v[1]}),
    "tupledict of pairs": lambda x, v: gp.tupledict({(0, 0): v[0], (0, 1): v[1]}),
    "MLinExpr": lambda x, v: 1.0 * x + 0.0,
    "LinExpr": lambda x, v: [v[0] + 0.0, gp.LinExpr(v[1])],
}


@pytest.mark.parametrize("kind", INPUTS)
def test_every_kind_of_input_gives_the_same_answer(kind, model):
    x, variables = small(model)
    predictor = add_predictor_constr(model, NETWORK, INPUTS[kind](x, variables))
    model.setObjective(predictor.output.sum() + 0.1 * x[0])
    result = optimize(model)
    assert predictor.input_values == pytest.approx(x.X.reshape(1, 2))
    assert predictor.output_values == pytest.approx(NETWORK(x.X.reshape(1, 2)), abs=1e-9)
    direct = dcembed.Program([0.1, 0.0, 1.0], lb=[-1, -1, -np.inf], ub=[1, 1, np.inf])
    expected = dcembed.solve(direct, dcembed.Embedding(NETWORK, [0, 1], [2]), options={"verbose": False})
    assert model.ObjVal == pytest.approx(expected.objective, abs=1e-6)
    assert result.is_feasible


def test_affine_expressions_are_predicted_as_they_are(model):
    x, _ = small(model)
    matrix = np.array([[1.0, 2.0], [-0.5, 1.0], [0.0, 3.0], [1.0, 1.0]])
    predictor = add_predictor_constr(model, NETWORK, [matrix[:2] @ x + 0.3, matrix[2:] @ x + 0.3])
    model.setObjective(predictor.output.sum())
    optimize(model)
    points = (matrix @ x.X + 0.3).reshape(2, 2)
    assert predictor.input_values == pytest.approx(points)
    assert predictor.output_values == pytest.approx(NETWORK(points), abs=1e-8)


def test_a_changed_expression_does_not_change_the_embedding(model):
    x, variables = small(model)
    expression = variables[0] + 0.25
    predictor = add_predictor_constr(model, NETWORK, [expression, variables[1]])
    expression += 10 * variables[1]
    model.setObjective(predictor.output.sum())
    optimize(model)
    assert predictor.input_values == pytest.approx(np.array([[x.X[0] + 0.25, x.X[1]]]))


def test_a_single_variable_is_one_input(model):
    network = make_network(1, (4,), 1)
    x = model.addVar(lb=-1, ub=1)
    predictor = add_predictor_constr(model, network, x)
    model.setObjective(predictor.output[0, 0])
    optimize(model)
    assert predictor.output_values == pytest.approx(network(np.array([[x.X]])), abs=1e-9)


def test_several_evaluations_of_one_input_each(model):
    network = make_network(1, (4,), 1)
    x = model.addMVar(3, lb=-1, ub=1)
    y = model.addMVar(3, lb=-INF)
    predictor = add_predictor_constr(model, network, x, y)
    model.setObjective(y.sum())
    optimize(model)
    assert predictor.output.shape == (3, 1)
    assert list(y.X) == pytest.approx(network(x.X.reshape(3, 1))[:, 0], abs=1e-9)


def test_a_tupledict_of_pairs_has_one_evaluation_for_each_first_index(model):
    x = model.addVars(3, 2, lb=-1, ub=1)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(predictor.output.sum())
    optimize(model)
    points = np.array([[x[i, j].X for j in range(2)] for i in range(3)])
    assert predictor.output_values == pytest.approx(NETWORK(points), abs=1e-9)


def test_a_data_frame_may_have_constant_columns_and_gives_one_back(model):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    x = model.addVars(3, lb=-1, ub=1)
    frame = pd.DataFrame({"price": list(x.values()), "season": [0.1, 0.5, 0.9]}, index=["a", "b", "c"])
    predictor = add_predictor_constr(model, NETWORK, frame)
    model.setObjective(predictor.output.sum())
    optimize(model)
    values = predictor.input_values
    assert list(values.columns) == ["price", "season"]
    assert list(values.index) == ["a", "b", "c"]
    assert list(values["season"]) == [0.1, 0.5, 0.9]
    assert predictor.output_values == pytest.approx(NETWORK(values.to_numpy()), abs=1e-9)


@pytest.mark.parametrize("kind", ["MVar", "list", "dict", "Var", "array"])
def test_every_kind_of_output(kind, model):
    x, _ = small(model)
    y = model.addVar(lb=-INF, name="y")
    outputs = {"MVar": gp.MVar.fromlist([y]), "list": [y], "dict": {"only": y}, "Var": y, "array": np.array([[y]], dtype=object)}
    predictor = add_predictor_constr(model, NETWORK, x, outputs[kind])
    model.setObjective(y)
    optimize(model)
    assert float(y.X) == pytest.approx(NETWORK(x.X.reshape(1, 2))[0, 0], abs=1e-9)
    assert predictor.vars == []


def test_what_is_returned_tells_what_was_added(model, capsys):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x, name="yield", verbose=True)
    assert "yield: Network(2 inputs -> 5 -> 1 outputs), evaluated 1 time\n1 variables, 0 binaries" in capsys.readouterr().out
    text = io.StringIO()
    predictor.print_stats(abbrev=True, file=text)
    assert text.getvalue().split() == ["yield", "(1,", "1)", "1", "0", "0", "0"]
    assert [variable.VarName for variable in predictor.vars] == ["yield.out[0,0]"]
    assert predictor.constrs == []
    assert predictor.input.shape == (1, 2)
    assert predictor.output.LB.item() <= -INF
    assert model.NumIntVars == 0


def test_remove_leaves_the_model_as_it_was(model, tmp_path):
    x, _ = small(model)
    model.addConstr(x.sum() <= 1, name="c")
    model.update()
    before = written(model, tmp_path)
    predictor = add_predictor_constr(model, NETWORK, x)
    assert written(model, tmp_path) != before
    predictor.remove()
    predictor.remove()
    assert written(model, tmp_path) == before
    with pytest.raises(InputError, match="no network is embedded in the model"):
        optimize(model)


def test_there_are_no_values_without_a_solution(model):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    with pytest.raises(NoSolutionError, match="The model has no solution"):
        _ = predictor.output_values
    with pytest.raises(NoSolutionError):
        predictor.get_error()
    model.setObjective(predictor.output.sum())
    optimize(model)
    assert predictor.output_values.shape == (1, 1)
    model.addConstr(x.sum() == 5)
    result = optimize(model)
    assert result.status is dcembed.Status.HOST_INFEASIBLE
    assert model.SolCount == 0
    with pytest.raises(NoSolutionError):
        _ = predictor.input_values


def test_the_subclass_solves_with_or_without_networks(env):
    with Model("mine", env=env) as model:
        x = model.addMVar(2, lb=-1, ub=1)
        model.setObjective(x.sum())
        assert model.optimize() is None
        assert model.Status == gp.GRB.OPTIMAL
        with pytest.raises(InputError, match="no network is embedded in the model, so Gurobi solves it"):
            model.optimize(time_limit=3)
        predictor = add_predictor_constr(model, NETWORK, x)
        model.setObjective(predictor.output.sum())
        seen = []
        result = model.optimize(lambda iteration: seen.append(iteration.number), time_limit=30)
        assert result.is_feasible
        assert seen
        assert model.ObjVal == pytest.approx(result.objective)


def test_the_parameters_of_the_model_are_the_defaults_of_the_options(model, monkeypatch):
    x, _ = small(model)
    add_predictor_constr(model, NETWORK, x)
    received = {}

    def record(program, embeddings, start, options):
        received.update(vars(options))
        return dcembed.solve(program, embeddings, start, options)

    monkeypatch.setattr(contract, "solve", record)
    model.Params.TimeLimit, model.Params.Seed = 17, 4
    optimize(model)
    assert (received["time_limit"], received["seed"], received["threads"], received["verbose"]) == (17, 4, 1, False)
    optimize(model, 5, seed=1)
    assert (received["time_limit"], received["seed"]) == (5, 1)
    with pytest.raises(OptionError, match="unknown option 'tme_limit'"):
        optimize(model, tme_limit=3)


def test_a_start_in_the_variables_is_where_the_run_begins(model):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(predictor.output.sum())
    model.update()
    assert find_start(front.extract(model)) is None
    x[0].Start = 0.5
    model.update()
    assert find_start(front.extract(model)) is None
    x[1].Start = -0.25
    model.update()
    assert list(find_start(front.extract(model))) == [0.5, -0.25, 0.0]
    result = optimize(model, max_iterations=0, max_starts=1)
    assert list(x.X) == [0.5, -0.25]
    # The best point is the next start, so that a run goes on where the last one ended.
    assert optimize(model).objective <= result.objective


def test_a_start_that_leads_nowhere_is_a_hint_only(model):
    """Two hills, of which only the right one reaches the level, and a start at the foot of the left one."""
    knots = [-0.8, -0.5, -0.2, 0.2, 0.7, 1.2]
    hills = dcembed.build_mlp([[[1.0]] * 6, [[1.0, -2.0, 1.0, 2.0, -4.0, 2.0]]], [[-knot for knot in knots], None])
    x = model.addMVar(1, lb=-1, ub=1)
    predictor = add_predictor_constr(model, hills, x)
    model.addConstr(predictor.output[0, 0] >= 0.4)
    model.setObjective(-x.sum())
    x.Start = [-0.5]
    result = optimize(model)
    assert result.is_feasible
    assert predictor.output_values[0, 0] >= 0.4 - 1e-5
    # What the caller names is not second-guessed.
    assert not optimize(model, start=[-0.5, 0.0], max_starts=1).is_feasible


def test_of_several_starts_the_chosen_one_is_used(model):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(predictor.output.sum())
    model.NumStart = 3
    model.update()
    for number in range(3):
        model.Params.StartNumber = number
        x.Start = [0.25 * number, -0.25]
    optimize(model, max_iterations=0, max_starts=1)
    assert list(x.X) == [0.5, -0.25]
    assert (model.NumStart, model.Params.StartNumber) == (1, 0)


def test_bounds_that_cross_are_named(model):
    x, _ = small(model)
    add_predictor_constr(model, NETWORK, x)
    x[0].LB = 3.0
    with pytest.raises(InputError, match=rf"^Program: the bounds of column '{re.escape(x[0].item().VarName)}' cross: lb = 3 > ub = "):
        optimize(model)


def test_a_point_that_the_licence_does_not_carry_is_in_the_result(model, recwarn):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.addMVar(2100, ub=1)
    model.setObjective(predictor.output.sum())
    result = optimize(model)
    if model.SolCount:
        pytest.skip("this licence of Gurobi carries any size")
    assert result.is_feasible
    (warning,) = recwarn
    assert "Gurobi does not take the point (Model too large" in str(warning.message)
    assert warning.filename == __file__
    assert predictor.output_values == pytest.approx(NETWORK(predictor.input_values), abs=1e-9)
    assert predictor.input_values[0, 0] == result.x[x[0].item().index]


def test_gurobi_solves_the_subproblems_where_its_licence_carries_them(model, capsys):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(predictor.output.sum())
    assert optimize(model, verbose=True).solver == "gurobi"
    assert "on gurobi" in capsys.readouterr().out
    model.addMVar(2100, ub=1)
    result = optimize(model, verbose=True)
    if result.solver == "gurobi":
        pytest.skip("this licence of Gurobi carries any size")
    assert "Going on with highs." in capsys.readouterr().out


def test_reading_a_model_of_20000_rows_costs_at_most_twice_what_writing_it_does():
    from benchmarks.studies.frontend_gurobipy import main

    seconds = main()
    assert seconds["extract"] <= 2 * min(seconds["write lp"], seconds["write mps"])


def test_without_gurobipy_the_command_that_installs_it_is_told():
    code = "import sys; sys.modules['gurobipy'] = None; import dcembed.gurobipy"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert (
        'MissingPackageError: dcembed.gurobipy needs the package gurobipy, which is not installed. Run: pip install "dcembed[gurobi]"'
        in run.stderr
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_a_convex_quadratic_constraint_is_kept(sign, model, tmp_path):
    x, v = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    disc = v[0] * v[0] + v[0] * v[1] + v[1] * v[1] + 0.1 * v[0]
    model.addConstr(disc <= 0.5 if sign == 1 else -disc >= -0.5, name="disc")
    model.setObjective(predictor.output.sum() + x[0] + x[1])
    before = written(model, tmp_path)
    result = optimize(model)
    a, b = x.X
    assert a * a + a * b + b * b + 0.1 * a == pytest.approx(0.5, abs=1e-4)
    assert result.is_feasible
    assert predictor.get_error().max() <= 1e-6
    assert written(model, tmp_path) == before


# What a program cannot hold, each with the message that names it.


def add_ring(model, x, y):
    model.addConstr(x[0] * x[0] + x[1] * x[1] >= 1, name="ring")


def add_circle(model, x, y):
    model.addConstr(x[0] * x[0] + x[1] * x[1] == 1, name="circle")


def add_sos(model, x, y):
    model.addSOS(gp.GRB.SOS_TYPE1, x)


def add_max(model, x, y):
    model.addGenConstrMax(model.addVar(lb=-INF), x, name="largest")


def add_abs(model, x, y):
    model.addGenConstrAbs(model.addVar(), y, name="size")


def add_pwl(model, x, y):
    model.addGenConstrPWL(x[0], x[1], [-1, 0, 1], [1, 0, 1], name="tariff")


def add_semi(model, x, y):
    model.addVar(vtype=gp.GRB.SEMICONT, ub=3, name="batch")


def add_objective(model, x, y):
    model.setObjectiveN(x[0], 0)
    model.setObjectiveN(x[1], 1)


def add_pwl_objective(model, x, y):
    model.setPWLObj(x[1], [-1, 0, 1], [1, 0, 1])


def add_nonconvex(model, x, y):
    model.setObjective(x[0] * y)


CARRIES = "dcembed takes linear, indicator and convex quadratic constraints beside the networks"
REJECTED = {
    add_ring: (
        "optimize: the constraint 'ring' is not taken. QuadraticConstraint: quadratic is not positive semidefinite (smallest eigenvalue -2), "
        "so the constraint is not convex. dcembed takes convex constraints; note that 1/2 w'Qw + a'w <= ub is meant."
    ),
    add_circle: f"optimize: the constraint 'circle' is a quadratic equality, which is not convex; {CARRIES}.",
    add_sos: f"optimize: the SOS constraint 1 of type 1 on x[0], x[1] is not accepted; {CARRIES}.",
    add_max: f"optimize: the general constraint 'largest' is of kind MAX; {CARRIES}.",
    add_abs: f"optimize: the general constraint 'size' is of kind ABS; {CARRIES}.",
    add_pwl: f"optimize: the general constraint 'tariff' is of kind PWL; {CARRIES}.",
    add_semi: "optimize: the variable 'batch' is semi-continuous. Use a binary variable and an indicator constraint instead.",
    add_objective: "optimize: the model has 2 objectives; dcembed takes one. Set NumObj = 1 and weigh them yourself.",
    add_pwl_objective: "optimize: the objective is piecewise linear in 'x[1]'; dcembed takes linear and convex quadratic objectives.",
    add_nonconvex: (
        "Program: quadratic is not positive semidefinite (smallest eigenvalue -1), so the objective is not convex. "
        "dcembed takes convex objectives; note that 1/2 w'Qw is minimized."
    ),
}


@pytest.mark.parametrize("add", REJECTED, ids=lambda add: add.__name__)
def test_what_cannot_be_carried_is_rejected_by_name(add, model, tmp_path):
    x, variables = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    add(model, variables, predictor.output[0, 0].item())
    before = written(model, tmp_path)
    with pytest.raises(InputError) as error:
        optimize(model)
    assert str(error.value) == REJECTED[add]
    assert written(model, tmp_path) == before


def test_a_nonlinear_constraint_is_rejected_by_name(model):
    nlfunc = pytest.importorskip("gurobipy.nlfunc", reason="this gurobipy has no nonlinear constraints")
    x, variables = small(model)
    add_predictor_constr(model, NETWORK, x)
    model.addGenConstrNL(model.addVar(lb=-INF), nlfunc.exp(variables[0]), name="growth")
    with pytest.raises(InputError, match="the general constraint 'growth' is of kind NL"):
        optimize(model)


def test_an_input_that_left_the_model_is_named(model, env):
    x, variables = small(model)
    add_predictor_constr(model, NETWORK, x)
    model.remove(variables[1])
    with pytest.raises(InputError, match=r"the input variable .* of a predictor is not in the model"):
        optimize(model)
    with gp.Model(env=env) as other:
        foreign = other.addMVar(2)
        other.update()
        again = add_predictor_constr(other, NETWORK, foreign)
        again._batch.variables[:] = variables
        with pytest.raises(InputError, match="belongs to another model"):
            optimize(other)


BAD_CALLS = {
    "quadratic input": (lambda v: [v[0] * v[0], v[1]], None, "an input is of type QuadExpr"),
    "text": (lambda v: [v[0], "x"], None, "an input is of type str: 'x'"),
    "not finite": (lambda v: [v[0], np.nan], None, r"input \(0, 1\) is not a finite number"),
    "too few": (lambda v: [v[0]], None, r"the inputs have shape \(1,\), but the network has 2 inputs: expected \(2,\) or \(k, 2\)"),
    "ragged": (lambda v: [v, [v[0]]], None, r"the inputs are nested lists of unequal shapes \[\(1,\), \(2,\)\]"),
    "empty": (lambda v: [], None, "the inputs are empty"),
    "outputs": (lambda v: v, lambda v: [v], r"the outputs have shape \(1, 2\), but the network has 1 output: expected \(1,\) or \(k, 1\)"),
    "batches": (lambda v: [v, v], lambda v: [v[0]], "2 evaluations are given by the inputs, but 1 by the outputs"),
    "expression out": (lambda v: v, lambda v: [v[0] + 1], "an output is of type LinExpr"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_inputs_and_outputs_are_told(name, model):
    inputs, outputs, message = BAD_CALLS[name]
    _, variables = small(model)
    model.update()
    with pytest.raises(InputError, match=message):
        add_predictor_constr(model, NETWORK, inputs(variables), outputs and outputs(variables))


def test_an_unknown_argument_is_told(model):
    x, _ = small(model)
    with pytest.raises(OptionError, match="unknown argument 'ouput_type'"):
        add_predictor_constr(model, NETWORK, x, ouput_type="classification")


def test_infinite_bounds_and_binaries_are_read_as_gurobi_means_them(model):
    x = model.addVar(lb=-INF, ub=INF)
    b = model.addVar(vtype=gp.GRB.BINARY)
    model.addRange(x + b, -1, 2)
    model.addConstr(x >= -7)
    program = front.extract(model).program
    assert program.lb[0] == -np.inf
    assert program.ub[0] == np.inf
    assert (program.lb[1], program.ub[1], program.integer[1]) == (0, 1, True)
    assert program.num_rows == 2


def test_an_indicator_on_zero_with_a_constant(model):
    x = model.addVar(name="x")
    b = model.addVar(vtype=gp.GRB.BINARY)
    model.addGenConstrIndicator(b, False, 2 * x + 3 == 5)
    (indicator,) = front.extract(model).program.indicators
    assert (indicator.column, indicator.value, indicator.lb, indicator.ub) == (1, 0, 2.0, 2.0)
    assert indicator.coefficients.toarray().tolist() == [[2.0, 0.0]]
