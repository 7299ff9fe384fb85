"""`var.X` and the attributes of a model after a run, held by Gurobi or, where it cannot, by dcembed."""

from __future__ import annotations

import numpy as np
import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")

from tests.frontends.gurobipy_models import INF, NETWORK, small  # noqa: E402

import dcembed  # noqa: E402
from dcembed.frontends import gurobipy_ as front  # noqa: E402
from dcembed.frontends.gurobipy_state import STATUS  # noqa: E402
from dcembed.gurobipy import NoSolutionError, add_predictor_constr, optimize  # noqa: E402


def write_small(model):
    x, _ = small(model)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.setObjective(predictor.output.sum() + 0.5 * x[0])
    return x, predictor


@pytest.fixture(params=["Gurobi", "dcembed"])
def solved(request, model, monkeypatch):
    """A model after a run, its point held by either."""
    x, predictor = write_small(model)
    if request.param == "dcembed":
        monkeypatch.setattr(front, "accept", lambda *_: (None, "to see what then"))
        with pytest.warns(UserWarning, match=r"Gurobi does not take the point \(to see what then\)"):
            result = model.optimize(max_starts=1)
    else:
        result = model.optimize(max_starts=1)
    return model, x, predictor, result


def test_the_attributes_of_a_solved_model(solved):
    model, _, _, result = solved
    assert model.Runtime == model.runtime == model.getAttr("Runtime") == result.seconds > 0
    assert model.Status == STATUS[dcembed.Status.LOCALLY_SOLVED]
    assert model.SolCount == 1
    assert model.ObjVal == pytest.approx(result.objective)
    assert (model.ObjBound, model.MIPGap) == (-np.inf, np.inf)


def test_values_are_read_in_every_way_of_gurobipy(solved):
    model, x, predictor, result = solved
    first, second, output = model.getVars()
    a, b, y = result.x
    assert (first.X, first.x, first.getAttr("X"), model.getVarByName("x[0]").X) == (a, a, a, a)
    assert list(x.X) == list(x.getAttr("X")) == [a, b]
    assert (x[1].X, x[1:].X.tolist(), x.reshape(2, 1).X.tolist()) == (b, [b], [[a], [b]])
    assert predictor.output.X.tolist() == predictor.output_values.tolist() == [[y]]
    assert model.getAttr("X") == model.X == model.getAttr("X", model.getVars()) == [a, b, y]
    assert dict(model.getAttr("X", {"a": first, "y": output})) == {"a": a, "y": y}
    assert (2 * first + second + 1).getValue() == pytest.approx(2 * a + b + 1)
    assert (first * first).getValue() == pytest.approx(a * a)
    assert (x @ x).getValue() == pytest.approx(a * a + b * b)
    assert (2 * x).getValue().tolist() == [2 * a, 2 * b]
    assert model.getObjective().getValue() == pytest.approx(result.objective)
    assert predictor.get_error().max() <= 1e-6
    assert (first.VarName, list(x.LB)) == ("x[0]", [-1, -1])


def test_a_solution_file(solved, tmp_path):
    model, _, _, result = solved
    path = tmp_path / "point.sol"
    model.write(str(path))
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    assert [name for name, _ in lines] == model.getAttr("VarName", model.getVars())
    assert [float(value) for _, value in lines] == pytest.approx(list(result.x))


def test_values_are_gone_as_soon_as_the_model_changes(solved):
    model, x, predictor, _ = solved
    x[0].UB = 0.5
    # Until the update, Gurobi keeps what it has.
    assert x.X.shape == (2,)
    model.update()
    assert (model.Status, model.SolCount) == (gp.GRB.LOADED, 0)
    for read in (lambda: x.X, lambda: model.ObjVal, lambda: x[0].item().X, lambda: model.getAttr("X", model.getVars())):
        with pytest.raises((AttributeError, gp.GurobiError)):
            read()
    with pytest.raises(NoSolutionError):
        predictor.get_error()
    predictor.remove()
    assert {type(variable) for variable in model.getVars()} == {gp.Var}
    model.optimize()
    assert model.Status == gp.GRB.OPTIMAL


def test_a_reset_forgets_the_point(solved):
    model, x, _, _ = solved
    model.reset()
    assert (model.Status, model.SolCount) == (gp.GRB.LOADED, 0)
    with pytest.raises(gp.GurobiError):
        _ = x.X


def test_other_models_are_read_as_ever(solved, env):
    with gp.Model(env=env) as other:
        x = other.addMVar(2, lb=1)
        other.setObjective(x.sum())
        other.optimize()
        assert (x.X.tolist(), x[0].X, x[0].item().X) == ([1, 1], 1, 1)


def test_what_a_licence_does_not_carry_is_read_all_the_same(model, recwarn):
    x, predictor = write_small(model)
    rest = model.addMVar(2100, ub=1)
    result = optimize(model, max_starts=1)
    if gp.Model.getAttr(model, "SolCount"):
        pytest.skip("this licence of Gurobi carries any size")
    (warning,) = recwarn
    assert "Gurobi does not take the point (Model too large" in str(warning.message)
    assert warning.filename == __file__
    assert predictor.output_values == pytest.approx(NETWORK(x.X.reshape(1, 2)), abs=1e-9)
    assert list(rest.X) == list(result.x[3:])
    assert model.ObjVal == result.objective
    assert model.NumStart == 0


def test_every_status_has_its_word_in_gurobi():
    assert set(STATUS) == set(dcembed.Status)


@pytest.mark.parametrize(("options", "status"), [({"time_limit": 0}, "TIME_LIMIT"), ({"callback": lambda _: True}, "INTERRUPTED")])
def test_the_status_says_why_the_run_ended(options, status, model):
    write_small(model)
    result = optimize(model, **options)
    assert result.status.name == status
    assert model.Status == getattr(gp.GRB, status)
    assert model.Runtime == result.seconds


def test_without_a_feasible_point_there_is_a_status_and_nothing_else(model):
    x, predictor = write_small(model)
    model.addConstr(predictor.output[0, 0] >= 1e5)
    model.optimize(max_starts=1)
    assert (model.Status, model.SolCount) == (STATUS[dcembed.Status.LOCALLY_INFEASIBLE], 0)
    with pytest.raises((AttributeError, gp.GurobiError)):
        _ = x.X


@pytest.mark.parametrize("seed", range(12))
def test_points_near_simple_fractions_are_not_lost(seed, env, recwarn):
    """Gurobi rounds 0.2499997 to 1/4, which a steep network does not forgive: it predicts again from what Gurobi holds."""
    rng = np.random.default_rng(seed)
    network = dcembed.build_mlp([30 * rng.standard_normal((8, 4)), rng.standard_normal((1, 8))], [rng.standard_normal(8), None])
    target = rng.integers(-3, 4, 4) / 4 + 10.0 ** rng.uniform(-7.5, -6.2, 4) * rng.choice([-1, 1], 4)
    with gp.Model(env=env) as model:
        x, y = model.addMVar(4, lb=-1, ub=1), model.addMVar(1, lb=-INF)
        predictor = add_predictor_constr(model, network, x, y)
        if seed % 3 == 0:
            model.addConstr(y <= network(target.reshape(1, 4))[0])
        model.setObjective((x - target) @ (x - target))
        result = optimize(model, start=[*target, 0.0], max_starts=1)
        assert result.is_feasible
        held = np.array(model.getAttr("X", model.getVars()))
        assert held == pytest.approx(result.x, abs=0)
        assert dcembed.verify(result.program, result.embeddings, held).violation == result.violation <= result.feasibility_tol
        assert predictor.get_error().max() <= 1e-6
        assert model.ObjVal == pytest.approx(result.objective, abs=1e-12)
