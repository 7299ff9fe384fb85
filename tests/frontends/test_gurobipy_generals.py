"""General constraints, SOS, semi-continuous variables and piecewise linear objectives: the same optimum as Gurobi's own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

gp = pytest.importorskip("gurobipy", reason="gurobipy is not installed")

from gurobipy import GRB  # noqa: E402
from tests.frontends.gurobipy_models import INF, written  # noqa: E402

import dcembed  # noqa: E402
from dcembed.errors import InputError, MissingBoundError  # noqa: E402
from dcembed.frontends import gurobipy_ as front  # noqa: E402
from dcembed.gurobipy import add_predictor_constr, optimize  # noqa: E402

# The prediction is the input itself, so that Gurobi can solve the model with y == x in place of the network.
IDENTITY = dcembed.build_mlp([np.array([[1.0], [-1.0]]), np.array([[1.0, -1.0]])], [np.zeros(2), np.zeros(1)])
STEPS = [-2, -1, -1, 0, 1, 1, 1, 3], [4, 1, 2, 0, 1, 0.5, -1, -2]


def use_abs(model, x, y):
    near, far, b = model.addVar(), model.addVar(ub=2.5), model.addVar(vtype=GRB.BINARY)
    model.addConstr(near == gp.abs_(y), name="near")
    model.addConstr(far == gp.abs_(x), name="far")
    model.addConstr(near >= 1.5 * b)
    model.setObjective(near - 2 * b + 0.1 * y - 0.3 * far)


def use_abs_that_wants_to_be_small(model, x, y):
    away, off = model.addVar(), model.addVar(lb=-INF)
    model.addConstr(off == y - 1.25)
    model.addConstr(away == gp.abs_(off))
    model.setObjective(away + 0.5 * x)


def use_extremes(model, x, y):
    z, top, low = model.addVar(lb=-1, ub=2), model.addVar(lb=-INF), model.addVar(lb=-INF)
    model.addConstr(top == gp.max_(x, z, constant=0.5))
    model.addConstr(low == gp.min_(y, z))
    model.addConstr(x + z <= 2.5)
    model.setObjective(2 * low - top + 0.1 * z, GRB.MAXIMIZE)


def use_a_maximum_that_wants_to_be_large(model, x, y):
    z, top = model.addVar(lb=-1, ub=2), model.addVar(lb=-INF)
    model.addGenConstrMax(top, [x, y, z], -5.0)
    model.addConstr(x + 2 * z <= 0.5)
    model.setObjective(top + 0.01 * z, GRB.MAXIMIZE)


def use_logic(model, x, y):
    # To Gurobi what is in a logical constraint is binary, also where its type is another one.
    a, b, c = model.addVar(vtype=GRB.BINARY), model.addVar(vtype=GRB.INTEGER, ub=4), model.addVar(ub=3)
    both, any_ = model.addVar(vtype=GRB.BINARY), model.addVar()
    model.addConstr(both == gp.and_(a, b))
    model.addConstr(any_ == gp.or_(b, c))
    model.addConstr(x >= 2 * a - 1)
    model.addConstr(y <= 2 - 2.5 * any_)
    model.addConstr((both == 1) >> (y >= 0.25))
    model.setObjective(y + a + 0.9 * any_ + 0.7 * both - 0.2 * c, GRB.MAXIMIZE)


def use_norm(order):
    def use(model, x, y):
        z, size = model.addVar(lb=-2, ub=2), model.addVar()
        model.addConstr(size == gp.norm([y, z], order), name="size")
        model.addConstr(x + z >= 1.5)
        model.addConstr(size <= 1.75)
        model.setObjective(size - 0.2 * x)

    use.__name__ = f"use_norm_{order}"
    return use


def use_norm_that_wants_to_be_large(order):
    def use(model, x, y):
        z, size = model.addVar(lb=-2, ub=2), model.addVar()
        model.addConstr(size == gp.norm([y, z], order))
        model.addConstr(x + 2 * z <= 1.5)
        model.setObjective(size + 0.2 * x, GRB.MAXIMIZE)

    use.__name__ = f"use_large_norm_{order}"
    return use


def use_steps(model, x, y):
    price = model.addVar(lb=-INF)
    model.addGenConstrPWL(y, price, *STEPS, name="tariff")
    model.addConstr(price >= -1.5)
    model.setObjective(price + 0.8 * x)


def use_one_point_between_jumps(model, x, y):
    price = model.addVar(lb=-INF)
    model.addGenConstrPWL(y, price, *STEPS)
    model.addConstr(price == 0.5)
    model.addConstr(x >= 0.9)
    model.setObjective(x)


def use_objective(points, sense):
    def use(model, x, y):
        model.setObjective(0.1 * x)
        model.ModelSense = sense
        model.setPWLObj(y, *points)
        model.addConstr(x + y >= -3)

    use.__name__ = f"use_objective_{'minimized' if sense > 0 else 'maximized'}_{len(points[0])}"
    return use


VALLEY = [-2, 0, 1, 2], [2, -0.5, 0, 3]


def use_sos(order, ub):
    def use(model, x, y):
        w = model.addVars(4, ub=ub)
        model.addSOS(order, [w[0], w[1], w[2], w[3]], [3, 1, 2, 4])
        model.addConstr(w.sum() <= 3)
        model.addConstrs(w[i] <= 1.5 + 0.25 * i for i in range(4))
        model.addConstr(y <= 2 - w[0])
        model.setObjective(w[0] + 1.2 * w[1] + 0.1 * w[2] + 1.1 * w[3] + 0.5 * y, GRB.MAXIMIZE)

    use.__name__ = f"use_sos{order}_{ub:g}"
    return use


def use_semi(kind, lb, ub):
    def use(model, x, y):
        p, q = (model.addVar(lb=lb, ub=ub, vtype=kind) for _ in range(2))
        sign = 1 if lb > 0 else -1
        model.addConstr(sign * p >= 0.3 + 0.1 * y)
        model.addConstr(sign * (p + q) <= 8)
        model.setObjective(sign * (p + 2 * q) - 0.2 * x)

    use.__name__ = f"use_{kind}_{lb:g}_{ub:g}"
    return use


HOSTS = [
    use_abs,
    use_abs_that_wants_to_be_small,
    use_extremes,
    use_a_maximum_that_wants_to_be_large,
    use_logic,
    *(use_norm(order) for order in (1.0, 2.0, INF)),
    *(use_norm_that_wants_to_be_large(order) for order in (1.0, INF)),
    use_steps,
    use_one_point_between_jumps,
    *(use_objective(points, sense) for points in (STEPS, VALLEY) for sense in (GRB.MINIMIZE, GRB.MAXIMIZE)),
    *(use_sos(order, ub) for order in (1, 2) for ub in (2.0, INF)),
    *(use_semi(kind, lb, ub) for kind in "SN" for lb, ub in ((1.25, 3.0), (1.25, INF), (-4.0, -1.25))),
]


def solved_by_gurobi(env, use):
    with gp.Model(env=env) as model:
        x, y = model.addVar(lb=-2, ub=2, name="x"), model.addVar(lb=-INF, name="y")
        model.addConstr(y == x)
        use(model, x, y)
        model.optimize()
        assert model.Status == GRB.OPTIMAL
        return model.ObjVal


def embedded(model, use):
    x, y = model.addVar(lb=-2, ub=2, name="x"), model.addVar(lb=-INF, name="y")
    model.update()
    predictor = add_predictor_constr(model, IDENTITY, x, y)
    use(model, x, y)
    model.update()
    return predictor


@pytest.mark.parametrize("use", HOSTS, ids=lambda use: use.__name__)
def test_the_optimum_is_gurobis_and_gurobi_holds_the_point(use, env, model, tmp_path):
    best = solved_by_gurobi(env, use)
    predictor = embedded(model, use)
    before = written(model, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = optimize(model, max_starts=1, time_limit=200.0)
    assert result.is_feasible
    assert model.ObjVal == pytest.approx(best, abs=1e-4)
    assert result.objective == pytest.approx(model.ObjVal, abs=1e-6)
    assert result.x[: model.NumVars] == pytest.approx(np.array(model.getAttr("X", model.getVars())), abs=1e-9)
    assert predictor.get_error().max() <= 1e-6
    assert written(model, tmp_path) == before


FUNCTIONS = [
    ("Exp",),
    ("ExpA", 2.0),
    ("Log",),
    ("LogA", 2.0),
    ("Logistic",),
    ("Sin",),
    ("Cos",),
    ("Tan",),
    ("Pow", 3.0),
    ("Poly", [1.0, 0.0, 2.0]),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function[0])
def test_a_function_that_is_not_linear_by_cases_is_refused_by_name(function, model):
    name, *arguments = function
    embedded(model, lambda model, x, y: getattr(model, f"addGenConstr{name}")(x, y, *arguments, name="bent"))
    with pytest.raises(InputError, match=rf"^optimize: the general constraint 'bent' is of kind {name.upper()}; dcembed takes "):
        optimize(model)


def add_norm(order, use):
    def add(model, x, y):
        size = model.addVar(name="size")
        model.addGenConstrNorm(size, [x, y], order, name="far")
        use(model, x, size)

    return add


LARGE = {
    "the objective wants it large": lambda model, x, size: model.setObjective(size, GRB.MAXIMIZE),
    "its lower bound is above 0": lambda model, x, size: size.setAttr("LB", 1.0),
    "row 'away' bounds it from below": lambda model, x, size: model.addConstr(size + x >= 1, name="away"),
    "indicator 'if' bounds it from below": lambda model, x, size: model.addGenConstrIndicator(
        model.addVar(vtype=GRB.BINARY), 1, size >= 1, name="if"
    ),
    "something quadratic or another norm depends on it": lambda model, x, size: model.setObjective(size * size),
    "a network depends on it or predicts it": lambda model, x, size: add_predictor_constr(model, IDENTITY, size),
    "it is an integer variable": lambda model, x, size: size.setAttr("VType", GRB.INTEGER),
}


@pytest.mark.parametrize("reason", LARGE)
def test_a_2_norm_is_refused_where_it_is_not_only_wanted_small(reason, model):
    embedded(model, add_norm(2.0, LARGE[reason]))
    with pytest.raises(InputError) as error:
        optimize(model)
    assert str(error.value).startswith("optimize: the general constraint 'far' says that column 'size' is a 2-norm, which is not convex. ")
    assert f" only wants it small, but {reason}. " in str(error.value)


def test_a_0_norm_is_refused_by_name(model):
    embedded(model, add_norm(0.0, lambda model, x, size: None))
    with pytest.raises(InputError, match=r"^optimize: the general constraint 'far' is a norm of order 0; dcembed takes 1, 2 and inf"):
        optimize(model)


def test_a_bound_that_a_prediction_needs_is_asked_for_by_name(model):
    def use(model, x, y):
        top, free = model.addVar(lb=-INF, name="top"), model.addVar(lb=-INF, name="free")
        model.addGenConstrMax(top, [y, free])
        model.setObjective(top)

    embedded(model, use)
    with pytest.raises(MissingBoundError, match=r"^Column '(top|free)' has no finite (upper|lower) bound, but it is behind an indicator"):
        optimize(model)


def test_starts_and_callbacks_are_over_the_variables_of_the_model(model):
    embedded(model, use_steps)
    seen = []

    def callback(model, where):
        if where == GRB.Callback.MIPSOL:
            seen.append((model.cbGet(GRB.Callback.MIPSOL_SOL), model.cbGetSolution(model.getVars())))

    start = [-1.0, 0.0, 1.0]
    given = optimize(model, start=start, max_iterations=0, max_starts=1)
    assert given.objective == pytest.approx(0.2)
    model.reset()
    model.setAttr("Start", model.getVars(), start)
    assert optimize(model, max_iterations=0, max_starts=1).objective == pytest.approx(0.2)
    best = optimize(model, callback=callback, max_starts=1).objective
    assert seen
    assert all(len(point) == model.NumVars and point == values for point, values in seen)
    # The next run goes on from there.
    assert optimize(model, max_iterations=0, max_starts=1).objective == pytest.approx(best)


def test_what_is_added_has_the_names_of_the_users_constraints(model):
    embedded(model, use_abs)
    program = front.extract(model).program
    assert list(program.column_names[: model.NumVars]) == model.getAttr("VarName", model.getVars())
    assert program.column_names[model.NumVars :] == ("near case 0", "far case 0")
    assert {item.name for item in program.indicators} == {"near", "far"}
    assert set(program.row_names) >= {"near", "far"}
