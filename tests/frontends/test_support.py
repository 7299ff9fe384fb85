"""Regions of data in every front end: one argument where the network is named, and the same answer as the matrix form.

All tools have the same problem, whose best point is outside of the data:

maximize  10 + f(x) - 0.1 x0
s.t.      total: x0 + x1 <= 1.5,  x in [-1, 1]^2,  x in the region of the data, or near it at a price
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.frontends.problems import make_network
from tests.frontends.test_conformance import CASES, HOST

import dcembed
from dcembed import Embedding, Program, Result
from dcembed.errors import InputError
from dcembed.frontends import extension
from dcembed.frontends.own_objective import own_objective
from dcembed.support import region as region_module

NETWORK = make_network(2, (5,), 0)
DATA = np.random.default_rng(0).normal(size=(40, 2)) * 0.15 + [-0.4, 0.3]
QUIET = {"verbose": False, "search": "converge", "max_starts": 2, "time_limit": 20}
KINDS: dict[str, dict[str, Any]] = {
    "box": {"kind": "box"},
    "hull": {"kind": "hull", "points": 12},
    "ellipsoid": {"kind": "ellipsoid", "coverage": 0.9},
    "clusters": {"kind": "clusters", "clusters": 2, "shape": "box"},
    "soft box": {"kind": "box", "weight": 0.05},
    "soft hull": {"kind": "hull", "points": 12, "weight": 0.05},
}
SOFT = [name for name in KINDS if name.startswith("soft")]


@cache
def region(name: str) -> dcembed.Support:
    return dcembed.support(DATA, **KINDS[name])


@cache
def reference(name: str | None) -> Result:
    """The answer to the matrix form."""
    program = Program(
        [-0.1, 0.0, 1.0], offset=10.0, rows=[[1.0, 1.0, 0.0]], row_ub=1.5, lb=[-1, -1, -np.inf], ub=[1, 1, np.inf], maximize=True
    )
    return dcembed.solve(program, Embedding(NETWORK, [0, 1], [2], None if name is None else region(name)), options=QUIET)


# What a user of each tool writes: the problem with a support, or None.


def build_cvxpy(folder: Path, support: Any, network: Any = NETWORK) -> Any:
    import cvxpy as cp

    from dcembed.cvxpy import embed

    x = cp.Variable(2, name="x")
    f = embed(network, x, name="f", support=support)
    return cp.Problem(cp.Maximize(10 + f[0] - 0.1 * x[0]), [(cp.sum(x) <= 1.5).set_label("total"), x >= -1, x <= 1])


def build_gurobipy(folder: Path, support: Any, network: Any = NETWORK) -> Any:
    import gurobipy as gp

    from dcembed.gurobipy import add_predictor_constr

    model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    x, y = model.addVars(2, lb=-1, ub=1, name="x"), model.addVar(lb=-gp.GRB.INFINITY, name="y")
    add_predictor_constr(model, network, [x[0], x[1]], y, support=support)
    model.addConstr(x[0] + x[1] <= 1.5, name="total")
    model.setObjective(10 + y - 0.1 * x[0], gp.GRB.MAXIMIZE)
    model.update()
    return model


def build_pyomo(folder: Path, support: Any, network: Any = NETWORK) -> Any:
    import pyomo.environ as pyo

    import dcembed.pyomo

    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-1, 1))
    m.nn = pyo.Block()
    return _finish(m, m.x, dcembed.pyomo.embed(m.nn, network, inputs=m.x, support=support).output[0][0])


def build_omlt(folder: Path, support: Any, network: Any = NETWORK) -> Any:
    import omlt
    import pyomo.environ as pyo

    from dcembed.omlt import DCEmbedFormulation

    m = pyo.ConcreteModel()
    m.nn = omlt.OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(network, support=support))
    m.nn.inputs.setlb(-1)
    m.nn.inputs.setub(1)
    return _finish(m, m.nn.inputs, m.nn.outputs[0])


def _finish(m: Any, x: Any, y: Any) -> Any:
    import pyomo.environ as pyo

    m.total = pyo.Constraint(expr=x[0] + x[1] <= 1.5)
    m.profit = pyo.Objective(expr=10 + y - 0.1 * x[0], sense=pyo.maximize)
    return m


def build_pyscipopt(folder: Path, support: Any, network: Any = NETWORK) -> Any:
    import pyscipopt

    from dcembed.pyscipopt import add_predictor_constr

    model = pyscipopt.Model()
    model.hideOutput()
    x, y = [model.addVar(f"x{i}", lb=-1, ub=1) for i in range(2)], model.addVar("y", lb=None)
    add_predictor_constr(model, network, x, [y], support=support)
    model.addCons(x[0] + x[1] <= 1.5, name="total")
    model.setObjective(10 + y - 0.1 * x[0], "maximize")
    return model


def build_linopy(folder: Path, support: Any, network: Any = NETWORK) -> Any:
    import linopy

    import dcembed.linopy

    model = linopy.Model()
    x = model.add_variables(lower=-1, upper=1, coords=[range(2)], dims=["i"], name="x")
    ten = model.add_variables(lower=10, upper=10, name="ten")
    y = dcembed.linopy.embed(model, network, x, name="y", support=support).output
    model.add_constraints(x.sum() <= 1.5, name="total")
    model.add_objective(ten + y - 0.1 * x.sel(i=0), sense="max")
    return model


def build_files(folder: Path, support: Any, network: Any = NETWORK) -> Any:
    from dcembed.frontends.files_ import ModelFile, NetworkEntry

    (folder / "host.lp").write_text(HOST.format(""))
    return ModelFile(folder / "host.lp", [NetworkEntry(network, ["x*"], "y", support=support)], folder / "out.json")


BUILD: dict[str, Callable[..., Any]] = {
    "cvxpy": build_cvxpy,
    "gurobipy": build_gurobipy,
    "pyomo": build_pyomo,
    "omlt": build_omlt,
    "pyscipopt": build_pyscipopt,
    "linopy": build_linopy,
    "files": build_files,
}
# What a mistake is told in the name of.
CALL = {
    "cvxpy": "embed: ",
    "gurobipy": "add_predictor_constr: ",
    "pyomo": "embed on 'nn': ",
    "omlt": "DCEmbedFormulation: ",
    "pyscipopt": "add_predictor_constr: ",
    "linopy": "embed: ",
    "files": "inputs: ",
}


def test_the_table_has_every_front_end():
    assert set(BUILD) == set(CALL) == set(CASES)


@pytest.fixture(params=BUILD)
def tool(request) -> str:
    for package in CASES[request.param].packages:
        pytest.importorskip(package)
    return request.param


def inputs_of(tool: str, model: Any) -> Any:
    return np.array([CASES[tool].read(model)[1]])


def written(tool: str, model: Any, folder: Path) -> str:
    """The model as its tool writes it, without values."""
    if tool == "cvxpy":
        return f"{model}{[constraint.id for constraint in model.constraints]}"
    if tool == "files":
        return Path(model.host).read_text()
    file = str(folder / "model.lp")
    if tool in ("pyomo", "omlt"):
        from dcembed.pyomo import without_networks

        with without_networks(model):
            model.write(file)
    elif tool == "gurobipy":
        with pytest.warns(UserWarning, match="without the embedded network"):
            model.write(file)
    elif tool == "linopy":
        import linopy

        linopy.Model.to_file(model, Path(file))
    else:
        model.writeProblem(file, verbose=False)
    return Path(file).read_text()


def reject_building(*arguments: Any) -> None:
    raise AssertionError("The region is made a second time.")


@pytest.mark.parametrize("name", KINDS)
def test_the_answer_is_that_of_the_matrix_form(tool, name, tmp_path):
    model = BUILD[tool](tmp_path, region(name))
    before = written(tool, model, tmp_path)
    result = CASES[tool].solve(model, **QUIET)
    assert result.objective == pytest.approx(reference(name).objective, abs=1e-6)
    # Without the region the answer is another one.
    assert result.objective < reference(None).objective - 1e-3
    if name in SOFT:
        assert region(name).excess(inputs_of(tool, model))[0] > 0.1
    else:
        assert region(name).contains(inputs_of(tool, model), 1e-6).all()
    assert written(tool, model, tmp_path) == before


@pytest.mark.parametrize("name", SOFT)
def test_a_tool_shows_the_users_objective_and_the_result_has_the_price(tool, name, tmp_path):
    model = BUILD[tool](tmp_path, region(name))
    result = CASES[tool].solve(model, **QUIET)
    shown, x = CASES[tool].read(model)
    own = 10 + NETWORK([x])[0, 0] - 0.1 * x[0]
    price = 0.05 * region(name).excess(np.array([x]))[0]
    assert price > 0.01
    assert own_objective(result) == pytest.approx(own, abs=1e-6)
    # What is maximized has the price taken off. Files have no objective but that of the result.
    assert result.objective == pytest.approx(own - price, abs=1e-6)
    assert shown == pytest.approx(result.objective if tool == "files" else own, abs=1e-6)


def test_extraction_does_not_grow_and_makes_no_region(tool, tmp_path, monkeypatch):
    plain = CASES[tool].module.extract(BUILD[tool](tmp_path, None)).program
    model = BUILD[tool](tmp_path, region("hull"))
    # A region is made by `dcembed.support`; nobody makes it again.
    monkeypatch.setattr(region_module, "build_support", reject_building)
    extraction = CASES[tool].module.extract(model)
    assert extraction.embeddings[0].support is region("hull")
    program = extraction.program
    sizes = [(p.num_columns, p.num_rows, p.rows.nnz, p.num_integers, len(p.cones), len(p.indicators)) for p in (plain, program)]
    assert sizes[0] == sizes[1]
    assert program.column_names == plain.column_names or tool == "cvxpy"


WRONG = {
    "a text": ("hull", "support is not accepted: a region made by dcembed.support"),
    "another number of inputs": (
        dcembed.support(np.eye(3), discrete=[]),
        "data with 3 columns, but the network has 2 inputs",
    ),
}


def embed_wrongly(tool: str, folder: Path, *wrong: Any) -> None:
    """A mistake is found where the network is embedded; a list of networks for files is read when the model is."""
    model = BUILD[tool](folder, *wrong)
    assert tool == "files"
    CASES[tool].module.extract(model)


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_told_in_the_name_of_the_call(tool, mistake, tmp_path):
    wrong, message = WRONG[mistake]
    with pytest.raises(InputError) as error:
        embed_wrongly(tool, tmp_path, wrong)
    assert str(error.value).startswith(CALL[tool])
    assert message in str(error.value)


@cache
def pipeline() -> Any:
    """A model with names, and its data with the columns in another order."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = pandas.DataFrame(DATA, columns=["x0", "x1"])
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(frame, DATA @ [1.0, -3.0])
    return model, frame[["x1", "x0"]]


def test_data_is_matched_by_name(tool, tmp_path):
    model, frame = pipeline()
    built = BUILD[tool](tmp_path, dcembed.support(frame, "box", scaler=model), model)
    result = CASES[tool].solve(built, **QUIET)
    # The linear model pays for x0 and against x1: the corner of the box in the order of the fit.
    assert inputs_of(tool, built)[0] == pytest.approx([DATA[:, 0].max(), DATA[:, 1].min()], abs=1e-5)
    assert result.embeddings[0].support.data.names == ("x0", "x1")


def test_names_that_are_not_those_of_the_model(tool, tmp_path):
    model, frame = pipeline()
    wrong = dcembed.support(frame.rename(columns={"x1": "pressure"}), "box")
    with pytest.raises(InputError, match=r"Surplus: \['pressure'\]; missing: \['x1'\]") as error:
        embed_wrongly(tool, tmp_path, wrong, model)
    assert str(error.value).startswith(CALL[tool])


def test_columns_that_a_front_end_adds_leave_the_region():
    program = Program([0.0, 0.0, 1.0], lb=-1, ub=1)
    inputs = dcembed.AffineInputs(np.eye(3)[:2])
    embedding = Embedding(NETWORK, inputs, [2], region("box"))
    added = extension.Extension(3, curves=(extension.CurveColumn("c", 0, extension.Curve((0.0, 1.0), (0.0, 2.0))),))
    _, (wider,) = extension.extend(program, (embedding,), added)
    assert wider.inputs.matrix.shape == (2, 4)
    assert wider.support is region("box")


def test_a_copy_of_a_gurobi_model_has_the_region(tmp_path):
    pytest.importorskip("gurobipy")
    twin = build_gurobipy(tmp_path, region("box")).copy()
    result = twin.optimize(**QUIET)
    assert result.objective == pytest.approx(reference("box").objective, abs=1e-6)
    assert result.embeddings[0].support is region("box")


def test_gurobi_is_told_no_bound_of_an_objective_with_a_price(tmp_path):
    gp = pytest.importorskip("gurobipy")
    bounds = {}
    for name in ("box", "soft box"):
        model = build_gurobipy(tmp_path, region(name))
        result = model.optimize(**QUIET, prove="auto")
        assert np.isfinite(result.bound)
        bounds[name] = model.ObjBound
    assert bounds["box"] == pytest.approx(reference("box").objective, abs=1e-3)
    assert bounds["soft box"] >= gp.GRB.INFINITY


def test_gurobis_objective_has_no_price_where_dcembed_answers_for_it(tmp_path, monkeypatch):
    pytest.importorskip("gurobipy")
    from dcembed.frontends import gurobipy_

    monkeypatch.setattr(gurobipy_, "accept", lambda extraction, result: (None, "its licence is too small"))
    model = build_gurobipy(tmp_path, region("soft box"))
    with pytest.warns(UserWarning, match="licence is too small"):
        result = model.optimize(**QUIET)
    assert model.ObjVal == pytest.approx(own_objective(result), abs=1e-9)
    assert model.ObjVal > result.objective + 0.01
    model.write(str(tmp_path / "point.sol"))
    assert f"# Objective value = {own_objective(result)!r}" in (tmp_path / "point.sol").read_text()


def test_a_registered_function_gets_the_region():
    gp = pytest.importorskip("gurobipy")
    from dcembed.frontends import registered
    from dcembed.gurobipy import add_predictor_constr, register_predictor_constr

    class Own:
        pass

    register_predictor_constr(Own, lambda model, predictor, inputs, outputs, **keywords: keywords)
    try:
        model = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
        assert add_predictor_constr(model, Own(), [], support=region("box")) == {"support": region("box")}
        assert add_predictor_constr(model, Own(), []) == {}
    finally:
        del registered._REGISTERED[Own]


def test_functions_for_one_kind_of_model_take_a_region():
    gp, pyscipopt = pytest.importorskip("gurobipy"), pytest.importorskip("pyscipopt")
    import dcembed.gurobipy as on_gurobi
    import dcembed.pyscipopt as on_scip

    model, scip = gp.Model(env=gp.Env(params={"OutputFlag": 0})), pyscipopt.Model()
    x, z = model.addMVar(2), [scip.addVar() for _ in range(2)]
    for calls, host, inputs in ((on_gurobi, model, x), (on_scip, scip, z)):
        for name in ("add_mlp_regressor_constr", "add_pipeline_constr", "add_sequential_constr", "add_keras_constr", "add_onnx_constr"):
            assert getattr(calls, name)(host, NETWORK, inputs, support=region("box")).support is region("box")


def test_scip_takes_no_point_outside(tmp_path):
    pytest.importorskip("pyscipopt")
    scip = build_pyscipopt(tmp_path, region("hull"))
    x0, x1, y = scip.getVars()
    for point, is_inside in (([0.9, 0.5], False), (DATA.mean(axis=0), True)):
        solution = scip.createOrigSol()
        for variable, value in zip((x0, x1, y), [*point, NETWORK([point])[0, 0]], strict=True):
            scip.setSolVal(solution, variable, value)
        assert scip.checkSol(solution, original=True) == is_inside
        scip.freeSol(solution)
    scip.optimize()
    assert region("hull").contains([[scip.getVal(x0), scip.getVal(x1)]], 1e-6).all()


@pytest.mark.parametrize("weight", [None, 0.1])
@pytest.mark.parametrize("is_plain", [False, True])
def test_solutions_of_before_do_not_hide_the_answer(weight, is_plain, tmp_path):
    pytest.importorskip("pyscipopt")
    from dcembed.frontends.pyscipopt_predictor import registry
    from dcembed.pyscipopt import add_predictor_constr, optimize

    # At this weight the answer is inside either way.
    kept = dcembed.support(DATA, **KINDS["hull"], weight=weight)
    scip = build_pyscipopt(tmp_path, None)
    unbound = optimize(scip, **QUIET)
    scip.freeTransform()
    registry(scip)[0].remove()
    x0, x1, y = scip.getVars()
    predictor = add_predictor_constr(scip, NETWORK, [x0, x1], [y], support=kept)
    if is_plain:
        scip.optimize()
    else:
        optimize(scip, **QUIET)
    # The point of before is better by SCIP's own objective.
    assert scip.getObjVal() < unbound.objective - 1e-3
    point = [scip.getVal(x0), scip.getVal(x1)]
    assert point == pytest.approx(predictor.input_values[0].tolist(), abs=1e-9)
    assert kept.contains([point], 1e-6).all()
    assert scip.getObjVal() == pytest.approx(reference("hull").objective, abs=1e-5)


def test_scip_is_told_no_bound_of_an_objective_with_a_price(tmp_path):
    pytest.importorskip("pyscipopt")
    from dcembed.pyscipopt import optimize

    hard, soft = (build_pyscipopt(tmp_path, region(name)) for name in ("box", "soft box"))
    result = optimize(hard, **QUIET, prove="auto")
    assert hard.getDualbound() == pytest.approx(result.bound, abs=1e-6)
    result = optimize(soft, **QUIET, prove="auto")
    assert np.isfinite(result.bound)
    assert soft.getDualbound() >= soft.infinity()
    assert soft.getStatus() == "userinterrupt"


def test_a_region_holds_where_a_disjunct_is_off(tmp_path):
    """As predictions do: who needs another state has it among the data."""
    pyo = pytest.importorskip("pyomo.environ")
    from pyomo.gdp import Disjunct, Disjunction

    import dcembed.pyomo

    box = dcembed.support([[1.0, 1.0], [2.0, 2.0]], "box", discrete=[])
    for region_of_unit, status in ((None, True), (box, False), (dcembed.support([[0.0, 0.0], [2.0, 2.0]], "box", discrete=[]), True)):
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(2), bounds=(0, 2))
        m.nn = pyo.Block()
        y = dcembed.pyomo.embed(m.nn, NETWORK, inputs=m.x, support=region_of_unit).output[0][0]
        m.on, m.off = Disjunct(), Disjunct()
        m.on.enough = pyo.Constraint(expr=y >= 100)
        m.off.none = pyo.Constraint(expr=m.x[0] + m.x[1] <= 0)
        m.choice = Disjunction(expr=[m.on, m.off])
        m.cost = pyo.Objective(expr=m.x[0])
        solver = pyo.SolverFactory("dcembed")
        solver.solve(m, options=QUIET)
        assert solver.result.is_feasible == status


def test_a_pyomo_model_is_copied_with_the_region(tmp_path):
    pytest.importorskip("pyomo")
    twin = build_pyomo(tmp_path, region("box")).clone()
    assert CASES["pyomo"].solve(twin, **QUIET).objective == pytest.approx(reference("box").objective, abs=1e-6)


def test_a_linopy_model_is_copied_with_the_region(tmp_path):
    pytest.importorskip("linopy")
    twin = build_linopy(tmp_path, region("box")).copy()
    assert CASES["linopy"].solve(twin, **QUIET).objective == pytest.approx(reference("box").objective, abs=1e-6)


def test_masked_evaluations_of_linopy_are_in_the_region():
    linopy = pytest.importorskip("linopy")
    xarray = pytest.importorskip("xarray")
    import dcembed.linopy

    model = linopy.Model()
    x = model.add_variables(lower=-1, upper=1, coords=[range(3), range(2)], dims=["t", "i"], name="x")
    mask = xarray.DataArray([True, False, True], dims=["t"], coords={"t": range(3)})
    embedded = dcembed.linopy.embed(model, NETWORK, x, feature_dim="i", mask=mask, support=region("box"))
    model.add_objective(x.sum() + 0 * embedded.output.sum(), sense="max")
    dcembed.linopy.solve(model, **QUIET)
    values = model.solution["x"].values
    assert values[[0, 2]] == pytest.approx(np.tile(DATA.max(axis=0), (2, 1)), abs=1e-5)
    # Where the network is not evaluated nothing is asked for.
    assert values[1] == pytest.approx([1.0, 1.0])
    assert embedded.support is region("box")


def test_a_region_of_omlt_is_about_what_the_network_sees():
    omlt, pyo = pytest.importorskip("omlt"), pytest.importorskip("pyomo.environ")
    from omlt.neuralnet import NetworkDefinition
    from omlt.neuralnet.layer import DenseLayer, InputLayer

    from dcembed.omlt import DCEmbedFormulation

    scaling = omlt.OffsetScaling([10.0, 20.0], [2.0, 4.0], [0.0], [1.0])
    definition = NetworkDefinition(scaling_object=scaling)
    first, last = InputLayer([2]), DenseLayer([2], [1], weights=np.array([[1.0], [1.0]]), biases=np.zeros(1), activation="linear")
    definition.add_layer(first)
    definition.add_layer(last)
    definition.add_edge(first, last)
    m = pyo.ConcreteModel()
    m.nn = omlt.OmltBlock()
    m.nn.build_formulation(DCEmbedFormulation(definition, support=dcembed.support(DATA, "box")))
    m.nn.inputs.setlb(-100)
    m.nn.inputs.setub(100)
    m.profit = pyo.Objective(expr=m.nn.outputs[0], sense=pyo.maximize)
    pyo.SolverFactory("dcembed").solve(m, options=QUIET)
    scaled = DATA.max(axis=0)
    assert [m.nn.inputs[i].value for i in range(2)] == pytest.approx([10 + 2 * scaled[0], 20 + 4 * scaled[1]], abs=1e-4)


# Files


def write_list(folder: Path, support: str, suffix: str = "toml") -> Path:
    """A host, a network, its data in every form, and a list of embeddings with this support."""
    (folder / "host.lp").write_text(HOST.format(""))
    dcembed.save_network(NETWORK, folder / "net.npz")
    targets = NETWORK(DATA)
    rows = [f"{a!r},{c!r},{b!r}" for (a, b), c in zip(DATA.tolist(), targets[:, 0].tolist(), strict=True)]
    (folder / "train.csv").write_text("\n".join(["x0,quality,x1", *rows]) + "\n")
    rows = [f"{b!r}, {a!r}" for a, b in DATA.tolist()]
    (folder / "turned.csv").write_text("\n".join(["x1,x0", *rows]) + "\n")
    np.save(folder / "train.npy", DATA)
    np.savez(folder / "train.npz", inputs=DATA, quality=targets)
    np.savez(folder / "many.npz", one=DATA, two=DATA)
    (folder / "objects.npy").write_bytes(b"\x93NUMPY\x01\x00")
    np.save(folder / "objects_too.npy", np.array([{}]), allow_pickle=True)
    (folder / "empty.csv").write_text("x0,x1\n")
    (folder / "numbers.csv").write_text("1,2\n3,4\n5,6\n")
    (folder / "torn.csv").write_text("x0,x1\n3,4\n5\n")
    (folder / "holes.csv").write_text("x0,x1\n3,4\n5,\n")
    (folder / "semicolons.csv").write_text("x0;x1\n3;4\n5;6\n")
    path = folder / f"list.{suffix}"
    if suffix == "json":
        entry = {"network": "net.npz", "inputs": ["x*"], "outputs": ["y"], "support": json.loads(support)}
        path.write_text(json.dumps({"embedding": [entry]}))
    else:
        path.write_text(f'[[embedding]]\nnetwork = "net.npz"\ninputs = ["x*"]\noutputs = ["y"]\nsupport = {support}\n')
    return path


def solve_list(folder: Path, path: Path) -> Result:
    from dcembed.frontends.files_ import ModelFile

    return CASES["files"].solve(ModelFile(folder / "host.lp", path), **QUIET)


TABLES = {
    "a column of targets": ('{ data = "train.csv", targets = "quality", kind = "box" }', "box"),
    "columns in another order": ('{ data = "turned.csv", kind = "box" }', "box"),
    "an array": ('{ data = "train.npy", kind = "hull", points = 12 }', "hull"),
    "arrays": ('{ data = "train.npz", targets = ["quality"], kind = "ellipsoid", coverage = 0.9 }', "ellipsoid"),
    "clusters": ('{ data = "train.npy", kind = "clusters", clusters = 2, shape = "box", seed = 0, discrete = [] }', "clusters"),
    "a price": ('{ data = "train.npy", kind = "hull", points = 12, weight = 0.05 }', "soft hull"),
}


@pytest.mark.parametrize("table", TABLES)
def test_a_support_in_a_list_of_embeddings(table, tmp_path):
    text, name = TABLES[table]
    result = solve_list(tmp_path, write_list(tmp_path, text))
    assert result.objective == pytest.approx(reference(name).objective, abs=1e-6)
    if "targets" in text:
        assert np.array_equal(result.embeddings[0].support.targets, NETWORK(DATA))


def test_a_support_in_json(tmp_path):
    path = write_list(tmp_path, '{"data": "train.npy", "kind": "box", "weight": null}', "json")
    assert solve_list(tmp_path, path).objective == pytest.approx(reference("box").objective, abs=1e-6)


def test_a_network_says_where_inputs_belong(tmp_path):
    path = write_list(tmp_path, '{ data = "train.npy", kind = "network", network = "score.npz", threshold = -0.5 }')
    # Inputs belong where -|x0| >= -1/2.
    dcembed.save_network(dcembed.build_mlp([[[1.0, 0.0], [-1.0, 0.0]], [[-1.0, -1.0]]], [None, None]), tmp_path / "score.npz")
    result = solve_list(tmp_path, path)
    assert result.is_feasible
    assert abs(result.by_name["x0"]) <= 0.5 + 1e-5


BAD_TABLES = {
    '"train.csv"': r"support: a table with data is expected",
    '{ kind = "hull" }': r"support: a table with data is expected",
    '{ data = "train.npy", knd = "hull" }': r"support: there is no key 'knd'. Accepted: data, kind, weight",
    '{ data = 3 }': r"support: data is not accepted: the path of a file is expected, received int 3",
    '{ data = "nowhere.csv" }': r"There is no file .*nowhere\.csv",
    '{ data = "train.xlsx" }': r"train\.xlsx is no file of data by its name; accepted are \.csv, \.npy, \.npz",
    '{ data = "train.csv" }': r"data with 3 columns, but the network has 2 inputs",
    '{ data = "train.csv", targets = "price" }': r"targets names 'price', but .*train\.csv has no such column. It has 'x0', 'quality', 'x1'",
    '{ data = "train.npy", targets = "price" }': r"has one array without names, and no targets",
    '{ data = "many.npz" }': r"many\.npz has 2 arrays beside targets \(one, two\)",
    '{ data = "objects.npy" }': r"objects\.npy cannot be read",
    '{ data = "objects_too.npy" }': r"objects_too\.npy cannot be read",
    '{ data = "empty.csv" }': r"empty\.csv has 1 lines",
    '{ data = "numbers.csv" }': r"the first line of .*numbers\.csv has no names of columns",
    '{ data = "torn.csv" }': r"torn\.csv has 2 columns, but 1 entries in its row 2",
    '{ data = "holes.csv" }': r"NaN or infinite entries, the first in row 1, x1",
    '{ data = "semicolons.csv" }': r"separated by semicolons; commas are expected",
    '{ data = "train.npy", kind = "sphere" }': r"support: kind='sphere' is not known",
    '{ data = "train.npy", weight = "much" }': r"support: weight",
    '{ data = "train.npy", kind = "network", network = "nowhere.onnx" }': r"nowhere\.onnx",
}  # fmt: skip


@pytest.mark.parametrize("table", BAD_TABLES)
def test_mistakes_in_a_list_name_the_file_and_the_embedding(table, tmp_path):
    path = write_list(tmp_path, table)
    with pytest.raises(InputError, match=BAD_TABLES[table]) as error:
        solve_list(tmp_path, path)
    assert str(error.value).startswith(f"{path}, embedding 0: ")


def test_the_command_line_shows_the_region_and_goes_on_with_it(tmp_path, capsys):
    from dcembed.cli import main

    path = write_list(tmp_path, '{ data = "train.npy", kind = "box" }')
    saved = str(tmp_path / "run.npz")
    common = ["--time-limit", "20", "--option", "max_starts=1", "--save", saved]
    assert main(["solve", str(tmp_path / "host.lp"), "--embeddings", str(path), *common]) == 0
    assert "inputs must be in the box of the data" in capsys.readouterr().out
    assert main(["solve", "--resume", saved, *common]) == 0
    assert "inputs must be in the box of the data" in capsys.readouterr().out
    assert dcembed.load_result(saved).objective == pytest.approx(reference("box").objective, abs=1e-6)
