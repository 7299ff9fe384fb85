"""Solving a gurobipy model with networks: the answer, the parameters that are heard, the starts."""

from __future__ import annotations

import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")

from tests.frontends.gurobipy_models import NETWORK, WRITERS, small, write_milp, written  # noqa: E402
from tests.frontends.problems import PROBLEMS, solved  # noqa: E402

import dcembed  # noqa: E402
from dcembed.errors import OptionError  # noqa: E402
from dcembed.frontends import contract  # noqa: E402
from dcembed.frontends import gurobipy_ as front  # noqa: E402
from dcembed.frontends.gurobipy_accept import UNDEFINED  # noqa: E402
from dcembed.frontends.gurobipy_optimize import find_start  # noqa: E402
from dcembed.frontends.gurobipy_state import STATUS  # noqa: E402
from dcembed.gurobipy import NoSolutionError, add_predictor_constr, optimize  # noqa: E402


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.__name__)
def test_the_three_problems_give_what_their_matrices_give(problem, model, tmp_path):
    predictor = WRITERS[problem](model)
    before, parameters = (
        written(model, tmp_path),
        {name: model.getParamInfo(name)[2] for name in ("SolutionLimit", "NodeLimit", "TimeLimit")},
    )
    result = optimize(model, time_limit=200, max_starts=1)
    reference = solved(problem)
    assert result.program.sense * result.objective == pytest.approx(reference.objective, abs=1e-6)
    # The answer is where a user of gurobipy reads it, also after the model was written and updated.
    assert written(model, tmp_path) == before
    model.update()
    assert model.ObjVal == pytest.approx(result.objective, abs=1e-6)
    assert model.getAttr("X", model.getVars()) == pytest.approx(result.x, abs=1e-6)
    assert predictor.get_error().max() <= 1e-6
    assert model.Status == STATUS[dcembed.Status.LOCALLY_SOLVED]
    assert {name: model.getParamInfo(name)[2] for name in parameters} == parameters


def test_gurobi_itself_prints_nothing(capsys):
    with gp.Env() as env, gp.Model(env=env) as model:
        write_milp(model)
        capsys.readouterr()
        optimize(model, verbose=False)
        optimize(model, verbose=False)
        assert capsys.readouterr().out == ""
        assert (model.Params.OutputFlag, model.Params.LogToConsole) == (1, 1)


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


def test_the_parameters_of_the_model_are_the_defaults_of_the_options(model, monkeypatch):
    x, _ = small(model)
    add_predictor_constr(model, NETWORK, x)
    received = {}

    def record(words, program, embeddings, start, options):
        received.update(vars(options))
        return dcembed.solve(program, embeddings, start, options)

    monkeypatch.setattr(contract, "solve_for", record)
    model.Params.TimeLimit, model.Params.Seed = 17, 4
    optimize(model)
    assert (received["time_limit"], received["seed"], received["threads"], received["verbose"]) == (17, 4, 1, False)
    optimize(model, 5, seed=1)
    assert (received["time_limit"], received["seed"]) == (5, 1)
    with pytest.raises(OptionError, match="unknown option 'tme_limit'"):
        optimize(model, tme_limit=3)


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
    assert [list(start) for start in find_start(front.extract(model))] == [[0.5, -0.25, 0.0]]
    result = optimize(model, max_iterations=0, max_starts=1)
    assert list(x.X) == [0.5, -0.25]
    # The best point is a start as well, so that a run goes on where the last one ended.
    assert optimize(model).objective <= result.objective


def test_a_run_goes_on_from_the_last_one_until_it_is_reset(model):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(predictor.output.sum())
    result = optimize(model, start=[0.5, -0.25, 0.0], max_iterations=0, max_starts=1)
    assert optimize(model, max_iterations=0, max_starts=1).objective == result.objective
    model.addVar(ub=1, obj=1, name="new")
    assert find_start(front.extract(model)) is None
    model.reset()
    assert find_start(front.extract(model)) is None


def test_starts_are_set_back(model):
    """While the point is the solution of the model it has to be its start; then the user's own starts are there again."""
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(predictor.output.sum())
    optimize(model, max_starts=1)
    model.reset()
    model.update()
    assert model.NumStart == 0
    model.NumStart = 2
    model.update()
    for number in range(2):
        model.Params.StartNumber = number
        x[0].Start = 0.25 * number
    model.Params.SolutionLimit, model.Params.Heuristics, model.Params.FeasibilityTol = 7, 0.25, 1e-7
    before = repr(model.Params)
    assert "SolutionLimit=7" in before
    optimize(model, max_starts=1)
    assert repr(model.Params) == before
    x[1].Start = 0.75
    predictor.remove()
    starts = []
    for number in range(model.NumStart):
        model.Params.StartNumber = number
        starts.append(list(x.Start))
    assert starts == [[0.0, UNDEFINED], [0.25, 0.75]]


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
    assert (model.NumStart, model.Params.StartNumber) == (3, 2)
