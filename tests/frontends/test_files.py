"""Model files: the same answers as the matrix form, names that mean what they say, errors that name what is wrong."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pytest
from tests.frontends.hosts import HOSTS, milp_lp, miqp_mps, qp_lp
from tests.frontends.problems import ConvexQP, NeuralMILP, make_network, solved

import dcembed
from dcembed.errors import InputError
from dcembed.frontends.column_names import natural_key, select
from dcembed.frontends.files_ import (
    ModelFile,
    NetworkEntry,
    build_embedding,
    extract,
    read_embeddings,
    read_host,
    read_start,
    restore,
    write_solution,
)

QUIET = {"verbose": False}


@pytest.mark.parametrize(("name", "text", "problem", "inputs", "outputs"), HOSTS, ids=[host[0] for host in HOSTS])
def test_the_same_verified_objective_as_the_matrix_form(tmp_path, name, text, problem, inputs, outputs):
    path = tmp_path / name
    path.write_text(text)
    program = read_host(path)
    result = dcembed.solve(
        program, build_embedding(program, NetworkEntry(problem.network, inputs, outputs)), options={**QUIET, "max_starts": 1}
    )
    expected = solved(problem)
    assert result.is_feasible
    assert abs(program.sense * result.objective - expected.objective) < 1e-6
    assert path.read_text() == text


def test_a_file_is_the_program_it_says(tmp_path):
    path = tmp_path / "a.lp"
    path.write_text(
        "Maximize\n obj: x - 2 y + 3 + [ - 2 x^2 - 2 x * y - 6 y^2 ] / 2\nSubject To\n c1: x + y >= 1\n c2: x - 3 k = 0.5\n"
        "Bounds\n -4 <= x <= 4\n y free\n k <= 9\nGenerals\n k\nEnd\n"
    )
    program = read_host(path)
    assert program.column_names == ("x", "y", "k")
    assert program.row_names == ("c1", "c2")
    assert program.maximize
    w = np.array([0.3, -0.7, 2.0])
    assert program.objective(w) == pytest.approx(0.3 + 1.4 + 3 + (-2 * 0.09 + 2 * 0.21 - 6 * 0.49) / 2)
    assert np.array_equal(program.rows.toarray(), [[1, 1, 0], [1, 0, -3]])
    assert np.array_equal(program.row_lb, [1, 0.5])
    assert np.array_equal(program.row_ub, [np.inf, 0.5])
    assert np.array_equal(program.lb, [-4, -np.inf, 0])
    assert np.array_equal(program.ub, [4, np.inf, 9])
    assert np.array_equal(program.integer, [False, False, True])


def test_gzipped_files_and_files_without_rows(tmp_path):
    path = tmp_path / "m.mps.gz"
    with gzip.open(path, "wt") as stream:
        stream.write(miqp_mps())
    assert read_host(path).problem_class == "MIQP"
    path = tmp_path / "box.lp"
    path.write_text("Minimize\n obj: x + y\nSubject To\nBounds\n -1 <= x <= 1\n y free\nEnd\n")
    assert read_host(path).num_rows == 0


MPS = "NAME T\nROWS\n N COST\n G c1\nCOLUMNS\n    x COST 1.0 c1 1.0\n    b COST 1.0 c1 1.0\nRHS\n    RHS c1 1.0\n"
REMEDY = (
    "Write it as linear rows, or build the model in a tool that dcembed has a front end for; gurobipy.read, for one, reads such a file."
)
LP = "Minimize\n obj: x + 2 y\nSubject To\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", "{path} is not a model file by its name; accepted are .lp, .mps, .lp.gz, .mps.gz."),
        (
            "a.mps",
            f"{MPS}QCMATRIX c1\n x x 1\nENDATA\n",
            f"{{path}}, line 10: section QCMATRIX (quadratic constraints) is not read from files. {REMEDY}",
        ),
        (
            "a.mps",
            f"{MPS}SOS\n S1 SOS s 5\nENDATA\n",
            f"{{path}}, line 10: section SOS (special ordered sets) is not read from files. {REMEDY}",
        ),
        (
            "a.mps",
            f"{MPS}BOUNDS\n SC BND x 5\nENDATA\n",
            f"{{path}}, line 11: 'SC BND x 5' is a bound of a semi-continuous column, which is not read from files. {REMEDY}",
        ),
        ("a.mps", MPS, "{path}, line 9: the file ends before its ENDATA line; it is not complete."),
        # HiGHS reads these without end.
        (
            "a.mps",
            "ROWS\n N obj\nCOLUMNS\n x obj 1\n UP BND\n\n\n\nENDATA\n",
            "{path}, line 5: 'UP BND' is not complete; in COLUMNS a line has 3 words or more.",
        ),
        (
            "a.mps",
            "ROWS\n N obj\nCOLUMNS\n x obj 1\n\n\ne 1.0\nENDATA\n",
            "{path}, line 7: 'e 1.0' is not complete; in COLUMNS a line has 3 words or more.",
        ),
        ("a.mps", "hello\n", "{path}: It is not a readable MPS file. HiGHS says: Parser error."),
        ("a.mps", "", "{path}: It is not a readable MPS file. HiGHS says: Parser error."),
        ("a.lp", "", "{path}: There are no columns. Is it an LP file?"),
        (
            "a.lp",
            f"{LP} c1: x + [ x^2 ] >= 1\nEnd\n",
            f"{{path}}, line 4: row 'c1' has products of columns; a quadratic constraint is not read from files. {REMEDY}",
        ),
        (
            "a.lp",
            f"{LP} c1: x + y >= 1\nBounds\n y <= 9\nSemi-Continuous\n y\nEnd\n",
            f"{{path}}, line 8: section Semi-Continuous (semi-continuous columns) is not read from files. {REMEDY}",
        ),
        (
            "a.lp",
            f"{LP} c1: x + y >= 1\nBounds\n 3 <= y <= 2\nEnd\n",
            "{path}: Program: the bounds of column 'y' cross: lb = 3 > ub = 2.",
        ),
    ],
)
def test_files_that_cannot_be_read(tmp_path, capfd, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_host(path)
    assert str(error.value) == message.format(path=path)
    assert capfd.readouterr() == ("", "")


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        read_host(tmp_path / "none.lp")


NAMES = ["x10", "y", "x2", "x1", "t[2,1]", "t[1,2]", "t[1,1]", "t[2,2]", "a1", "a2", "b", "5"]


def chosen(items, width):
    picked = select(NAMES, items, width, "inputs")
    return [
        [NAMES[column] if column >= 0 else constant for column, constant in zip(*rows, strict=True)]
        for rows in zip(picked.columns.tolist(), picked.constants.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    ("items", "width", "rows"),
    [
        ("y", 1, [["y"]]),
        (["x*"], 3, [["x1", "x2", "x10"]]),
        (["x*"], 1, [["x1"], ["x2"], ["x10"]]),
        (["t[*"], 2, [["t[1,1]", "t[1,2]"], ["t[2,1]", "t[2,2]"]]),
        (["t[?,1]"], 1, [["t[1,1]"], ["t[2,1]"]]),
        (["x10", "x1"], 2, [["x10", "x1"]]),
        (["x10", "x1", "y", "b"], 2, [["x10", "x1"], ["y", "b"]]),
        (["x1", "2.5"], 2, [["x1", 2.5]]),
        (["x1", -3], 2, [["x1", -3.0]]),
        (["5"], 1, [["5"]]),
        (["a*", "t[?,2]", "b", 1.5], 4, [["a1", "t[1,2]", "b", 1.5], ["a2", "t[2,2]", "b", 1.5]]),
        ([["y", 0.5], ["b", "x?0"]], 2, [["y", 0.5], ["b", "x10"]]),
    ],
)
def test_names_patterns_and_constants(items, width, rows):
    assert chosen(items, width) == rows


def test_numbers_inside_names_are_numbers():
    assert sorted(["x10", "x9", "x1_20", "x1_3", "y"], key=natural_key) == ["x1_3", "x1_20", "x9", "x10", "y"]


@pytest.mark.parametrize(
    ("items", "width", "message"),
    [
        ([], 2, "inputs is empty; the network has 2."),
        (["z*"], 2, "inputs: no column matches 'z*'. The columns are x10, y, x2, x1, t[2,1], t[1,2], t[1,1], t[2,2], ...."),
        (
            ["x11"],
            1,
            "inputs: there is no column 'x11'. Did you mean x1 or x10? The columns are x10, y, x2, x1, t[2,1], t[1,2], t[1,1], t[2,2], ....",
        ),
        (["x*"], 2, "inputs: 3 entries are given (x1, x2, x10), but the network has 2 for each evaluation: expected a multiple of 2."),
        (["inf"], 1, "inputs: there is no column 'inf'. The columns are x10, y, x2, x1, t[2,1], t[1,2], t[1,1], t[2,2], ...."),
        ([float("nan")], 1, "inputs: the constant nan is not finite."),
        ([True], 1, "inputs: True is not accepted. Give names, patterns or numbers."),
        ([["x*"]], 1, "inputs: 'x*' matches 3 columns; inside a row of a list of lists each entry is one column."),
        ([["x1"], "x2"], 1, "inputs: 'x2' stands beside lists. Give a list for every row, or no inner lists at all."),
    ],
)
def test_names_that_mean_nothing(items, width, message):
    with pytest.raises(InputError) as error:
        select(NAMES, items, width, "inputs")
    assert str(error.value) == message


@pytest.fixture
def qp(tmp_path):
    (tmp_path / "qp.lp").write_text(qp_lp())
    dcembed.save_network(ConvexQP.network, tmp_path / "net.npz")
    return read_host(tmp_path / "qp.lp")


def test_constants_as_inputs_cost_no_column(qp):
    embedding = build_embedding(qp, NetworkEntry(ConvexQP.network, ["x0", "0.25"], ["y0"]))
    w = np.arange(6.0)
    assert np.array_equal(embedding.points(w), [[w[qp.column_names.index("x0")], 0.25]])


def test_outputs_are_columns_and_as_many_as_inputs(qp):
    with pytest.raises(InputError, match="outputs: a number stands where a column is expected"):
        build_embedding(qp, NetworkEntry(ConvexQP.network, ["x0", "x1"], ["3"]))
    with pytest.raises(InputError, match="inputs give 2 evaluations of the network but outputs give 1"):
        build_embedding(qp, NetworkEntry(ConvexQP.network, ["x*"], ["y0"]))


TOML = """
[[embedding]]
network = "net.npz"
inputs = ["x0", "x1"]
outputs = "y0"

[[embedding]]
network = "net.npz"
inputs = [["x2", "x3"]]
outputs = ["y1"]
"""


@pytest.mark.parametrize("kind", ["toml", "json", "json list"])
def test_several_embeddings_in_a_file(qp, tmp_path, kind):
    entries = [
        {"network": "net.npz", "inputs": ["x0", "x1"], "outputs": "y0"},
        {"network": "net.npz", "inputs": [["x2", "x3"]], "outputs": ["y1"]},
    ]
    texts = {"toml": TOML, "json": json.dumps({"embedding": entries}), "json list": json.dumps(entries)}
    path = tmp_path / f"embeddings.{kind.split()[0]}"
    path.write_text(texts[kind])
    embeddings = read_embeddings(path, qp)
    result = dcembed.solve(qp, embeddings, options=QUIET)
    assert result.objective == pytest.approx(solved(ConvexQP).objective, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.txt", "", "{path} is not a list of embeddings by its name; accepted are .toml and .json."),
        ("e.json", "{", "{path} is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)."),
        ("e.toml", "a = ", "{path} is not valid TOML: Invalid value (at end of document)."),
        ("e.toml", "a = 1", "{path}: a list named 'embedding' is expected ([[embedding]] in TOML), each with network, inputs and outputs."),
        ("e.json", "[]", "{path}: a list named 'embedding' is expected ([[embedding]] in TOML), each with network, inputs and outputs."),
        (
            "e.json",
            '[{"network": "net.npz", "input": ["x0"]}]',
            "{path}, embedding 0: network, inputs and outputs are expected (input_shape, architecture and support are optional), received network, input.",
        ),
        (
            "e.json",
            "[3]",
            "{path}, embedding 0: network, inputs and outputs are expected (input_shape, architecture and support are optional), received 3.",
        ),
        (
            "e.json",
            '[{"network": "net.npz", "inputs": ["x0", "q"], "outputs": "y0"}]',
            "{path}, embedding 0: inputs: there is no column 'q'. The columns are x0, x1, x2, x3, y0, y1.",
        ),
    ],
)
def test_lists_of_embeddings_that_are_wrong(qp, tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_embeddings(path, qp)
    assert str(error.value) == message.format(path=path)


@pytest.mark.parametrize("suffix", [".json", ".sol"])
def test_a_solution_is_written_and_read_back(tmp_path, suffix):
    (tmp_path / "milp.lp").write_text(milp_lp())
    path, trace = tmp_path / f"out{suffix}", tmp_path / "trace.csv"
    network = NetworkEntry(NeuralMILP.network, ["x0", "x1"], ["y"])
    extraction = extract(ModelFile(tmp_path / "milp.lp", [network], path, trace))
    program = extraction.program
    result = restore(extraction, dcembed.solve(program, extraction.embeddings, options=QUIET))
    assert np.array_equal(read_start(path, program), result.x)
    # The file is maximized, and so is what is written.
    assert result.objective > 0
    if suffix == ".json":
        record = json.loads(path.read_text())
        assert record["objective"] == result.objective
        assert record["sense"] == "maximize"
        assert record["status"] == "LOCALLY_SOLVED"
        assert record["is_feasible"] is True
        assert record["columns"]["y"] == result.x[program.column_names.index("y")]
    else:
        assert f"# Objective value = {result.objective!r}\n" in path.read_text()
    with trace.open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(float(row["seconds"]), float(row["objective"])) for row in rows] == result.incumbents


def test_an_infeasible_point_is_written_with_what_it_violates(tmp_path, qp):
    embedding = build_embedding(qp, NetworkEntry(ConvexQP.network, ["x*"], ["y*"]))
    start = np.zeros(6)
    result = dcembed.solve(qp, embedding, start, {**QUIET, "max_iterations": 0, "max_starts": 1})
    write_solution(tmp_path / "out.json", result)
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["worst_violations"][0] == {"constraint": "row 'total'", "amount": 1.0}


def test_a_run_without_a_point_is_written_too(tmp_path):
    (tmp_path / "a.lp").write_text("Minimize\n obj: y\nSubject To\n c: x + z >= 5\nBounds\n x <= 1\n z <= 1\n y free\nEnd\n")
    program = read_host(tmp_path / "a.lp")
    embedding = build_embedding(program, NetworkEntry(make_network(2, (3,), 0), ["x", "z"], "y"))
    result = dcembed.solve(program, embedding, options={**QUIET, "time_limit": 0.0})
    assert result.x is None
    for suffix in (".json", ".sol"):
        write_solution(tmp_path / f"out{suffix}", result)
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["objective"] is None
    assert record["columns"] == {}
    assert (tmp_path / "out.sol").read_text() == f"# dcembed {dcembed.__version__}: TIME_LIMIT, NOT feasible\n"


def test_a_start_that_is_wrong(qp, tmp_path):
    path = tmp_path / "s.json"
    path.write_text('{"columns": {"q": 1}}')
    with pytest.raises(InputError, match="has a value for 'q', but the model has no such column"):
        read_start(path, qp)
    for text in ("{", "[]", '{"columns": {"x0": "a"}}'):
        path.write_text(text)
        with pytest.raises(InputError, match="is not a solution file"):
            read_start(path, qp)
    path.write_text('{"columns": {"x0": 0.5}}')
    assert read_start(path, qp).tolist() == [0.5, 0, 0, 0, 0, 0]


# Names as other tools write them.


def written_by_gurobi(path):
    """As gurobipy writes it: brackets, signs and keywords in names, Latin-1."""
    text = """\\ LP format - for model browsing. Use MPS format to capture full model detail.
Minimize
  - y[a_b] + 3 e5 + a+b + 7 Constant + [ 2 x[1,2] ^2 + 2 x[1,2] * x[-1,0]
   + 2 x[-1,0] ^2 ] / 2
Subject To
 c[1,2]: x[1,2] + 2 x[-1,0] - y[a_b] >= -3
 d_e: y[c-d] + e5 + a+b + free - 1x + st = 1
 R2: y[größe] <= 4
Bounds
 -1 <= x[1,2] <= 2
 -1 <= x[-1,0] <= 2
 free free
 st free
 Constant = 1
Binaries
 e5
Generals
 a+b
End
"""
    path.write_bytes(text.encode("latin-1"))
    return path


def test_a_file_of_gurobi_keeps_its_names(tmp_path):
    program = read_host(written_by_gurobi(tmp_path / "a.lp"))
    names = list(program.column_names)
    assert program.offset == 7
    assert set(names) == {"y[a_b]", "e5", "a+b", "x[1,2]", "x[-1,0]", "y[c-d]", "free", "1x", "st", "y[größe]"}
    assert program.row_names == ("c[1,2]", "d_e", "R2")
    row = dict(zip(names, program.rows.toarray()[1].tolist(), strict=True))
    assert {name: value for name, value in row.items() if value} == {"y[c-d]": 1, "e5": 1, "a+b": 1, "free": 1, "1x": -1, "st": 1}
    assert [program.lb[names.index(name)] for name in ("free", "st", "x[1,2]", "1x")] == [-np.inf, -np.inf, -1, 0]
    assert [program.integer[names.index(name)] for name in ("e5", "a+b", "st")] == [True, True, False]
    first, second = names.index("x[1,2]"), names.index("x[-1,0]")
    assert program.quadratic.toarray()[np.ix_([first, second], [first, second])].tolist() == [[2, 1], [1, 2]]


@pytest.mark.parametrize("objective", ["[ 2 x[1]^2 ] / 2 + y", "[2x[1]^2]/2+y", "y + [ x[1] * x[1] ]/2"])
def test_brackets_of_names_and_of_quadratic_terms_are_told_apart(tmp_path, objective):
    (tmp_path / "a.lp").write_text(f"\\ a remark [1]\nMinimize\n obj: {objective}\nSubject To\n c[1]: x[1]+y>=1\nEnd\n")
    program = read_host(tmp_path / "a.lp")
    assert set(program.column_names) == {"x[1]", "y"}
    assert program.row_names == ("c[1]",)
    assert program.is_quadratic


def test_messages_and_solutions_have_the_names_of_the_file(tmp_path):
    (tmp_path / "a.lp").write_text(qp_lp().replace("x0", "x[0,0]").replace("x1", "x[0,1]").replace("total", "total[1]"))
    program = read_host(tmp_path / "a.lp")
    embedding = build_embedding(program, NetworkEntry(ConvexQP.network, ["x[0,0]", "x[0,1]", "x2", "x3"], ["y*"]))
    result = dcembed.solve(program, embedding, np.zeros(6), {**QUIET, "max_iterations": 0, "max_starts": 1})
    assert result.worst_violations[0].constraint == "row 'total[1]'"
    write_solution(tmp_path / "a.sol", result)
    assert "\nx[0,1] " in (tmp_path / "a.sol").read_text()
    assert np.array_equal(read_start(tmp_path / "a.sol", program), result.x)


def test_special_ordered_sets_are_refused_by_name(tmp_path):
    (tmp_path / "a.lp").write_text("Minimize\n obj: x + y\nSubject To\n c: x + y >= 1\nSOS\n s: S1 :: x:1 y:2\nEnd\n")
    with pytest.raises(InputError, match=r"a\.lp, line 6: section SOS \(special ordered sets\)"):
        read_host(tmp_path / "a.lp")


def test_latin_1_is_read(tmp_path):
    (tmp_path / "a.mps").write_bytes(f"{MPS}ENDATA\n".replace(" b ", " größe ").encode("latin-1"))
    assert "größe" in read_host(tmp_path / "a.mps").column_names
