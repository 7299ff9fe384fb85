"""Every front end keeps the contract: one type out of `extract` and into `restore`, with the user's names and the user's sense.

All tools have the same problem, a maximization whose objective is positive wherever one looks:

maximize  10 + f(x) - 0.1 x0
s.t.      total: x0 + x1 <= 1.5,  x in [-1, 1]^2,  b = 1 => x0 >= 0.5 (on),  x0^2 + x1^2 <= 1.8 (disc)

as far as the tool has indicators and curved constraints; `hopeless` adds f(x) + x1 >= 100.
"""

from __future__ import annotations

import dataclasses
import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.frontends.problems import make_network

import dcembed
import dcembed.frontends
from dcembed import Program, Result
from dcembed.frontends.contract import Extraction, solve_model

NETWORK = make_network(2, (5,), 0)
QUIET = {"verbose": False, "max_starts": 1}


@dataclass(frozen=True)
class Case:
    """A front end, and what a user of its tool does.

    Parameters
    ----------
    front_end
        Name of its module.
    packages
        What must be installed.
    build
        Writes the problem; takes a folder and whether it is hopeless.
    snapshot
        All of the model as text.
    solve
        What a user calls: takes the model and options, gives the `Result`.
    read
        The objective, and the values of x, where a user reads them.
    names
        Of columns x0, x1 and of the prediction; of the rows, indicators, quadratic constraints and cones.
    offset
        Constant of the objective.
    """

    front_end: str
    packages: tuple[str, ...]
    build: Callable[[Path, bool], Any]
    snapshot: Callable[[Any, Path], str]
    solve: Callable[..., Result]
    read: Callable[[Any], tuple[float, list[float]]]
    columns: tuple[str, ...]
    rows: tuple[str, ...] = ("total",)
    hopeless: str = "row 'hopeless'"
    indicators: tuple[str, ...] = ()
    quadratics: tuple[str, ...] = ()
    cones: tuple[str, ...] = ()
    offset: float = 10.0

    def values(self, model: Any) -> list[float]:
        """The values of x in the model, feasible or not; NaN for none."""
        try:
            return [np.nan if value is None else float(value) for value in _read_x(self.front_end, model)]
        except (AttributeError, KeyError):
            return [np.nan, np.nan]

    @property
    def module(self) -> Any:
        return import_module(f"dcembed.frontends.{self.front_end}")


def _read_x(front_end, model):
    """x where a user of the tool reads it."""
    if front_end == "cvxpy_":
        values = next(v for v in model.variables() if v.name() == "x").value
        return [None, None] if values is None else values.tolist()
    if front_end == "gurobipy_":
        return [model.getVarByName(f"x[{i}]").X for i in range(2)]
    if front_end == "linopy_":
        return model.variables["x"].data["solution"].values.tolist()
    x = model.x if hasattr(model, "x") else model.nn.inputs
    return [x[0].value, x[1].value]


# CVXPY


def build_cvxpy(folder, hopeless):
    import cvxpy as cp

    from dcembed.cvxpy import embed

    x = cp.Variable(2, name="x")
    f = embed(NETWORK, x, name="f")
    constraints = [(cp.sum(x) <= 1.5).set_label("total"), x >= -1, x <= 1, (cp.norm(x) <= np.sqrt(1.8)).set_label("disc")]
    constraints += [(f[0] + x[1] >= 100).set_label("hopeless")] if hopeless else []
    return cp.Problem(cp.Maximize(10 + f[0] - 0.1 * x[0]), constraints)


def snapshot_cvxpy(problem, folder):
    values = [(v.name(), v.id, None if v.value is None else v.value.tolist()) for v in problem.variables()]
    return f"{problem}{values}{[c.id for c in problem.constraints]}{problem.status}"


def solve_cvxpy(problem, **options):
    from dcembed.cvxpy import result_of

    problem.solve(method="dcembed", **options)
    return result_of(problem)


def read_cvxpy(problem):
    return problem.value, next(v for v in problem.variables() if v.name() == "x").value.tolist()


# gurobipy


def build_gurobipy(folder, hopeless):
    import gurobipy as gp

    from dcembed.gurobipy import add_predictor_constr

    model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    x = model.addVars(2, lb=-1, ub=1, name="x")
    y, b = model.addVar(lb=-gp.GRB.INFINITY, name="y"), model.addVar(vtype="B", name="b")
    add_predictor_constr(model, NETWORK, [x[0], x[1]], y)
    model.addConstr(x[0] + x[1] <= 1.5, name="total")
    model.addConstr((b == 1) >> (x[0] >= 0.5), name="on")
    model.addConstr(x[0] * x[0] + x[1] * x[1] <= 1.8, name="disc")
    if hopeless:
        model.addConstr(y + x[1] >= 100, name="hopeless")
    model.setObjective(10 + y - 0.1 * x[0], gp.GRB.MAXIMIZE)
    model.update()
    return model


def snapshot_gurobipy(model, folder):
    model.write(str(folder / "model.lp"))
    return (folder / "model.lp").read_text()


def solve_gurobipy(model, **options):
    from dcembed.gurobipy import optimize

    return optimize(model, **options)


def read_gurobipy(model):
    return model.ObjVal, [model.getVarByName(f"x[{i}]").X for i in range(2)]


# Pyomo and OMLT


def build_pyomo(folder, hopeless):
    import pyomo.environ as pyo
    from pyomo.gdp import Disjunct, Disjunction

    import dcembed.pyomo

    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-1, 1))
    m.nn = pyo.Block()
    y = dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x).output[0][0]
    m.on, m.off = Disjunct(), Disjunct()
    m.on.enough = pyo.Constraint(expr=m.x[0] >= 0.5)
    m.choice = Disjunction(expr=[m.on, m.off])
    return finish_pyomo(m, m.x, y, hopeless)


def build_omlt(folder, hopeless):
    import omlt
    import pyomo.environ as pyo

    from dcembed.omlt import DCEmbedFormulation

    m = pyo.ConcreteModel()
    m.nn = omlt.OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(NETWORK))
    m.nn.inputs.setlb(-1)
    m.nn.inputs.setub(1)
    return finish_pyomo(m, m.nn.inputs, m.nn.outputs[0], hopeless)


def finish_pyomo(m, x, y, hopeless):
    import pyomo.environ as pyo

    m.total = pyo.Constraint(expr=x[0] + x[1] <= 1.5)
    m.disc = pyo.Constraint(expr=x[0] ** 2 + x[1] ** 2 <= 1.8)
    if hopeless:
        m.hopeless = pyo.Constraint(expr=y + x[1] >= 100)
    m.profit = pyo.Objective(expr=10 + y - 0.1 * x[0], sense=pyo.maximize)
    return m


def snapshot_pyomo(m, folder):
    import io

    text = io.StringIO()
    m.pprint(text)
    return text.getvalue()


def solve_pyomo(m, verbose=True, **options):
    import pyomo.environ as pyo

    solver = pyo.SolverFactory("dcembed")
    solver.solve(m, tee=bool(verbose), options={"verbose": verbose}, **options)
    return solver.result


def read_pyomo(m):
    import pyomo.environ as pyo

    x = m.x if hasattr(m, "x") else m.nn.inputs
    return pyo.value(m.profit), [x[0].value, x[1].value]


# PySCIPOpt


def build_pyscipopt(folder, hopeless):
    import pyscipopt

    from dcembed.pyscipopt import add_predictor_constr

    model = pyscipopt.Model()
    model.hideOutput()
    x = [model.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)]
    y, b = model.addVar("y", lb=None), model.addVar("b", vtype="B")
    add_predictor_constr(model, NETWORK, x, [y])
    model.addCons(x[0] + x[1] <= 1.5, name="total")
    model.addConsIndicator(x[0] >= 0.5, b, name="on")
    model.addCons(x[0] * x[0] + x[1] * x[1] <= 1.8, name="disc")
    if hopeless:
        model.addCons(y + x[1] >= 100, name="hopeless")
    model.setObjective(10 + y - 0.1 * x[0], "maximize")
    return model


def snapshot_pyscipopt(model, folder):
    model.writeProblem(str(folder / "model.cip"), verbose=False)
    return (folder / "model.cip").read_text()


def solve_pyscipopt(model, **options):
    from dcembed.pyscipopt import optimize

    return optimize(model, **options)


def read_pyscipopt(model):
    values = {variable.name: model.getVal(variable) for variable in model.getVars()}
    return model.getObjVal(), [values["x0"], values["x1"]]


# linopy


def build_linopy(folder, hopeless):
    import linopy

    import dcembed.linopy

    model = linopy.Model()
    x = model.add_variables(lower=-1, upper=1, coords=[range(2)], dims=["i"], name="x")
    b = model.add_variables(binary=True, name="b")
    # linopy takes no constant in an objective.
    ten = model.add_variables(lower=10, upper=10, name="ten")
    y = dcembed.linopy.embed(model, NETWORK, x, name="y").output
    model.add_constraints(x.sum() <= 1.5, name="total")
    model.add_indicator_constraints(b, 1, x.sel(i=0) >= 0.5, name="on")
    if hopeless:
        model.add_constraints(y + x.sel(i=1) >= 100, name="hopeless")
    model.add_objective(ten + y - 0.1 * x.sel(i=0), sense="max")
    return model


def snapshot_linopy(model, folder):
    import linopy

    linopy.Model.to_file(model, folder / "model.lp", explicit_coordinate_names=True)
    return (folder / "model.lp").read_text() + repr(model)


def solve_linopy(model, **options):
    import dcembed.linopy

    return dcembed.linopy.solve(model, **options)


def read_linopy(model):
    return model.objective.value, model.solution["x"].values.tolist()


# Files

HOST = "Maximize\n profit: y - 0.1 x0 + 10\nSubject To\n total: x0 + x1 <= 1.5\n{}Bounds\n -1 <= x0 <= 1\n -1 <= x1 <= 1\n y free\nEnd\n"


def build_files(folder, hopeless):
    from dcembed.frontends.files_ import ModelFile, NetworkEntry

    (folder / "host.lp").write_text(HOST.format(" hopeless: y + x1 >= 100\n" if hopeless else ""))
    return ModelFile(folder / "host.lp", [NetworkEntry(NETWORK, ["x*"], "y")], folder / "out.json", folder / "trace.csv")


def snapshot_files(model, folder):
    return Path(model.host).read_text()


def solve_files(model, **options):
    from dcembed.frontends import files_

    return solve_model(files_, model, dcembed.Options(**options))


def read_files(model):
    import json

    record = json.loads(Path(model.solution).read_text())
    return record["objective"], [record["columns"]["x0"], record["columns"]["x1"]]


CURVED = {"quadratics": ("disc",), "indicators": ("on",)}
CASES = {
    "cvxpy": Case(
        "cvxpy_", ("cvxpy",), build_cvxpy, snapshot_cvxpy, solve_cvxpy, read_cvxpy, columns=("x[0]", "x[1]", "f[0]"), cones=("disc",)
    ),
    "gurobipy": Case(
        "gurobipy_",
        ("gurobipy",),
        build_gurobipy,
        snapshot_gurobipy,
        solve_gurobipy,
        read_gurobipy,
        columns=("x[0]", "x[1]", "y"),
        **CURVED,
    ),
    "pyomo": Case(
        "pyomo_",
        ("pyomo",),
        build_pyomo,
        snapshot_pyomo,
        solve_pyomo,
        read_pyomo,
        columns=("x[0]", "x[1]", "nn.outputs[0]"),
        rows=("total", "choice"),
        quadratics=("disc",),
        indicators=("on.enough",),
    ),
    "omlt": Case(
        "pyomo_",
        ("pyomo", "omlt"),
        build_omlt,
        snapshot_pyomo,
        solve_pyomo,
        read_pyomo,
        columns=("nn.inputs[0]", "nn.inputs[1]", "nn.outputs[0]"),
        quadratics=("disc",),
    ),
    "pyscipopt": Case(
        "pyscipopt_",
        ("pyscipopt",),
        build_pyscipopt,
        snapshot_pyscipopt,
        solve_pyscipopt,
        read_pyscipopt,
        columns=("x0", "x1", "y"),
        **CURVED,
    ),
    "linopy": Case(
        "linopy_",
        ("linopy",),
        build_linopy,
        snapshot_linopy,
        solve_linopy,
        read_linopy,
        columns=("x[0]", "x[1]", "y"),
        indicators=("on",),
        offset=0.0,
    ),
    "files": Case("files_", (), build_files, snapshot_files, solve_files, read_files, columns=("x0", "x1", "y")),
}


@pytest.fixture(params=CASES)
def case(request) -> Case:
    for package in CASES[request.param].packages:
        pytest.importorskip(package)
    return CASES[request.param]


def test_the_table_has_every_front_end():
    modules = [name for _, name, _ in pkgutil.iter_modules(dcembed.frontends.__path__) if name.endswith("_")]
    source = {name: (Path(dcembed.frontends.__path__[0]) / f"{name}.py").read_text() for name in modules}
    assert {name for name in modules if "\ndef extract(" in source[name]} == {case.front_end for case in CASES.values()}
    assert all("\ndef restore(" in source[case.front_end] for case in CASES.values())


def test_an_extraction_has_the_users_names_and_the_users_sense(case, tmp_path):
    extraction = case.module.extract(case.build(tmp_path, False))
    assert type(extraction) is Extraction
    program = extraction.program
    assert type(program) is Program
    assert program.maximize
    assert set(case.columns) <= set(program.column_names)
    assert set(program.row_names) == set(case.rows)
    assert tuple(indicator.name for indicator in program.indicators) == case.indicators
    assert tuple(constraint.name for constraint in program.quadratic_constraints) == case.quadratics
    assert tuple(name for cone in program.cones for name in cone.names) == case.cones
    # The coefficients are the user's own, on the columns that the names say.
    x0, x1, y = (program.column_names.index(name) for name in case.columns)
    assert (program.cost[x0], program.cost[x1], program.cost[y], program.offset) == pytest.approx((-0.1, 0.0, 1.0, case.offset))
    row = program.rows[[program.row_names.index("total")]]
    assert sorted(row.indices) == sorted([x0, x1])
    (embedding,) = extraction.embeddings
    assert isinstance(extraction.embeddings, tuple)
    assert embedding.outputs.tolist() == [[y]]
    assert embedding.points(np.eye(program.num_columns)[x0]).tolist() == [[1.0, 0.0]]


def test_extraction_changes_nothing(case, tmp_path):
    model = case.build(tmp_path, False)
    before = case.snapshot(model, tmp_path)
    case.module.extract(model)
    assert case.snapshot(model, tmp_path) == before


def test_restore_puts_the_answer_back(case, tmp_path):
    model = case.build(tmp_path, False)
    extraction = case.module.extract(model)
    result = dcembed.solve(extraction.program, extraction.embeddings, options=QUIET)
    case.module.restore(extraction, result)
    assert result.is_feasible
    assert result.objective > 9
    objective, x = case.read(model)
    assert objective == pytest.approx(result.objective, abs=1e-5)
    assert x == pytest.approx([result.x[extraction.program.column_names.index(name)] for name in case.columns[:2]], abs=1e-5)
    assert objective == pytest.approx(10 + NETWORK(np.array([x]))[0, 0] - 0.1 * x[0], abs=1e-5)


# Time, start, steps, and the best feasible objective, or of a step its own.
LINE = re.compile(r"^ +[\d.]+s +\d+ +\d+ +(-?[\d.]\S*)", re.MULTILINE)


def test_log_and_result_show_the_users_objective(case, tmp_path, capsys):
    model = case.build(tmp_path, False)
    result = case.solve(model, verbose=True, max_starts=2)
    best = [float(cell) for cell in LINE.findall(capsys.readouterr().out)]
    assert best == sorted(best)
    assert min(best) > 0
    assert best[-1] == pytest.approx(result.objective)
    steps = case.solve(case.build(tmp_path, False), verbose=2, max_starts=2)
    lines = [float(cell) for cell in LINE.findall(capsys.readouterr().out)]
    assert len(lines) >= max(2, len(steps.history))
    assert min(lines) > 0
    assert result.objective == pytest.approx(case.read(model)[0], abs=1e-5)
    assert [objective for _, objective in result.incumbents] == sorted(objective for _, objective in result.incumbents)
    assert result.history[-1].objective > 0


def test_what_is_violated_is_told_by_its_name(case, tmp_path, capsys):
    model = case.build(tmp_path, True)
    result = case.solve(model, verbose=True, max_starts=1, max_iterations=2)
    worst = result.worst_violations
    assert not result.is_feasible
    assert worst[0].constraint == case.hopeless
    assert worst[0].amount == result.violation > 50
    assert f"Violated    {case.hopeless}: " in capsys.readouterr().out


def test_the_closing_words_are_those_of_the_tool(case, tmp_path, capsys):
    result = case.solve(case.build(tmp_path, False), verbose=True, max_starts=1)
    said = " ".join(capsys.readouterr().out.split())
    assert result.words is case.module.WORDS
    assert said.endswith(f"{case.module.WORDS.prove} bounds how much better, other starts may find one.")
    limited = case.solve(case.build(tmp_path, False), max_iterations=0, **QUIET)
    assert limited.is_feasible
    assert f"with {case.module.WORDS.go_on}." in limited.summary()
    stuck = case.solve(case.build(tmp_path, True), **QUIET)
    assert stuck.summary().endswith(f"nearest to feasible is {case.module.WORDS.nearest}.")


def test_the_nearest_point_is_in_the_model_where_that_is_asked_for(case, tmp_path):
    if case.front_end == "files_":
        # A file says whether its point is feasible, so the nearest is written in any case.
        model = case.build(tmp_path, True)
        result = case.solve(model, **QUIET)
        assert case.read(model)[1] == [result.by_name[name] for name in case.columns[:2]]
        return
    model = case.build(tmp_path, True)
    result = case.solve(model, load_infeasible=True, **QUIET)
    assert not result.is_feasible
    near = [result.by_name[name] for name in case.columns[:2]]
    if case.front_end == "pyscipopt_":
        # SCIP holds no such point; the result and the predictor do.
        assert sorted(result.value(variable) for variable in model.getVars() if variable.name in case.columns[:2]) == sorted(near)
    else:
        assert case.values(model) == pytest.approx(near)
    # Without a word nothing of it is there.
    plain = case.build(tmp_path, True)
    case.solve(plain, **QUIET)
    assert case.front_end == "pyscipopt_" or case.values(plain) != pytest.approx(near)


def test_a_wrong_switch_for_that_is_refused(case, tmp_path):
    if case.front_end != "files_":
        with pytest.raises(dcembed.DcembedError, match="load_infeasible"):
            case.solve(case.build(tmp_path, True), load_infeasible="yes", **QUIET)


def test_prices_are_told_by_the_users_names(case, tmp_path):
    result = case.solve(case.build(tmp_path, False), **QUIET)
    prices = result.prices
    assert set(case.rows) | set(case.indicators) | set(case.quadratics) | set(case.cones) <= set(prices.by_name)
    assert prices.unexplained < 0.05
    assert any(prices.by_name.values())


def test_a_saved_result_is_about_the_same_problem_in_another_session(case, tmp_path):
    result = case.solve(case.build(tmp_path, False), **QUIET)
    dataclasses.replace(result, bound=result.objective + 1.0).save(tmp_path / "run.npz")
    kept = dcembed.load_result(tmp_path / "run.npz")
    assert kept.objective == pytest.approx(result.objective, rel=1e-9)
    assert kept.program.column_names == result.program.column_names
    # What is written and extracted anew has the same numbers, so that the bound is taken up.
    extraction = case.module.extract(case.build(tmp_path, False))
    again = dcembed.solve(extraction.program, extraction.embeddings, start=kept, options={**QUIET, "max_iterations": 0})
    assert again.bound == kept.bound
    assert again.objective >= kept.objective


@pytest.mark.parametrize("name", ["gurobipy", "linopy", "pyscipopt"])
def test_a_result_is_a_start_where_starts_are_taken(name, tmp_path):
    case = CASES[name]
    for package in case.packages:
        pytest.importorskip(package)
    model = case.build(tmp_path, False)
    result = case.solve(model, **QUIET)
    known = dataclasses.replace(result, bound=result.objective + 1.0)
    again = case.solve(model, start=known, **{**QUIET, "max_iterations": 0})
    assert again.bound == known.bound
    assert again.objective >= result.objective - 1e-9
