"""What may be the inputs and outputs of a network in a gurobipy model."""

from __future__ import annotations

import numpy as np
import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")

from tests.frontends.gurobipy_models import INF, NETWORK, small  # noqa: E402
from tests.frontends.problems import make_network  # noqa: E402

import dcembed  # noqa: E402
from dcembed.gurobipy import add_predictor_constr, optimize  # noqa: E402

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
