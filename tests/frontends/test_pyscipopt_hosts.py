"""PySCIPOpt models beside their networks: quadratics, sets and logic, and what is rejected by name."""

from __future__ import annotations

import numpy as np
import pytest

scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")

from tests.frontends.pyscipopt_models import NETWORK, add_cardinality, inputs_of, written  # noqa: E402

import dcembed  # noqa: E402
from dcembed.errors import InputError  # noqa: E402
from dcembed.pyscipopt import add_predictor_constr, optimize  # noqa: E402


@pytest.fixture
def model():
    model = scip.Model()
    model.hideOutput()
    model.setParam("display/verblevel", 0)
    return model


def test_convex_quadratic_constraints_are_kept(model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    # Two quadratics that are no epigraphs: one has no variable for it, the other's is bounded and used elsewhere.
    far = model.addVar("far", lb=0.05)
    model.addCons(v[0] * v[0] + v[1] * v[1] <= 0.5, name="disc")
    model.addCons(far >= v[0] * v[0], name="square")
    model.addCons(far + v[1] <= 1)
    model.setObjective(predictor.output[0, 0] + far)
    result = optimize(model)
    a, b, t = result.value([*v, far])
    assert len(result.program.quadratic_constraints) == 2
    assert a * a + b * b <= 0.5 + 1e-5
    assert t == pytest.approx(max(a * a, 0.05), abs=1e-4)
    assert result.is_feasible


def add_ring(model, v, y):
    model.addCons(v[0] * v[0] + v[1] * v[1] >= 1, name="ring")


def add_circle(model, v, y):
    model.addCons(v[0] * v[0] + v[1] * v[1] == 1, name="circle")


def add_exponential(model, v, y):
    model.addCons(scip.exp(v[0]) <= 2, name="growth")


def add_bounded_product(model, v, y):
    # t >= 0 may bind, so t stands for more than the product.
    far = model.addVar("far", lb=0)
    model.addCons(far >= v[0] * y, name="bilinear")
    model.setObjective(far)


CARRIES = "dcembed takes linear, indicator and convex quadratic constraints beside the networks"
NOT_CONVEX = (
    "is not taken. QuadraticConstraint: quadratic is not positive semidefinite (smallest eigenvalue -2), "
    "so the constraint is not convex. dcembed takes convex constraints; note that 1/2 w'Qw + a'w <= ub is meant. "
    "A product that only the objective needs is taken as t <= product, t >= product or t == product, where t is in the objective, "
    "in no other constraint, and without bounds that restrict it."
)
REJECTED = {
    add_ring: f"optimize: the constraint 'ring' {NOT_CONVEX}",
    add_circle: f"optimize: the constraint 'circle' {NOT_CONVEX}",
    add_exponential: f"optimize: the constraint 'growth' is nonlinear; {CARRIES}.",
    add_cardinality: f"optimize: the constraint 'few' is of kind cardinality; {CARRIES}.",
    add_bounded_product: f"optimize: the constraint 'bilinear' {NOT_CONVEX.replace('-2', '-1')}",
}


@pytest.mark.parametrize("add", REJECTED, ids=lambda add: add.__name__)
def test_what_cannot_be_carried_is_rejected_by_name(add, model, tmp_path):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    add(model, v, predictor.output[0, 0])
    before = written(model, tmp_path, "cip")
    with pytest.raises(InputError) as error:
        optimize(model)
    assert str(error.value) == REJECTED[add]
    assert written(model, tmp_path, "cip") == before


def add_sets_and_logic(model, x, y, order, ub):
    """A host of SOS and logical constraints, and a quadratic objective beside them."""
    w = [model.addVar(f"w{i}", ub=ub) for i in range(4)]
    a, b, both, either = (model.addVar(name, "B") for name in ("a", "b", "both", "either"))
    {1: model.addConsSOS1, 2: model.addConsSOS2}[order](w, weights=[3, 1, 2, 4], name="few")
    model.addConsAnd([a, b], both, name="and")
    model.addConsOr([a, b], either, name="or")
    for i in range(4):
        model.addCons(w[i] <= 1.5 + 0.25 * i)
    model.addCons(scip.quicksum(w) <= 3 - 0.5 * either)
    model.addCons(y <= 2 - w[0] - 0.5 * a)
    gain = model.addVar("gain", lb=None)
    model.addCons(gain <= -0.1 * (x - 0.3) ** 2)
    goods = w[0] + 1.2 * w[1] + 0.1 * w[2] + 1.1 * w[3] + 0.5 * y + gain
    model.setObjective(goods + 0.3 * a + 0.1 * b + 0.4 * both - 0.2 * either, "maximize")
    return w


@pytest.mark.parametrize("ub", [2.0, None])
@pytest.mark.parametrize("order", [1, 2])
def test_sets_and_logical_constraints_give_what_scip_itself_finds(order, ub, model):
    identity = dcembed.build_mlp([np.array([[1.0], [-1.0]]), np.array([[1.0, -1.0]])], [np.zeros(2), np.zeros(1)])
    alone = scip.Model()
    alone.hideOutput()
    for host in (alone, model):
        x, y = host.addVar("x", lb=-2, ub=2), host.addVar("y", lb=None)
        if host is alone:
            host.addCons(y == x)
        else:
            add_predictor_constr(host, identity, [x], [y])
        w = add_sets_and_logic(host, x, y, order, ub)
    alone.optimize()
    result = optimize(model, max_starts=1)
    assert result.objective == pytest.approx(alone.getObjVal(), abs=1e-4)
    assert model.getObjVal() == pytest.approx(result.objective, abs=1e-6)
    assert model.checkSol(model.getBestSol(), original=True)
    assert sum(model.getVal(member) > 1e-6 for member in w) <= order


def test_a_quadratic_may_be_scaled_bounded_from_the_other_side_and_maximized(model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    gain = model.addVar("gain", lb=None)
    model.addCons(2 * gain <= 3 - (v[0] - 0.5) ** 2 - v[1] ** 2 + v[0])
    model.setObjective(4 * gain + predictor.output[0, 0], "maximize")
    result = optimize(model)
    a, b = result.value(v)
    worth = 2 * (3 - (a - 0.5) ** 2 - b**2 + a)
    assert 4 * result.value(gain) == pytest.approx(worth)
    assert result.objective == pytest.approx(worth + NETWORK(np.array([[a, b]]))[0, 0])
    assert model.getObjVal() == pytest.approx(result.objective)
