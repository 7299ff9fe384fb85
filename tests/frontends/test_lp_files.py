"""LP and MPS files as other tools write them: the same columns, rows, indicators and names as in the model that was written."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed
from dcembed.errors import InputError
from dcembed.frontends.files_ import read_host

REMEDY = (
    "Write it as linear rows, or build the model in a tool that dcembed has a front end for; gurobipy.read, for one, reads such a file."
)


@pytest.fixture
def gurobi():
    gurobipy = pytest.importorskip("gurobipy")
    try:
        return gurobipy, gurobipy.Env(params={"OutputFlag": 0})
    except gurobipy.GurobiError as error:
        pytest.skip(str(error))


def build_gurobi(gurobi, names):
    """A model with everything that is read, with names of its own for columns and rows."""
    gurobipy, env = gurobi
    infinity = gurobipy.GRB.INFINITY
    model = gurobipy.Model(env=env)
    x = [model.addVar(lb=-1.0 - i, ub=4.0 + i, name=name) for i, name in enumerate(names["columns"])]
    binary = model.addVar(vtype="B", name="on[1]")
    fixed = model.addVar(vtype="B", lb=1, name="fixed")
    whole = model.addVar(vtype="I", lb=-5, ub=5, name="k[a,b]")
    wide = model.addVar(vtype="I", name="wide")
    free = model.addVar(lb=-infinity, name="free")
    below = model.addVar(lb=-infinity, ub=-0.5, name="infinity")
    rows = names["rows"]
    model.addConstr(1.5 * x[0] - 2e-7 * x[1] + whole + fixed >= -3, name=rows[0])
    model.addRange(gurobipy.quicksum(x) + wide, -2.5, 30, name=rows[1])
    model.addConstr(x[0] == 0.25, name=rows[2])
    # Long enough for several lines.
    model.addConstr(gurobipy.quicksum(model.addVars(40, name="a_column_of_many", ub=1.0).values()) + x[0] <= 7, name="long")
    model.addConstr((binary == 1) >> (x[0] + 2 * x[1] <= 1), name=rows[3])
    model.addConstr((binary == 0) >> (x[1] - x[0] == 0.5), name=rows[4])
    lazy = model.addConstr(x[1] <= 3.5, name="lazy")
    lazy.Lazy = 1
    model.setObjective(-(x[0] * x[0]) - 3 * x[0] * x[1] - 4 * x[1] * x[1] + 4 * free + whole - below + 7.5, gurobipy.GRB.MAXIMIZE)
    model.update()
    return model


def of_gurobi(model):
    """The numbers of a gurobipy model, by the names of its columns and rows."""
    variables = model.getVars()
    rows = {
        row.ConstrName: (
            {model.getRow(row).getVar(i).VarName: model.getRow(row).getCoeff(i) for i in range(model.getRow(row).size())},
            -np.inf if row.Sense == "<" else row.RHS,
            np.inf if row.Sense == ">" else row.RHS,
        )
        for row in model.getConstrs()
    }
    indicators = {}
    for general in model.getGenConstrs():
        binary, value, expression, sense, rhs = model.getGenConstrIndicator(general)
        line = {expression.getVar(i).VarName: expression.getCoeff(i) for i in range(expression.size())}
        limits = (-np.inf if sense == "<" else rhs, np.inf if sense == ">" else rhs)
        indicators[general.GenConstrName] = (binary.VarName, int(value), line, *limits)
    return {
        "bounds": {v.VarName: (v.LB if v.LB > -1e20 else -np.inf, v.UB if v.UB < 1e20 else np.inf) for v in variables},
        "integer": {v.VarName for v in variables if v.VType in "BI"},
        "cost": {v.VarName: v.Obj for v in variables if v.Obj},
        "rows": rows,
        "indicators": indicators,
        "sense": model.ModelSense,
    }


def of_program(program):
    names = program.column_names

    def line(row):
        return {names[j]: value for j, value in enumerate(row.tolist()) if value}

    return {
        "bounds": dict(zip(names, zip(program.lb.tolist(), program.ub.tolist(), strict=True), strict=True)),
        "integer": {name for name, is_integer in zip(names, program.integer, strict=True) if is_integer},
        "cost": line(program.cost),
        "rows": {
            name: (line(row), lb, ub)
            for name, row, lb, ub in zip(program.row_names, program.rows.toarray(), program.row_lb, program.row_ub, strict=True)
        },
        "indicators": {
            each.name: (names[each.column], each.value, line(each.coefficients.toarray()[0]), each.lb, each.ub)
            for each in program.indicators
        },
        "sense": -1 if program.maximize else 1,
    }


NAMES = {
    "plain": {"columns": ["x", "y"], "rows": ["r0", "r1", "r2", "if1", "if0"]},
    "brackets": {"columns": ["x[0]", "x[north,1]"], "rows": ["r[0]", "r[1]", "r[a,b]", "if[1]", "if[0]"]},
    "signs": {"columns": ["flow[a->b]", "x[-1,<=]"], "rows": ["a+b", "r/s", "2r", "c=d", "if->"]},
    "words": {"columns": ["st", "e5"], "rows": ["bounds", "end", "free", "max", "obj"]},
    "letters": {"columns": ["größe", "x#1!"], "rows": ["r'", "[r]", "r(1)", "r{1}", "r;1"]},
    "numbers": {"columns": ["2x", "-x"], "rows": ["1r", "e5", ".r", "R7", "r8"]},
}


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".lp.gz"])
@pytest.mark.parametrize("kind", NAMES)
def test_what_gurobi_writes_is_the_model(gurobi, tmp_path, kind, suffix):
    model = build_gurobi(gurobi, NAMES[kind])
    path = tmp_path / f"model{suffix}"
    model.write(str(path))
    program = read_host(path)
    expected, found = of_gurobi(model), of_program(program)
    assert found == expected
    assert program.offset == 7.5
    x, y = (program.column_names.index(name) for name in NAMES[kind]["columns"])
    w = np.zeros(program.num_columns)
    w[x], w[y] = 0.3, -0.7
    assert program.objective(w) == pytest.approx(7.5 - 0.09 + 3 * 0.21 - 4 * 0.49)


def test_blanks_in_names_are_underscores_where_gurobi_writes_them_so(gurobi, tmp_path):
    model = build_gurobi(gurobi, {"columns": ["two words", "y"], "rows": ["a row", "r1", "r2", "an if", "if0"]})
    model.write(str(tmp_path / "a.lp"))
    program = read_host(tmp_path / "a.lp")
    assert {"two_words", "y"} <= set(program.column_names)
    assert program.row_names[0] == "a_row"
    assert [indicator.name for indicator in program.indicators] == ["an_if", "if0"]


def refusals(gurobipy, model, y):
    return {
        "SOS": lambda: model.addSOS(1, y[:2], [1, 2]),
        "General Constraints": lambda: model.addGenConstrMax(y[2], y[:2], name="most"),
        "PWLObj": lambda: model.setPWLObj(y[3], [0, 1, 2], [0, 1, 4]),
        "Semi-continuous": lambda: setattr(y[1], "VType", "S"),
        "product": lambda: model.addConstr(y[0] * y[0] + y[1] <= 3, name="ball[1]"),
        "multi": lambda: (model.setObjectiveN(y[0], 0, 2), model.setObjectiveN(y[1], 1, 1)),
    }


MESSAGES = {
    "SOS": ("s0: S1 :: ", "section SOS (special ordered sets) is not read from files. " + REMEDY),
    "General Constraints": ("most: y[2] = MAX (", "section General Constraints (general constraints) is not read from files. " + REMEDY),
    "PWLObj": ("y[3]: (0, 0)", "section PWLObj (a piecewise-linear objective) is not read from files. " + REMEDY),
    "Semi-continuous": ("y[1]", "section Semi-continuous (semi-continuous columns) is not read from files. " + REMEDY),
    "product": ("ball[1]:", "row 'ball[1]' has products of columns; a quadratic constraint is not read from files. " + REMEDY),
    "multi": ("Minimize multi-objectives", "several objectives are not read. Write one, with weights."),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_what_is_not_read_is_refused_with_its_line(gurobi, tmp_path, kind):
    gurobipy, env = gurobi
    model = gurobipy.Model(env=env)
    y = [model.addVar(name=f"y[{i}]", ub=3.0) for i in range(4)]
    model.addConstr(y[0] + y[1] >= 1)
    model.update()
    refusals(gurobipy, model, y)[kind]()
    path = tmp_path / "a.lp"
    model.write(str(path))
    words, message = MESSAGES[kind]
    lines = [line.split() for line in path.read_text().splitlines()]
    # The last line that begins so: a column stands in the bounds too.
    number = max(n for n, line in enumerate(lines, 1) if line[: len(words.split())] == words.split())
    with pytest.raises(InputError) as error:
        read_host(path)
    assert str(error.value) == f"{path}, line {number}: {message}"


def test_what_pyomo_writes_is_the_model(tmp_path):
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(["north", "a-b"], bounds=(-1, 4))
    model.k = pyo.Var([(1, 2)], domain=pyo.Integers, bounds=(-5, 5))
    model.b = pyo.Var(domain=pyo.Binary)
    model.f = pyo.Var()
    model.cost = pyo.Objective(expr=model.x["north"] ** 2 + 2 * model.x["north"] * model.x["a-b"] + 3 * model.x["a-b"] ** 2 + 4 * model.f)
    model.c = pyo.Constraint(expr=pyo.inequality(-2, model.x["north"] + model.f + model.b, 3))
    model.d = pyo.Constraint([1], rule=lambda m, i: m.x["a-b"] + 2 * m.k[1, 2] == 1)
    model.write(str(tmp_path / "a.lp"), io_options={"symbolic_solver_labels": True})
    found = of_program(read_host(tmp_path / "a.lp"))
    inf = np.inf
    bounds = {"x(north)": (-1, 4), "x(a_b)": (-1, 4), "k(1_2)": (-5, 5), "b": (0, 1), "f": (-inf, inf)}
    # Older and newer versions write a column that is one beside these.
    assert {name: found["bounds"].get(name) for name in bounds} == bounds
    assert found["integer"] == {"b", "k(1_2)"}
    assert found["rows"]["r_l_c_"] == ({"x(north)": 1, "f": 1, "b": 1}, -2, inf)
    assert found["rows"]["c_e_d(1)_"] == ({"x(a_b)": 1, "k(1_2)": 2}, 1, 1)


def test_what_scip_writes_is_the_model(tmp_path):
    pyscipopt = pytest.importorskip("pyscipopt")
    model = pyscipopt.Model()
    model.hideOutput()
    x = [model.addVar(f"x[{i}]", lb=-1, ub=4) for i in range(2)]
    k, b = model.addVar("k[a,b]", "I", lb=-5, ub=5), model.addVar("b", "B")
    arrow = model.addVar("flow(a->b)", lb=None)
    model.addCons(x[0] - x[1] + 2 * k + arrow >= -2, "r[0]")
    model.addConsIndicator(x[0] + x[1] <= 1, b, name="if[1]")
    model.setObjective(x[0] - 3 * k + 7.5, "maximize")
    for suffix, names in ((".lp", ["if[1]"]), (".mps", ["indlin_if[1]"])):
        path = tmp_path / f"a{suffix}"
        model.writeProblem(str(path), verbose=False)
        program = read_host(path)
        found = of_program(program)
        assert found["rows"] == {"r[0]": ({"x[0]": 1, "x[1]": -1, "k[a,b]": 2, "flow(a->b)": 1}, -2, np.inf)}
        assert found["indicators"] == {names[0]: ("b", 1, {"x[0]": 1, "x[1]": 1}, -np.inf, 1)}
        assert (found["integer"], found["sense"], program.offset) == ({"k[a,b]", "b"}, -1, 7.5)
        assert found["bounds"]["flow(a->b)"] == (-np.inf, np.inf)


def test_a_name_with_a_blank_is_refused_where_it_is_written(tmp_path):
    pyscipopt = pytest.importorskip("pyscipopt")
    model = pyscipopt.Model()
    model.hideOutput()
    model.addCons(model.addVar("x") + model.addVar("two words") >= 1, "r")
    for suffix, message in ((".lp", "'words' stands where +, - or a relation is expected."), (".mps", "has a name with a blank")):
        path = tmp_path / f"a{suffix}"
        model.writeProblem(str(path), verbose=False)
        number = next(n for n, line in enumerate(path.read_text().splitlines(), 1) if "two words" in line)
        with pytest.raises(InputError) as error:
            read_host(path)
        assert str(error.value).startswith(f"{path}, line {number}: ")
        assert message in str(error.value)


@pytest.mark.parametrize("explicit", [False, True])
def test_what_linopy_writes_is_the_model(tmp_path, explicit):
    linopy, pandas = pytest.importorskip("linopy"), pytest.importorskip("pandas")
    model = linopy.Model()
    x = model.add_variables(lower=-1, upper=4, coords=[pandas.Index(["a", "b"], name="t")], name="x")
    k = model.add_variables(lower=-5, upper=5, integer=True, name="k")
    b = model.add_variables(binary=True, name="b")
    model.add_constraints(x + 2 * k >= 1, name="r")
    model.add_objective((x * x).sum() - 3 * k + b)
    model.to_file(tmp_path / "a.lp", explicit_coordinate_names=explicit)
    program = read_host(tmp_path / "a.lp")
    order = {name: number for number, name in enumerate(program.column_names)}
    names = ["x(a)#0", "x(b)#1", "k#2", "b#3"] if explicit else ["x0", "x1", "x2", "x3"]
    columns = [order[name] for name in names]
    assert program.rows.toarray()[:, columns].tolist() == [[1, 0, 2, 0], [0, 1, 2, 0]]
    assert program.cost[columns].tolist() == [0, 0, -3, 1]
    assert program.quadratic.toarray()[np.ix_(columns, columns)].tolist() == np.diag([2, 2, 0, 0]).tolist()
    assert program.lb[columns].tolist() == [-1, -1, -5, 0]
    assert program.integer[columns].tolist() == [False, False, True, True]


def test_what_highs_writes_is_the_model(tmp_path):
    import highspy

    (tmp_path / "a.lp").write_text(CPLEX.replace(" ind1: b = 1 -> x1 + x2 <= 4\n ind0: b=0->x1 - x2 >= -1\n", ""))
    before = read_host(tmp_path / "a.lp")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    columns, rows = before.num_columns, before.rows.tocsr()
    for lb, ub, is_integer, cost in zip(before.lb, before.ub, before.integer, before.cost, strict=True):
        highs.addVariable(lb, ub, cost, highspy.HighsVarType.kInteger if is_integer else highspy.HighsVarType.kContinuous)
    for number in range(rows.shape[0]):
        line = rows[[number]]
        highs.addRow(before.row_lb[number], before.row_ub[number], line.nnz, line.indices, line.data)
    for number in range(columns):
        highs.passColName(number, before.column_names[number])
    highs.writeModel(str(tmp_path / "b.lp"))
    after = read_host(tmp_path / "b.lp")
    order = [after.column_names.index(name) for name in before.column_names]
    assert after.cost[order].tolist() == before.cost.tolist()
    assert (after.lb[order].tolist(), after.ub[order].tolist()) == (before.lb.tolist(), before.ub.tolist())
    assert after.integer[order].tolist() == before.integer.tolist()
    # HiGHS writes a range as one row with two sides, or as two.
    assert {tuple(row) for row in after.rows.toarray()[:, order].tolist()} == {tuple(row) for row in before.rows.toarray().tolist()}


CPLEX = r"""\ENCODING=ISO-8859-1
\Problem name: a model

Minimize
 obj1: 3 x1 + 2x2 - x#3 + x1 + 10 + [ x1^2 + 4 x1*x2 + 7 x2 ^ 2 ]/2
Subject To
 c1: x1+x2>=1
 c2: -5 <= x1 - x#3 <= 5
 ind1: b = 1 -> x1 + x2 <= 4
 ind0: b=0->x1 - x2 >= -1
 4 >= x2
 c4: 2 x1 + 1 + x1 >= -1.5e-1
 x2 + x#3 => - 2
Bounds
 x1 <= 40
 -Inf <= x2 <= +Inf
 x#3 >= -1e20
Binaries
 b
End
what comes after the end is not read
"""


def test_the_free_form_of_cplex(tmp_path):
    (tmp_path / "a.lp").write_text(CPLEX)
    program = read_host(tmp_path / "a.lp")
    inf = np.inf
    found = of_program(program)
    assert found["cost"] == {"x1": 4, "x2": 2, "x#3": -1}
    assert program.offset == 10
    assert found["rows"] == {
        "c1": ({"x1": 1, "x2": 1}, 1, inf),
        "c2": ({"x1": 1, "x#3": -1}, -5, 5),
        "R4": ({"x2": 1}, -inf, 4),
        "c4": ({"x1": 3}, -1.15, inf),
        "R6": ({"x2": 1, "x#3": 1}, -2, inf),
    }
    assert found["indicators"] == {
        "ind1": ("b", 1, {"x1": 1, "x2": 1}, -inf, 4),
        "ind0": ("b", 0, {"x1": 1, "x2": -1}, -1, inf),
    }
    assert found["bounds"] == {"x1": (0, 40), "x2": (-inf, inf), "x#3": (-inf, inf), "b": (0, 1)}
    assert program.quadratic.toarray()[:2, :2].tolist() == [[1, 2], [2, 7]]


LP = "Minimize\n obj: x + 2 y\nSubject To\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "line 1: 'hello' stands before the objective. An LP file begins with Minimize or Maximize."),
        ("Minimize\n obj: x y\nEnd\n", "line 2: 'y' stands where +, - or a relation is expected."),
        ("Minimize\n obj: x +\nSubject To\nEnd\n", "line 2: the section ends where a term is expected."),
        (f"{LP} c: x + two words >= 1\nEnd\n", "line 4: 'words' stands where +, - or a relation is expected."),
        (f"{LP} c: x + y\n >= z\nEnd\n", "line 5: 'z' stands where a number is expected."),
        (f"{LP} c: x + y >= abc def\nEnd\n", "line 4: 'abc' stands where a number is expected."),
        (f"{LP} c: x + y\nBounds\n x <= 4\nEnd\n", "line 4: the section ends where <=, >= or = is expected."),
        (f"{LP} c: 2 (x + y) >= 1\nEnd\n", "line 4: '(x' begins with a parenthesis. Write products out, term by term."),
        (f"{LP} c: b = 1 <-> x >= 1\nEnd\n", "line 4: <-> is not read. Write two indicators, one for each value of 'b'."),
        (f"{LP} c: b = 2 -> x >= 1\nEnd\n", "line 4: an indicator is on at 0 or 1, not at 2."),
        (f"{LP} c: x -> y >= 1\nEnd\n", "line 4: '->' stands where <=, >= or = is expected."),
        (f"{LP} c: x >= 1\nBounds\n x\nEnd\n", "line 6: the section ends where <=, >= or = is expected."),
        (f"{LP} c: x >= 1\nBounds\n 3 <= 4\nEnd\n", "line 6: '4' stands where the name of a column is expected."),
        (f"{LP} c: x >= 1\nGenerals\n x + y\nEnd\n", "line 6: '+' stands where the name of a column is expected."),
        ("Minimize\n obj: [ x^3 ] / 2\nEnd\n", "line 2: '3' stands where the exponent 2 is expected."),
        ("Minimize\n obj: [ x^2 ] / 3\nEnd\n", "line 2: '3' stands where the 2 of / 2 is expected."),
        ("Minimize\n obj: [ x^2 + y ] / 2\nEnd\n", "line 2: ']' stands where ^2 or * and a column is expected."),
        ("Minimize\n obj: [ x^2", "line 2: the section ends where a column is expected."),
    ],
)
def test_a_line_that_is_not_understood_is_named(tmp_path, text, message):
    path = tmp_path / "a.lp"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_host(path)
    assert str(error.value) == f"{path}, {message}"


MPS = "NAME T\nROWS\n N COST\n G c1\nLAZYCONS\n L c2\nCOLUMNS\n x COST 1 c1 1\n x c2 1\n b c1 1\nRHS\n RHS c1 1 c2 4\nBOUNDS\n BV B b\n"


def test_indicators_and_lazy_rows_of_an_mps_file(tmp_path):
    (tmp_path / "a.mps").write_text(f"{MPS}INDICATORS\n IF c1 b 0\nENDATA\n")
    program = read_host(tmp_path / "a.mps")
    found = of_program(program)
    assert found["rows"] == {"c2": ({"x": 1}, -np.inf, 4)}
    assert found["indicators"] == {"c1": ("b", 0, {"x": 1, "b": 1}, 1, np.inf)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (" IF c9 b 1", "line 16: an indicator names 'c9', which is no row and no column of the file."),
        (" IF c1 z 1", "line 16: an indicator names 'z', which is no row and no column of the file."),
        (" IF c1 b 2", "line 16: 'IF c1 b 2' is not an indicator: IF, a row, a column and 0 or 1 are expected, names without blanks."),
        (" IF c1", "line 16: 'IF c1' is not complete; in INDICATORS a line has 4 words or more."),
    ],
)
def test_indicators_of_an_mps_file_that_are_wrong(tmp_path, line, message):
    path = tmp_path / "a.mps"
    path.write_text(f"{MPS}INDICATORS\n{line}\nENDATA\n")
    with pytest.raises(InputError) as error:
        read_host(path)
    assert str(error.value) == f"{path}, {message}"


def test_an_indicator_on_a_column_that_is_not_binary_is_refused_by_name(tmp_path):
    (tmp_path / "a.lp").write_text(f"{LP} only[1]: x = 1 -> y >= 1\nEnd\n")
    with pytest.raises(InputError, match=r"a\.lp: Program: indicator 'only\[1\]'.*'x'"):
        read_host(tmp_path / "a.lp")


def test_an_indicator_of_a_file_holds_in_the_answer(tmp_path):
    """It pays to switch on, and then the row holds: x + y <= 0.5."""
    path = tmp_path / "a.lp"
    path.write_text(
        "Maximize\n obj: p[out] + 4 on[1]\nSubject To\n if[1]: on[1] = 1 -> x[0] + x[1] <= 0.5\n"
        "Bounds\n -1 <= x[0] <= 1\n -1 <= x[1] <= 1\n -50 <= p[out] <= 50\nBinaries\n on[1]\nEnd\n"
    )
    network = dcembed.build_mlp(weights=[np.eye(2), np.ones((1, 2))], biases=[None, None])
    dcembed.save_network(network, tmp_path / "net.npz")
    from dcembed.cli import main

    command = ["solve", str(path), "--network", str(tmp_path / "net.npz"), "--inputs", "x[*]", "--outputs", "p[out]", "--quiet"]
    assert main([*command, "--solution", str(tmp_path / "out.sol")]) == 0
    pairs = [line.split() for line in (tmp_path / "out.sol").read_text().splitlines() if not line.startswith("#")]
    values = {name: float(value) for name, value in pairs}
    assert values["on[1]"] == 1
    assert values["x[0]"] + values["x[1]"] <= 0.5 + 1e-6
    assert values["p[out]"] == pytest.approx(1.0, abs=1e-5)
