"""Pyomo models: the same answers as the matrix form, and the model as it was."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.frontends.calls import count_calls
from tests.frontends.problems import ConvexQP, NeuralMILP, NeuralMIQP, make_network, solved

import dcembed

pyo = pytest.importorskip("pyomo.environ")

from tests.frontends.pyomo_models import box_model, build_milp, build_miqp, build_qp, solve, written  # noqa: E402

import dcembed.pyomo  # noqa: E402
from dcembed.frontends.pyomo_names import component_names  # noqa: E402


@pytest.mark.parametrize(
    ("build", "problem"),
    [(build_qp, ConvexQP), (lambda: build_milp(gdp=False), NeuralMILP), (build_milp, NeuralMILP), (build_miqp, NeuralMIQP)],
    ids=["QP", "MILP big-M", "MILP disjunct", "MIQP"],
)
def test_the_same_verified_objective_as_the_matrix_form(build, problem):
    expected = solved(problem)
    model = build()
    solver = pyo.SolverFactory("dcembed")
    results = solver.solve(model, max_starts=1)
    pyo.assert_optimal_termination(results)
    objective = next(model.component_data_objects(pyo.Objective))
    assert solver.result.is_feasible
    assert abs(objective.sense * pyo.value(objective) - expected.objective) < 1e-6
    assert abs(solver.result.objective - pyo.value(objective)) < 1e-6


@pytest.mark.parametrize("build", [build_qp, lambda: build_milp(gdp=False), build_miqp], ids=["QP", "MILP", "MIQP"])
def test_the_model_is_what_it_was(build, tmp_path):
    model = build()
    before = written(model, tmp_path / "before.lp")
    solve(model, max_starts=1)
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
    expected = solved(NeuralMILP)
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


@pytest.mark.parametrize("quadratic", [False, True])
def test_reading_costs_less_than_twice_what_pyomo_needs_to_write(quadratic, tmp_path):
    from benchmarks.studies.frontend_pyomo import build_model

    model = build_model(500, quadratic)
    with dcembed.pyomo.without_networks(model):
        writing = count_calls(lambda: model.write(str(tmp_path / "model.lp")))
    assert count_calls(lambda: dcembed.pyomo.extract(model)) <= 2 * writing


def test_a_missing_pyomo_names_the_command_that_installs_it():
    code = "import sys; sys.modules['pyomo'] = None; import dcembed.{}"
    for module, extra in (("pyomo", "pyomo"), ("omlt", "omlt")):
        program = code.format(module).replace("['pyomo']", f"['{module}']")
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert run.stderr.strip().endswith(f'which is not installed. Run: pip install "dcembed[{extra}]"')
