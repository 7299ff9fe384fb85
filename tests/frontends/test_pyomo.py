"""Pyomo models: the same answers as the matrix form, the model as it was, and errors that name what is wrong."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from tests.frontends.problems import ConvexQP, NeuralMILP, NeuralMIQP, make_network

import dcembed
from dcembed.errors import InputError, MissingBoundError, OptionError
from dcembed.result import Status

pyo = pytest.importorskip("pyomo.environ")
from pyomo.gdp import Disjunct, Disjunction  # noqa: E402
from pyomo.opt import SolverStatus, TerminationCondition  # noqa: E402

import dcembed.pyomo  # noqa: E402
from dcembed.frontends.pyomo_names import component_names  # noqa: E402
from dcembed.frontends.pyomo_solver import termination  # noqa: E402

NETWORK = make_network(2, (4,), 0)


def build_qp():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4), bounds=(-1, 1))
    m.y = pyo.Var(range(2), bounds=(None, ConvexQP.limit))
    m.total = pyo.Constraint(expr=sum(m.x.values()) == ConvexQP.total)
    m.distance = pyo.Objective(expr=0.5 * sum((m.x[i] - ConvexQP.target[i]) ** 2 for i in range(4)))
    m.nn = pyo.Block()
    dcembed.pyomo.embed(m.nn, ConvexQP.network, inputs=[[m.x[0], m.x[1]], [m.x[2], m.x[3]]], outputs=[[m.y[0]], [m.y[1]]])
    return m


def build_milp(gdp: bool = True):
    p = NeuralMILP
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 1))
    m.z = pyo.Var(range(2), domain=pyo.Binary)
    m.nn = pyo.Block()
    y = dcembed.pyomo.embed(m.nn, p.network, inputs=[m.x[0], m.x[1]]).output[0][0]
    if gdp:
        m.on, m.off = Disjunct(), Disjunct()
        m.on.level = pyo.Constraint(expr=y >= p.level)
        m.choice = Disjunction(expr=[m.on, m.off])
        b = m.on.binary_indicator_var
    else:
        m.b = b = pyo.Var(domain=pyo.Binary)
        m.level = pyo.Constraint(expr=y - p.level >= -20 * (1 - b))
    m.open = pyo.Constraint(range(2), rule=lambda m, i: m.x[i] <= m.z[i])
    m.few = pyo.Constraint(expr=m.z[0] + m.z[1] <= 1 + b)
    m.profit = pyo.Objective(expr=y + p.reward * b - sum(p.cost[i] * m.z[i] for i in range(2)), sense=pyo.maximize)
    return m


def build_miqp():
    p = NeuralMIQP
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-1, 1))
    m.k = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 3))
    m.nn = pyo.Block()
    dcembed.pyomo.embed(m.nn, p.network, inputs=m.x)
    m.tie = pyo.Constraint(expr=m.nn.outputs[0] == p.slope * m.k + p.intercept)
    m.o = pyo.Objective(expr=sum((m.x[i] - p.center[i]) ** 2 for i in range(2)) + 0.1 * m.k)
    return m


def written(model, path) -> str:
    model.write(str(path), io_options={"symbolic_solver_labels": True})
    return path.read_text()


def solve(model, **options):
    return pyo.SolverFactory("dcembed").solve(model, **options)


@pytest.mark.parametrize(
    ("build", "problem"),
    [(build_qp, ConvexQP), (lambda: build_milp(gdp=False), NeuralMILP), (build_milp, NeuralMILP), (build_miqp, NeuralMIQP)],
    ids=["QP", "MILP big-M", "MILP disjunct", "MIQP"],
)
def test_the_same_verified_objective_as_the_matrix_form(build, problem):
    expected = dcembed.solve(*problem.matrices(), options={"verbose": False})
    model = build()
    solver = pyo.SolverFactory("dcembed")
    results = solver.solve(model)
    pyo.assert_optimal_termination(results)
    objective = next(model.component_data_objects(pyo.Objective))
    assert solver.result.is_feasible
    assert abs(objective.sense * pyo.value(objective) - expected.objective) < 1e-6
    assert abs(solver.result.objective - pyo.value(objective)) < 1e-6


@pytest.mark.parametrize("build", [build_qp, lambda: build_milp(gdp=False), build_miqp], ids=["QP", "MILP", "MIQP"])
def test_the_model_is_what_it_was(build, tmp_path):
    model = build()
    before = written(model, tmp_path / "before.lp")
    solve(model)
    assert written(model, tmp_path / "after.lp") == before


def test_a_model_with_disjuncts_is_what_it_was(tmp_path):
    model = build_milp()
    clone = model.clone()
    solve(model)
    texts = []
    for number, each in enumerate((model, clone)):
        pyo.TransformationFactory("gdp.bigm").apply_to(each, bigM=100)
        texts.append(written(each, tmp_path / f"{number}.lp"))
    assert texts[0] == texts[1]


def test_gdp_transformed_by_the_user_gives_the_same():
    model = build_milp()
    pyo.TransformationFactory("gdp.bigm").apply_to(model, bigM=100)
    solve(model)
    expected = dcembed.solve(*NeuralMILP.matrices(), options={"verbose": False})
    assert abs(pyo.value(model.profit) + expected.objective) < 1e-6


@pytest.mark.parametrize("value", [True, False])
def test_indicators_that_are_fixed(value):
    model = build_milp()
    model.on.indicator_var.fix(value)
    solve(model)
    program, embedding = NeuralMILP.matrices()
    lb, ub = program.lb.copy(), program.ub.copy()
    lb[4] = ub[4] = float(value)
    fixed = dcembed.Program(
        program.cost, rows=program.rows, row_ub=program.row_ub, lb=lb, ub=ub, integer=program.integer, indicators=program.indicators
    )
    expected = dcembed.solve(fixed, embedding, options={"verbose": False})
    assert abs(pyo.value(model.profit) + expected.objective) < 1e-6


def random_model(rng):
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(6), bounds=lambda m, i: (-2 - i, None if i % 2 else 3.0 + i))
    m.k = pyo.Var(range(2), domain=pyo.Integers, bounds=(-5, 5))
    m.p = pyo.Param(range(3), initialize=lambda m, i: float(rng.normal()), mutable=True)
    m.x[4].fix(0.75)
    m.part = pyo.Block(range(2))
    for i in range(2):
        m.part[i].y = pyo.Var()
        m.part[i].inner = pyo.Block()
        m.part[i].inner.c = pyo.Constraint(expr=pyo.inequality(-1.5, m.part[i].y + m.p[0] * m.x[i] + m.x[4], 4.0))
    m.e = pyo.Expression(expr=m.x[0] - 2 * m.x[1] + m.p[1])
    m.c = pyo.Constraint(range(4), rule=lambda m, i: m.e + m.x[i] * m.p[2] - m.k[i % 2] <= float(rng.normal()))
    m.eq = pyo.Constraint(expr=m.e * 3 + m.x[5] == m.p[0] + m.x[2])
    m.off = pyo.Constraint(expr=pyo.sin(m.x[0]) <= 0)
    m.off.deactivate()
    m.o = pyo.Objective(expr=(m.e + m.x[4]) ** 2 + m.x[2] ** 2 + m.p[1] * m.k[0] + m.x[4] * m.x[5] + 7)
    return m


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
@pytest.mark.parametrize("seed", range(3))
def test_the_matrices_are_the_expressions(seed, sense):
    rng = np.random.default_rng(seed)
    m = random_model(rng)
    m.o.sense = sense
    if sense == pyo.maximize:
        m.o.expr = -m.o.expr
    extraction = dcembed.pyomo.extract(m)
    program, variables = extraction.program, extraction.handle.variables
    assert "x[4]" not in [v.name for v in variables]
    assert program.column_names == tuple(v.name for v in variables)
    assert program.num_rows == 7
    assert program.maximize == (sense == pyo.maximize)
    w = rng.normal(size=program.num_columns)
    for variable, value in zip(variables, w, strict=True):
        variable.set_value(value, skip_validation=True)
    assert program.objective(w) == pytest.approx(pyo.value(m.o))
    constraints = list(m.component_data_objects(pyo.Constraint, active=True))
    assert program.row_names == tuple(c.name for c in constraints)
    slack = [(pyo.value(c.lower), pyo.value(c.body), pyo.value(c.upper)) for c in constraints]
    activity = program.rows @ w
    for row, (lower, body, upper) in enumerate(slack):
        if lower is not None:
            assert activity[row] - program.row_lb[row] == pytest.approx(body - lower)
        if upper is not None:
            assert program.row_ub[row] - activity[row] == pytest.approx(upper - body)
        assert np.isinf(program.row_lb[row]) == (lower is None)
        assert np.isinf(program.row_ub[row]) == (upper is None)
    for column, variable in enumerate(variables):
        assert program.lb[column] == (-np.inf if variable.lb is None else variable.lb)
        assert program.ub[column] == (np.inf if variable.ub is None else variable.ub)
        assert program.integer[column] == variable.is_integer()


def test_names_are_those_of_pyomo():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(["a", "b c", "3", 4, 2.5], range(2))
    m.one = pyo.Var()
    m.part = pyo.Block(["left", "right"])
    for part in m.part.values():
        part.y = pyo.Var(range(3))
        part.inner = pyo.Block()
        part.inner.z = pyo.Var()
    variables = list(m.component_data_objects(pyo.Var))
    assert component_names(variables) == [variable.name for variable in variables]


def test_outputs_that_are_expressions_have_names_too():
    m = box_model()
    m.y = pyo.Var()
    dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x, outputs=[m.y - 1])
    m.o = pyo.Objective(expr=m.y)
    program = dcembed.pyomo.extract(m).program
    assert program.column_names[-1] == program.row_names[-1] == "Output 0 of the network on 'nn'"


def box_model():
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-1, 1))
    m.nn = pyo.Block()
    return m


def test_inputs_are_variables_expressions_parameters_and_numbers():
    m = box_model()
    m.p = pyo.Param(initialize=0.3, mutable=True)
    m.more = pyo.Block()
    first = dcembed.pyomo.embed(m.nn, NETWORK, inputs=[2 * m.x[0] - m.x[1] + m.p, 0.25])
    second = dcembed.pyomo.embed(m.more, NETWORK, inputs=[m.p, m.x[1]])
    m.o = pyo.Objective(expr=m.nn.outputs[0] + m.more.outputs[0])
    for value in (0.3, -0.6):
        m.p.value = value
        solve(m)
        x = [m.x[0].value, m.x[1].value]
        assert first.input_values == pytest.approx(np.array([[2 * x[0] - x[1] + value, 0.25]]))
        assert second.input_values == pytest.approx(np.array([[value, x[1]]]))
        assert first.get_error().max() < 1e-9
        assert second.get_error().max() < 1e-9


def test_outputs_may_be_expressions_or_shared_or_fixed():
    m = box_model()
    m.y = pyo.Var()
    m.t = pyo.Var(bounds=(-10, 10))
    a = dcembed.pyomo.embed(m, NETWORK, inputs=m.x, outputs=[m.y])
    b = dcembed.pyomo.embed(m.nn, make_network(2, (3,), 5), inputs=m.x, outputs=[m.y])
    c = dcembed.pyomo.embed(m.nn, make_network(2, (3,), 6), inputs=m.x, outputs=[m.t - 2 * m.x[0] + 1])
    m.o = pyo.Objective(expr=m.t)
    pyo.assert_optimal_termination(solve(m))
    for embedded in (a, b, c):
        assert embedded.get_error().max() < 1e-5
    level = m.y.value
    m.x[0].value = m.x[1].value = None
    m.y.fix(level)
    pyo.assert_optimal_termination(solve(m))
    assert m.y.value == level
    assert a.get_error().max() < 1e-5


def test_fixed_inputs_are_honoured():
    m = box_model()
    embedded = dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x)
    m.o = pyo.Objective(expr=m.nn.outputs[0] - 5 * m.x[0])
    m.x[0].fix(-0.4)
    solve(m)
    assert m.x[0].value == -0.4
    assert embedded.get_error().max() < 1e-9
    m.x.fix(0.3)
    solve(m)
    assert embedded.output_values == pytest.approx(NETWORK(np.full((1, 2), 0.3)))


def test_batches():
    m = box_model()
    m.z = pyo.Var(range(3), range(2), bounds=(-1, 1))
    rows = [[m.z[i, 0], m.z[i, 1] + 0.1] for i in range(3)]
    created = dcembed.pyomo.embed(m.nn, NETWORK, inputs=rows)
    assert [v.name for row in created.output for v in row] == ["nn.outputs[0,0]", "nn.outputs[1,0]", "nn.outputs[2,0]"]
    whole = dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.z)
    assert whole.output[0][0].name == "nn.outputs_2[0,0]"
    assert whole.input[1] == (m.z[1, 0], m.z[1, 1])
    arrays = dcembed.pyomo.embed(m, NETWORK, inputs=np.array(rows, dtype=object), outputs=m.nn.outputs)
    assert len(arrays.input) == 3
    m.o = pyo.Objective(expr=sum(m.nn.outputs.values()) + sum(m.nn.outputs_2.values()))
    solve(m)
    assert max(e.get_error().max() for e in (created, whole, arrays)) < 1e-5


def test_batches_with_several_outputs():
    network = dcembed.build_mlp([np.eye(2), [[1.0, -1.0], [2.0, 3.0], [0.5, 1.0]]], [None, [0.0, 1.0, 2.0]])
    m = box_model()
    embedded = dcembed.pyomo.embed(m.nn, network, inputs=[[m.x[0], 0.5], [m.x[1], m.x[0]]])
    m.o = pyo.Objective(expr=m.nn.outputs[0, 0] + m.nn.outputs[1, 1] - m.nn.outputs[1, 2])
    solve(m)
    assert embedded.output_values.shape == (2, 3)
    assert embedded.get_error().max() < 1e-9


def test_a_deactivated_block_takes_its_network_along():
    m = box_model()
    m.y = pyo.Var(bounds=(-100, 100))
    dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x, outputs=[m.y])
    m.o = pyo.Objective(expr=m.y)
    m.nn.deactivate()
    solve(m)
    assert m.y.value == -100
    m.nn.activate()
    solve(m)
    assert m.y.value > -50


def test_a_clone_has_its_own_network():
    m = build_qp()
    clone = m.clone()
    solve(clone)
    assert m.x[0].value is None
    assert pyo.value(clone.distance) == pytest.approx(0.3091189773, abs=1e-6)


def test_the_results_say_what_is_known():
    results = solve(build_milp(gdp=False))
    assert results.solver.status == SolverStatus.ok
    assert results.solver.termination_condition == TerminationCondition.locallyOptimal
    assert results.solver.message.startswith("LOCALLY_SOLVED: The procedure has converged")
    # A feasible point of a maximization bounds the optimum from below; nothing is known from above.
    assert results.problem.lower_bound == pytest.approx(1.4932175627)
    assert results.problem.upper_bound == np.inf
    assert str(results.problem.sense) == "maximize"
    assert results.problem.number_of_binary_variables == 3
    assert results.problem.number_of_continuous_variables == 3


def test_every_status_has_its_honest_words():
    result = dcembed.solve(*ConvexQP.matrices(), options={"verbose": False})
    words = {}
    # The exact baselines alone say the other two.
    for status in set(Status) - {Status.OPTIMAL, Status.INFEASIBLE}:
        for feasible in (True, False):
            words[status, feasible] = tuple(map(str, termination(dataclasses.replace(result, status=status, is_feasible=feasible))))
    assert words == {
        (Status.LOCALLY_SOLVED, True): ("ok", "locallyOptimal"),
        (Status.LOCALLY_SOLVED, False): ("warning", "noSolution"),
        (Status.LOCALLY_INFEASIBLE, True): ("warning", "feasible"),
        (Status.LOCALLY_INFEASIBLE, False): ("warning", "noSolution"),
        (Status.TIME_LIMIT, True): ("ok", "maxTimeLimit"),
        (Status.TIME_LIMIT, False): ("aborted", "maxTimeLimit"),
        (Status.ITERATION_LIMIT, True): ("ok", "maxIterations"),
        (Status.ITERATION_LIMIT, False): ("aborted", "maxIterations"),
        (Status.HOST_INFEASIBLE, True): ("warning", "feasible"),
        (Status.HOST_INFEASIBLE, False): ("warning", "infeasible"),
        (Status.UNBOUNDED, True): ("warning", "feasible"),
        (Status.UNBOUNDED, False): ("warning", "noSolution"),
        (Status.NUMERICAL_ERROR, True): ("warning", "feasible"),
        (Status.NUMERICAL_ERROR, False): ("error", "solverFailure"),
        (Status.INTERRUPTED, True): ("aborted", "userInterrupt"),
        (Status.INTERRUPTED, False): ("aborted", "userInterrupt"),
    }


def test_an_infeasible_model_loads_nothing(caplog):
    m = build_qp()
    m.impossible = pyo.Constraint(expr=m.x[0] + m.x[1] >= 5)
    m.x[0].value = 0.125
    results = solve(m)
    assert results.solver.termination_condition == TerminationCondition.infeasible
    assert results.problem.upper_bound == np.inf
    assert m.x[0].value == 0.125
    assert "no values were loaded" in caplog.text


def test_a_constraint_without_variables_left():
    m = build_qp()
    solve(m)
    m.x[0].fix()
    m.holds = pyo.Constraint(expr=m.x[0] <= 1)
    assert solve(m).solver.termination_condition == TerminationCondition.locallyOptimal
    m.fails = pyo.Constraint(expr=m.x[0] >= 2)
    assert solve(m).solver.termination_condition == TerminationCondition.infeasible


def test_a_time_limit_of_zero():
    results = solve(build_qp(), time_limit=0)
    assert results.solver.termination_condition == TerminationCondition.maxTimeLimit


def test_loading_later():
    m = build_milp()
    solver = pyo.SolverFactory("dcembed")
    results = solver.solve(m, load_solutions=False)
    assert m.x[0].value is None
    assert len(results.solution) == 1
    m.solutions.load_from(results)
    assert pyo.value(m.profit) == pytest.approx(1.4932175627)
    clone = build_qp()
    solver.solve(clone, load_solutions=False)
    solver.load_vars()
    assert pyo.value(clone.distance) == pytest.approx(0.3091189773)


def test_a_warm_start_begins_from_the_values():
    m = build_qp()
    solver = pyo.SolverFactory("dcembed")
    solver.solve(m)
    best = pyo.value(m.distance)
    solver.solve(m, warmstart=True, max_iterations=0)
    assert solver.result.incumbents[0][1] == pytest.approx(best)
    assert solver.solve(m, max_iterations=0).solver.termination_condition == TerminationCondition.maxIterations


def test_options_come_from_everywhere(capfd):
    m = build_qp()
    solver = pyo.SolverFactory("dcembed", options={"seed": 3})
    solver.options["max_iterations"] = 0
    assert str(solver.solve(m).solver.termination_condition) == "maxIterations"
    assert str(solver.solve(m, max_iterations=50).solver.termination_condition) == "locallyOptimal"
    assert str(solver.solve(m, options={"max_iterations": 50}).solver.termination_condition) == "locallyOptimal"
    assert capfd.readouterr().out == ""
    solver.solve(m, tee=True, timelimit=60)
    assert "penalty convex-concave procedure" in capfd.readouterr().out
    assert pyo.SolverFactory("dcembed:scip").solve(build_milp()).solver.name.endswith("on scip")
    with pytest.raises(OptionError, match="unknown option 'time_limt'"):
        solver.solve(m, time_limt=3)
    with pytest.raises(InputError, match="are the same option"):
        solver.solve(m, time_limit=3, timelimit=4)


def nonlinear(m):
    m.c = pyo.Constraint(["a", "b"], rule=lambda m, i: pyo.sin(m.x[0]) + m.x[1] <= (1 if i == "a" else 2))


def quadratic(m):
    m.q = pyo.Constraint(expr=m.x[0] ** 2 >= 0.5)


def quadratic_equality(m):
    m.q = pyo.Constraint(expr=m.x[0] ** 2 + m.x[1] == 0.5)


def output_in_product(m):
    m.q = pyo.Constraint(expr=m.x[0] * m.nn.outputs[0] <= 1)


def quadratic_in_disjunct(m):
    m.d = Disjunct()
    m.d.q = pyo.Constraint(expr=m.x[0] ** 2 <= 1)


def no_parameter(m):
    m.p = pyo.Param(mutable=True)
    m.c = pyo.Constraint(expr=m.p * m.x[0] <= 1)


def no_right_side(m):
    m.p = pyo.Param(mutable=True)
    m.c = pyo.Constraint(expr=m.x[0] <= m.p)


def fixed_at_nothing(m):
    m.v = pyo.Var()
    m.v.fix()
    m.c = pyo.Constraint(expr=m.x[0] + m.v <= 1)


def not_a_number(m):
    m.c = pyo.Constraint(expr=float("nan") * m.x[0] + m.x[1] <= 1)


def nonlinear_objective(m):
    m.o.expr = pyo.exp(m.x[0])


def product_with_output(m):
    m.o.expr = m.nn.outputs[0] * m.x[0]


def two_objectives(m):
    m.o2 = pyo.Objective(expr=m.x[1])


def odd_domain(m):
    m.v = pyo.Var(domain=[1, 3, 7])
    m.c = pyo.Constraint(expr=m.x[0] + m.v <= 9)


def crossed_bounds(m):
    m.x[0].setlb(2)


def logical(m):
    m.b = pyo.BooleanVar(range(2))
    m.l = pyo.LogicalConstraint(expr=m.b[0].implies(m.b[1]))


def special_ordered(m):
    m.s = pyo.SOSConstraint(var=m.x, sos=1)


def nonlinear_input(m):
    m.more = pyo.Block()
    dcembed.pyomo.embed(m.more, NETWORK, inputs=[m.x[0], m.x[0] * m.x[1]])


def nested_disjunct(m):
    m.d = Disjunct()
    m.d.inner = Disjunct()


def inside_disjunct(m):
    m.d = Disjunct()
    dcembed.pyomo.embed(m.d, NETWORK, inputs=m.x)


def inside_transformed_disjunct(m):
    m.d, m.e = Disjunct(), Disjunct()
    m.d.c = pyo.Constraint(expr=m.x[0] <= 0)
    m.choice = Disjunction(expr=[m.d, m.e])
    dcembed.pyomo.embed(m.d, NETWORK, inputs=m.x)
    pyo.TransformationFactory("gdp.bigm").apply_to(m)


def disjunct_with_logic(m):
    m.d = Disjunct()
    m.d.l = pyo.LogicalConstraint(expr=m.d.indicator_var)


LINEAR = (
    "Linear and convex quadratic constraints are accepted; a network goes in with dcembed.pyomo.embed. "
    "Reformulate the constraint or deactivate it."
)
CURVED = "QuadraticConstraint: quadratic is not positive semidefinite (smallest eigenvalue {}), so the constraint is not convex. dcembed takes convex constraints; note that 1/2 w'Qw + a'w <= ub is meant."
VALUES = "Give every parameter and every fixed variable a number before solving."
UNSET = "Error evaluating Param value (p): The Param value is currently set to an invalid value. This is typically from a scal..."
INSIDE = "A prediction holds always, not only when the disjunct is on. Embed on a block outside and use the outputs in the constraints of the disjunct."

REJECTIONS = [
    (nonlinear, f"Constraint 'c[a]' has a nonlinear term: sin(x[0]). {LINEAR}"),
    (quadratic, f"Constraint 'q' is quadratic, but not convex. {CURVED.format(-2)}"),
    (quadratic_equality, f"Constraint 'q' is quadratic and bounded on both sides, which is not convex. {LINEAR}"),
    (output_in_product, f"Constraint 'q' is quadratic, but not convex. {CURVED.format(-1)}"),
    (quadratic_in_disjunct, "Constraint 'd.q' has a quadratic term inside a disjunct. Linear constraints are accepted there."),
    (no_parameter, f"Constraint 'c' uses something that has no value: {UNSET} {VALUES}"),
    (no_right_side, f"Constraint 'c' uses something that has no value: {UNSET} {VALUES}"),
    (fixed_at_nothing, f"Constraint 'c' uses something that has no value: 'v' evaluated to a nonnumeric value 'None'. {VALUES}"),
    (not_a_number, "Constraint 'c' has the coefficient or constant nan; finite numbers are accepted."),
    (nonlinear_objective, "Objective 'o' has a nonlinear term: exp(x[0]). Linear and convex quadratic objectives are accepted."),
    (
        product_with_output,
        "Program: quadratic is not positive semidefinite (smallest eigenvalue -1), "
        "so the objective is not convex. dcembed takes convex objectives; note that 1/2 w'Qw is minimized.",
    ),
    (two_objectives, "The model has 2 active objectives: 'o', 'o2'. Deactivate all but one."),
    (odd_domain, "Variable 'v' has the domain {1, 3, 7}; intervals of reals and of integers are accepted."),
    (crossed_bounds, "Program: the bounds of column 'x[0]' cross: lb = 2 > ub = 1."),
    (
        logical,
        "'l' is an active LogicalConstraint, which is not read. "
        'Apply TransformationFactory("core.logical_to_linear").apply_to(model) first.',
    ),
    (special_ordered, "'s' is an active SOSConstraint, which is not read. Write it with binary variables."),
    (nonlinear_input, "Input 1 of the network on 'more' has a quadratic term. Inputs and outputs are linear in the variables."),
    (
        nested_disjunct,
        "Disjunct 'd.inner' is inside disjunct 'd'; nested disjuncts are not read. "
        'Apply TransformationFactory("gdp.bigm").apply_to(model) first.',
    ),
    (inside_disjunct, f"A network is embedded on 'd', inside the disjunct 'd'. {INSIDE}"),
    (inside_transformed_disjunct, f"A network is embedded on 'd', inside the disjunct 'd'. {INSIDE}"),
    (
        disjunct_with_logic,
        "'d.l' is a LogicalConstraint inside a disjunct, which is not read. "
        'Apply TransformationFactory("gdp.bigm").apply_to(model) first.',
    ),
]


@pytest.mark.parametrize(("spoil", "message"), REJECTIONS, ids=lambda item: getattr(item, "__name__", ""))
def test_what_cannot_be_carried_is_named(spoil, message):
    m = box_model()
    dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x)
    m.o = pyo.Objective(expr=m.nn.outputs[0])
    spoil(m)
    with pytest.raises(InputError) as error:
        solve(m)
    assert str(error.value) == message


@pytest.mark.parametrize("concave", [False, True])
def test_convex_quadratic_constraints(concave):
    """A convex f over a convex set, against the best point of a fine grid."""
    network = make_network(2, (8, 8), 2, convex=True)
    m = box_model()
    dcembed.pyomo.embed(m.nn, network, inputs=m.x)
    body = (m.x[0] - 0.2) ** 2 + 2 * m.x[1] ** 2 + m.x[0] * m.x[1] + 0.1 * m.x[0]
    m.disc = pyo.Constraint(expr=-body >= -0.3) if concave else pyo.Constraint(expr=body <= 0.3)
    m.o = pyo.Objective(expr=m.nn.outputs[0])
    pyo.assert_optimal_termination(solve(m))
    a, b = np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-1, 1, 401))
    inside = (a - 0.2) ** 2 + 2 * b**2 + a * b + 0.1 * a <= 0.3
    best = network(np.stack([a[inside], b[inside]], axis=1)).min()
    assert abs(pyo.value(m.o) - best) < 0.01
    assert pyo.value(body) <= 0.3 + 1e-5


def test_abstract_and_foreign_models():
    with pytest.raises(InputError, match="Make a concrete model with create_instance"):
        solve(pyo.AbstractModel())
    with pytest.raises(InputError, match="A Pyomo model or block is solved, received int"):
        solve(3)
    with pytest.raises(InputError, match="has no variables to solve for"):
        solve(pyo.ConcreteModel())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda m: (m.many, NETWORK, m.x), "embed: 'many' is an indexed Block. Give one member of it, such as many[1]."),
        (lambda m: (m.x[0], NETWORK, m.x), "embed: the first argument is a Pyomo block or model, received VarData."),
        (lambda m: (m, NETWORK, [m.x[0]]), "embed on 'unknown': inputs has 1 entries but the network has 2 inputs."),
        (
            lambda m: (m, NETWORK, [[m.x[0], m.x[1]], [m.x[0]]]),
            "embed on 'unknown': row 1 of inputs has 1 entries but the network has 2 inputs.",
        ),
        (
            lambda m: (m, NETWORK, m.x, [m.x[0], m.x[1]]),
            "embed on 'unknown': inputs has 1 rows but outputs has 2. Give one row of outputs for each row of inputs.",
        ),
        (
            lambda m: (m, NETWORK, [m.x[0], "x1"]),
            "embed on 'unknown': inputs has an entry of type str. Variables, linear expressions, parameters and numbers are accepted.",
        ),
        (lambda m: (m, NETWORK, []), "embed on 'unknown': inputs has 0 entries but the network has 2 inputs."),
    ],
)
def test_mistakes_in_embed(arguments, message):
    m = box_model()
    m.many = pyo.Block(range(2))
    with pytest.raises(InputError) as error:
        dcembed.pyomo.embed(*arguments(m))
    assert str(error.value) == message


def test_a_disjunct_on_a_variable_without_bounds_names_it():
    m = build_milp()
    m.free = pyo.Var()
    m.off.c = pyo.Constraint(expr=m.free >= m.x[0])
    with pytest.raises(MissingBoundError) as error:
        solve(m, solver="highs")
    assert str(error.value) == (
        "Column 'free' has no finite lower bound, but it is behind an indicator, which is written with a bound here. "
        "Give column 'free' a finite lower bound, or rows that imply one."
    )


def test_reading_costs_less_than_twice_what_pyomo_needs_to_write():
    """A ratio of two times in one run, far from its limit (0.5 to 0.8 measured)."""
    from benchmarks.studies.frontend_pyomo import build_model, measure

    for quadratic in (False, True):
        writing, reading = measure(build_model(20_000, quadratic), repeats=2)
        assert reading <= 2 * writing


def test_a_missing_pyomo_names_the_command_that_installs_it():
    code = "import sys; sys.modules['pyomo'] = None; import dcembed.{}"
    for module, extra in (("pyomo", "pyomo"), ("omlt", "omlt")):
        program = code.format(module).replace("['pyomo']", f"['{module}']")
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert run.stderr.strip().endswith(f'which is not installed. Run: pip install "dcembed[{extra}]"')
