"""PySCIPOpt models with networks: what is accepted, what is rejected, and what the model holds afterwards."""

from __future__ import annotations

import gc
import io
import re
import subprocess
import sys
import weakref

import numpy as np
import pytest

scip = pytest.importorskip("pyscipopt", reason="pyscipopt is not installed")

from tests.frontends.problems import PROBLEMS, ConvexQP, NeuralMILP, NeuralMIQP, make_network  # noqa: E402

import dcembed  # noqa: E402
from dcembed.errors import InputError, OptionError  # noqa: E402
from dcembed.frontends import contract  # noqa: E402
from dcembed.frontends import pyscipopt_ as front  # noqa: E402
from dcembed.pyscipopt import NoSolutionError, add_predictor_constr, optimize  # noqa: E402

NETWORK = make_network(2, (5,), 0)


@pytest.fixture
def model():
    model = scip.Model()
    model.hideOutput()
    model.setParam("display/verblevel", 0)
    return model


def write_qp(model):
    x = model.addMatrixVar(4, lb=-1, ub=1, name="x")
    y = model.addMatrixVar(2, lb=None, ub=ConvexQP.limit, name="y")
    far = model.addVar("far")
    model.addCons(scip.quicksum(x) == ConvexQP.total, name="total")
    model.addCons(far >= 0.5 * scip.quicksum((x[i] - float(ConvexQP.target[i])) ** 2 for i in range(4)), name="distance")
    model.setObjective(far)
    return add_predictor_constr(model, ConvexQP.network, x.reshape(2, 2), y)


def write_milp(model):
    x = [model.addVar(f"x{i}", ub=1) for i in range(2)]
    z = [model.addVar(f"z{i}", vtype="B") for i in range(2)]
    b = model.addVar("b", vtype="B")
    predictor = add_predictor_constr(model, NeuralMILP.network, x)
    y = predictor.output[0, 0]
    for upper, switch in zip(x, z, strict=True):
        model.addCons(upper <= switch)
    model.addCons(z[0] + z[1] <= 1 + b)
    model.addConsIndicator(y >= NeuralMILP.level, b, name="if_b")
    model.setObjective(y + NeuralMILP.reward * b - scip.quicksum(float(c) * v for c, v in zip(NeuralMILP.cost, z, strict=True)), "maximize")
    return predictor


def write_miqp(model):
    x = [model.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)]
    k = model.addVar("k", vtype="I", ub=3)
    far = model.addVar("far", lb=None)
    predictor = add_predictor_constr(model, NeuralMIQP.network, x)
    model.addCons(predictor.output[0, 0] == NeuralMIQP.slope * k + NeuralMIQP.intercept)
    model.addCons(scip.quicksum((x[i] - float(NeuralMIQP.center[i])) ** 2 for i in range(2)) - far <= 0, name="distance")
    model.setObjective(far + 0.1 * k)
    return predictor


WRITERS = dict(zip(PROBLEMS, (write_qp, write_milp, write_miqp), strict=True))


def written(model, tmp_path, kind="lp"):
    path = tmp_path / f"model.{kind}"
    model.writeProblem(str(path), verbose=False)
    # The header of CIP files counts the solves.
    return path.read_text().partition("OBJECTIVE")[2] if kind == "cip" else path.read_text()


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.__name__)
def test_the_three_problems_give_what_their_matrices_give(problem, model, tmp_path):
    predictor = WRITERS[problem](model)
    before = written(model, tmp_path), written(model, tmp_path, "cip")
    result = optimize(model, time_limit=200)
    reference = dcembed.solve(*problem.matrices(), options={"verbose": False})
    assert result.program.sense * result.objective == pytest.approx(reference.objective, abs=1e-6)
    assert (written(model, tmp_path), written(model, tmp_path, "cip")) == before
    assert predictor.get_error().max() <= 1e-9
    # SCIP has the point as a solution, complete with epigraph variables and the slacks of indicators.
    assert model.getObjVal() == pytest.approx(result.objective, abs=1e-6)
    assert model.checkSol(model.getBestSol(), original=True)
    for variable in model.getVars():
        assert model.getVal(variable) == pytest.approx(result.value(variable), abs=1e-9)


def test_a_quadratic_objective_needs_no_quadratic_constraint(model):
    write_qp(model)
    program = front.extract(model).program
    assert program.problem_class == "QP"
    assert optimize(model).solver == "piqp"


def test_an_indicator_on_zero_is_read(model):
    x = model.addVar("x", ub=10)
    b = model.addVar("b", vtype="B")
    model.addConsIndicator(2 * x <= 5, b, activeone=False, name="off")
    (indicator,) = front.extract(model).program.indicators
    number = [variable.name for variable in front.extract(model).handle.variables].index
    assert (indicator.column, indicator.value, indicator.ub) == (number("b"), 0, 5.0)
    assert indicator.coefficients.toarray()[0, number("x")] == 2.0
    model.addVar("b", vtype="B")
    with pytest.raises(InputError, match="the indicator constraint 'off' cannot be told: 2 variables are called 'b'"):
        front.extract(model)


def test_the_slack_of_an_indicator_that_is_off_is_part_of_the_solution(model):
    x = [model.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)]
    b = model.addVar("b", vtype="B", ub=0)
    predictor = add_predictor_constr(model, NETWORK, x)
    model.addConsIndicator(x[0] + x[1] <= -1.5, b)
    model.addCons(x[0] >= 0.5)
    model.setObjective(predictor.output[0, 0])
    optimize(model)
    assert model.checkSol(model.getBestSol(), original=True)


def inputs_of(model):
    x = model.addMatrixVar(2, lb=-1, ub=1, name="x")
    return x, [x[0], x[1]]


INPUTS = {
    "matrix variable": lambda x, v: x,
    "one row": lambda x, v: x.reshape(1, 2),
    "list": lambda x, v: v,
    "nested list": lambda x, v: [v],
    "array": lambda x, v: np.array(v, dtype=object),
    "expressions": lambda x, v: [1.0 * v[0] + 0.0, v[1] + 0.0],
    "matrix expression": lambda x, v: 1.0 * x + 0.0,
}


@pytest.mark.parametrize("kind", INPUTS)
def test_every_kind_of_input_gives_the_same_answer(kind, model):
    x, variables = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, INPUTS[kind](x, variables))
    model.setObjective(predictor.output[0, 0] + 0.1 * x[0])
    result = optimize(model)
    direct = dcembed.Program([0.1, 0.0, 1.0], lb=[-1, -1, -np.inf], ub=[1, 1, np.inf])
    expected = dcembed.solve(direct, dcembed.Embedding(NETWORK, [0, 1], [2]), options={"verbose": False})
    assert result.objective == pytest.approx(expected.objective, abs=1e-6)
    assert predictor.input_values == pytest.approx(result.value(x).reshape(1, 2))
    assert predictor.output_values == pytest.approx(NETWORK(predictor.input_values), abs=1e-9)


def test_expressions_and_constants_are_predicted_as_they_are(model):
    x, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, [[v[0] - 2 * v[1] + 0.3, 0.5], [v[1], v[0]]])
    model.setObjective(predictor.output[0, 0] + predictor.output[1, 0])
    result = optimize(model)
    a, b = result.value(x)
    assert predictor.input_values == pytest.approx(np.array([[a - 2 * b + 0.3, 0.5], [b, a]]))
    assert result.value(predictor.output) == pytest.approx(NETWORK(predictor.input_values), abs=1e-9)
    assert result.value(v[0] * v[1] + 2) == pytest.approx(a * b + 2)


def test_given_outputs_are_used(model):
    _, v = inputs_of(model)
    y = model.addVar("y", lb=None)
    predictor = add_predictor_constr(model, NETWORK, v, [y])
    before = model.getNVars()
    model.setObjective(y)
    result = optimize(model)
    assert model.getNVars() == before
    assert result.value(y) == pytest.approx(predictor.output_values[0, 0])


def test_created_outputs_carry_the_prefix_and_no_bounds(model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v, unique_naming_prefix="net_")
    output = predictor.output[0, 0]
    assert output.name.startswith("net_out")
    assert output.getLbOriginal() <= -1e20
    assert output.getUbOriginal() >= 1e20
    text = io.StringIO()
    predictor.print_stats(file=text)
    assert "Constraints created: 0\nVariables created: 1, binaries 0\nInput Shape:  (1, 2)" in text.getvalue()


def test_there_are_no_values_without_a_solution(model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    with pytest.raises(NoSolutionError, match="There is no solution"):
        _ = predictor.output_values
    optimize(model)
    assert predictor.output_values.shape == (1, 1)
    model.freeTransform()
    model.addCons(v[0] + v[1] == 5)
    result = optimize(model)
    assert result.status is dcembed.Status.HOST_INFEASIBLE
    assert result.value(v[0]) is None
    with pytest.raises(NoSolutionError):
        predictor.get_error()


def test_a_solution_that_a_changed_model_does_not_allow_is_forgotten(model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    model.setObjective(predictor.output[0, 0])
    before = optimize(model)
    # Unchanged, it is solved again as it is.
    assert optimize(model, max_starts=1).is_feasible
    model.freeTransform()
    model.addCons(v[0] >= 0.1 if before.value(v[0]) < 0 else v[0] <= -0.1)
    result = optimize(model)
    assert model.getVal(v[0]) == pytest.approx(result.value(v[0]))
    assert result.value(v[0]) * before.value(v[0]) < 0


CHANGES = {
    "constraint": lambda model, v: model.addCons(v[0] + v[1] <= 0.5),
    "bound": lambda model, v: model.chgVarLb(v[0], 0.5),
    "variable": lambda model, v: model.addVar("z"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_scip_would_lose_is_refused(change, model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    model.setObjective(predictor.output[0, 0])
    optimize(model, max_starts=1)
    CHANGES[change](model, v)
    with pytest.raises(InputError, match=r"is not as dcembed left it.*Call scip.freeTransform\(\) after a solve"):
        optimize(model)


def test_bounds_that_cross_are_named(model):
    _, v = inputs_of(model)
    add_predictor_constr(model, NETWORK, v)
    model.chgVarLb(v[0], 30)
    with pytest.raises(InputError, match=rf"^Program: the bounds of column '{re.escape(v[0].name)}' cross: lb = 30 > ub = "):
        optimize(model)


def test_the_value_of_what_is_no_polynomial_is_refused(model):
    _, v = inputs_of(model)
    add_predictor_constr(model, NETWORK, v)
    result = optimize(model)
    assert result.value(v[0] * v[0] + 1) == pytest.approx(result.value(v[0]) ** 2 + 1)
    with pytest.raises(InputError, match=r"is no polynomial"):
        result.value(scip.exp(v[0]))


def test_a_start_is_where_the_run_begins(model):
    _, v = inputs_of(model)
    add_predictor_constr(model, NETWORK, v)
    start = model.createSol()
    model.setSolVal(start, v[0], 0.5)
    model.setSolVal(start, v[1], -0.25)
    result = optimize(model, start=start, max_iterations=0)
    assert result.value(v) == pytest.approx([0.5, -0.25])
    with pytest.raises(InputError, match=r"start is a solution from scip.createSol\(\), received list"):
        optimize(model, start=[0.5, -0.25])


def test_the_parameters_of_scip_are_the_defaults_of_the_options(model, monkeypatch):
    _, v = inputs_of(model)
    add_predictor_constr(model, NETWORK, v)
    received = {}

    def record(program, embeddings, start, options):
        received.update(vars(options))
        return dcembed.solve(program, embeddings, start, options)

    monkeypatch.setattr(contract, "solve", record)
    optimize(model)
    assert (received["time_limit"], received["verbose"]) == (np.inf, False)
    model.setParam("limits/time", 17)
    optimize(model)
    assert received["time_limit"] == 17
    model.optimize()
    assert 16 < received["time_limit"] <= 17
    optimize(model, 5)
    assert received["time_limit"] == 5
    with pytest.raises(OptionError, match="unknown option 'tme_limit'"):
        optimize(model, tme_limit=3)


def test_a_model_that_nobody_uses_is_freed():
    model = scip.Model()
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None
    assert predictor.network is NETWORK


def test_without_pyscipopt_the_command_that_installs_it_is_told():
    code = "import sys; sys.modules['pyscipopt'] = None; import dcembed.pyscipopt"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert run.returncode == 1
    assert (
        'MissingPackageError: dcembed.pyscipopt needs the package pyscipopt, which is not installed. Run: pip install "dcembed[scip]"'
        in run.stderr
    )


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


# What a program cannot hold, each with the message that names it.


def add_ring(model, v, y):
    model.addCons(v[0] * v[0] + v[1] * v[1] >= 1, name="ring")


def add_circle(model, v, y):
    model.addCons(v[0] * v[0] + v[1] * v[1] == 1, name="circle")


def add_exponential(model, v, y):
    model.addCons(scip.exp(v[0]) <= 2, name="growth")


def add_cardinality(model, v, y):
    model.addConsCardinality(v, 1, name="few")


def add_bounded_product(model, v, y):
    # t >= 0 may bind, so t stands for more than the product.
    far = model.addVar("far", lb=0)
    model.addCons(far >= v[0] * y, name="bilinear")
    model.setObjective(far)


CARRIES = "dcembed takes linear, indicator and convex quadratic constraints beside the networks"
NOT_CONVEX = (
    "is not taken. QuadraticConstraint: quadratic is not positive semidefinite (smallest eigenvalue -2), "
    "so the constraint is not convex. dcembed takes convex constraints; note that 1/2 w'Qw + a'w <= ub is meant."
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


def test_a_model_that_scip_has_solved_must_be_freed_first(model):
    _, v = inputs_of(model)
    model.setObjective(v[0])
    model.optimize()
    model.freeTransform()
    add_predictor_constr(model, NETWORK, v)
    assert optimize(model).is_feasible


def test_a_point_is_kept_where_scip_has_given_up(model):
    _, v = inputs_of(model)
    predictor = add_predictor_constr(model, NETWORK, v)
    extraction = front.extract(model)
    result = dcembed.solve(extraction.program, extraction.embeddings, options={"verbose": False, "max_starts": 1})
    model.addCons(v[0] + v[1] >= 3, name="hopeless")
    model.optimize()
    assert model.getStageName() == "SOLVED"
    front.restore(extraction, result)
    assert model.getVal(v[0]) == pytest.approx(result.x[[w.ptr() for w in extraction.handle.variables].index(v[0].ptr())])
    assert predictor.get_error().max() <= 1e-9


def test_an_error_does_not_keep_the_model_alive():
    model = scip.Model()
    _, v = inputs_of(model)
    add_predictor_constr(model, NETWORK, v)
    add_cardinality(model, v, None)
    with pytest.raises(InputError):
        optimize(model, verbose=False)
    reference = weakref.ref(model)
    del model, v
    gc.collect()
    assert reference() is None


def test_a_model_without_networks_is_for_scip(model):
    with pytest.raises(InputError, match="no network is embedded in the model"):
        optimize(model)


BAD_CALLS = {
    "quadratic input": (lambda v: [v[0] * v[0], v[1]], None, "an input is of type Expr and not linear"),
    "too few": (lambda v: [v[0]], None, r"the inputs have shape \(1,\), but the network has 2 inputs"),
    "expression out": (lambda v: v, lambda v: [v[0] + 1], "an output is of type Expr"),
    "batches": (lambda v: [v, v], lambda v: [v[0]], "2 evaluations are given by the inputs, but 1 by the outputs"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_inputs_and_outputs_are_told(name, model):
    inputs, outputs, message = BAD_CALLS[name]
    _, v = inputs_of(model)
    with pytest.raises(InputError, match=message):
        add_predictor_constr(model, NETWORK, inputs(v), outputs and outputs(v))


def test_an_unknown_argument_is_told(model):
    _, v = inputs_of(model)
    with pytest.raises(OptionError, match="unknown argument 'formulatoin'"):
        add_predictor_constr(model, NETWORK, v, formulatoin="sos")


def test_a_variable_of_another_model_is_named(model):
    _, v = inputs_of(model)
    other = scip.Model()
    foreign = other.addVar("foreign")
    add_predictor_constr(model, NETWORK, [v[0], foreign])
    with pytest.raises(InputError, match="the variable 'foreign', an input of a predictor, is not in the model"):
        optimize(model)
