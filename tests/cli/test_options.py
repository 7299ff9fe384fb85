"""The command line: what it solves, what it writes, and one line with exit code 2 for every mistake."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import MILP, SOLVE, run_module
from tests.frontends.hosts import HOSTS, milp_lp
from tests.frontends.problems import ConvexQP, NeuralMILP, solved

import dcembed
from dcembed.cli import main


@pytest.mark.parametrize(("name", "text", "problem", "inputs", "outputs"), HOSTS, ids=[host[0] for host in HOSTS])
def test_the_same_objective_as_the_matrix_form(folder, name, text, problem, inputs, outputs):
    (folder / name).write_text(text)
    dcembed.save_network(problem.network, folder / "its.npz")
    command = ["solve", name, "--network", "its.npz", "--inputs", *inputs, "--outputs", *outputs, "--solution", "out.json", "--quiet"]
    assert main([*command, "--option", "max_starts=1"]) == 0
    record = json.loads((folder / "out.json").read_text())
    expected = solved(problem).objective
    assert abs(record["objective"] * (1 if record["sense"] == "minimize" else -1) - expected) < 1e-6
    assert (folder / name).read_text() == text


def test_everything_is_written(folder, capsys):
    assert main([*MILP, "--solution", "a.sol", "--trace", "a.csv", "--plot", "a.png", "--time-limit", "60"]) == 0
    said = capsys.readouterr().out
    assert "milp.lp: Program(6 columns, 4 rows, 3 integers), maximized\n" in said
    assert "y = f(x0, x1)" in said
    assert "penalty convex-concave procedure" in said
    # The log and the closing lines have the sense of the file.
    assert "Point       objective 1.49321756" in said
    assert "-1.4932" not in said
    assert "# Objective value = 1.49321" in (folder / "a.sol").read_text()
    with (folder / "a.csv").open() as stream:
        objectives = [float(row["objective"]) for row in csv.DictReader(stream)]
    assert objectives == sorted(objectives)
    assert (folder / "a.png").stat().st_size > 10_000


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_bound_and_gap_are_written_and_said(folder, capsys, certifies, sense):
    certifies(0.1)
    command = SOLVE if sense > 0 else MILP
    assert main([*command, "--quiet", "--prove=auto", "--solution", "a.json"]) == 0
    assert main([*command, "--prove", "--time-limit", "60", "--solution", "a.sol", "--plot", "a.png", "--option", "max_starts=1"]) == 0
    record = json.loads((folder / "a.json").read_text())
    assert record["bound"] == pytest.approx(record["objective"] - 0.1 * sense)
    assert record["gap"] == pytest.approx(0.1 / record["objective"])
    assert [entry["bound"] for entry in record["bounds"]] == [record["bound"]]
    assert 1 <= record["agreement"]["near_best"] <= record["agreement"]["starts"]
    quiet, *log = capsys.readouterr().out.splitlines()
    assert f", bound {record['bound']:.9g}, gap " in quiet
    assert any(line.startswith("Bound  ") for line in log)
    assert any(line.split()[-4:] == ["bound", "gap", "at", "work"] for line in log)
    assert "# Bound = " in (folder / "a.sol").read_text()
    assert main([*command, "--quiet", "--start", "a.sol", "--option", "max_iterations=0"]) == 0


def test_a_closed_gap_is_optimal(folder, capsys, certifies):
    certifies(1e-3)
    assert main([*SOLVE, "--quiet", "--prove=auto"]) == 0
    assert main([*SOLVE, "--quiet", "--prove=auto", "--gap-tol", "0.1"]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("LOCALLY_SOLVED")
    assert second.startswith("OPTIMAL")


def test_without_a_bound_the_files_say_that_nothing_is_known(folder):
    assert main([*SOLVE, "--quiet", "--solution", "a.json"]) == 0
    record = json.loads((folder / "a.json").read_text())
    assert (record["bound"], record["gap"], record["bounds"]) == (None, None, [])


def test_a_proof_of_infeasibility_is_exit_code_1(folder, capsys, certifies):
    certifies(np.inf)
    assert main([*SOLVE, "--quiet", "--prove", "--option", "max_iterations=0", "--option", "max_starts=1", "--solution", "a.json"]) == 1
    assert capsys.readouterr().out.startswith("INFEASIBLE")
    assert json.loads((folder / "a.json").read_text())["bounds"][0]["bound"] is None


def test_quiet_is_one_line(folder, capsys):
    assert main([*SOLVE, "--quiet"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("LOCALLY_SOLVED: objective 0.309118977, violation")
    assert said.count("\n") == 1


def test_no_feasible_point_is_exit_code_1(folder, capsys):
    assert main(["solve", "hopeless.lp", "--network", "net.npz", "--inputs", "x*", "--outputs", "y", "--plot", "a.svg", "--quiet"]) == 1
    assert "NOT feasible: row 'c': 3" in capsys.readouterr().out
    assert (folder / "a.svg").exists()
    assert main([*SOLVE, "--time-limit", "0", "--quiet"]) == 1


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_an_infeasible_point_is_told_with_what_it_violates_by_name(folder, capsys, quiet):
    (folder / "zero.sol").write_text("x0 0.0\n")
    assert main([*SOLVE, *quiet, "--start", "zero.sol", "--option", "max_iterations=0", "--option", "max_starts=1"]) == 1
    assert "row 'total': 1" in capsys.readouterr().out


def test_a_solution_is_a_start(folder, capsys):
    assert main([*SOLVE, "--quiet", "--solution", "a.json"]) == 0
    assert main([*SOLVE, "--quiet", "--start", "a.json", "--option", "max_iterations=0", "--trace", "t.csv"]) == 0
    assert "ITERATION_LIMIT: objective 0.309118977" in capsys.readouterr().out


def test_a_run_is_saved_and_taken_up_again(folder, capsys):
    few = ["--quiet", "--option", "max_iterations=1", "--option", "max_starts=1"]
    assert main([*MILP, *few, "--save", "run.npz"]) == 0
    assert "Written: run.npz" in capsys.readouterr().out
    first = dcembed.load_result("run.npz")
    assert "x0" in first.program.column_names
    # With the same files, and with nothing but the file, whose problem it is; to the same file.
    assert main([*MILP, "--quiet", "--resume", "run.npz", "--save", "run.npz", "--option", "max_starts=3"]) == 0
    assert f"Going on from run.npz: objective {first.objective:.9g} (feasible)." in capsys.readouterr().out
    second = dcembed.load_result("run.npz")
    assert second.objective >= first.objective
    assert main(["solve", "--resume", "run.npz", "--prove", "--time-limit", "20", "--checkpoint", "run.npz", "--solution", "out.json"]) == 0
    said = capsys.readouterr().out
    assert "run.npz: Program(6 columns, 4 rows, 3 integers), maximized" in said
    assert "y = f(x0, x1)" in said
    third = dcembed.load_result("run.npz")
    assert third.objective >= second.objective
    assert np.isfinite(third.bound)
    assert json.loads((folder / "out.json").read_text())["columns"].keys() == set(first.program.column_names)
    # The bound is taken up with it.
    assert main(["solve", "--resume", "run.npz", *few]) == 0
    said = capsys.readouterr().out
    assert f"bound {third.bound:.9g}" in said


def test_a_file_about_another_problem_is_a_start_if_it_has_the_same_columns(folder, capsys):
    few = ["--quiet", "--option", "max_iterations=1", "--option", "max_starts=1"]
    assert main([*MILP, *few, "--save", "run.npz"]) == 0
    (folder / "milp.lp").write_text(milp_lp().replace("few: z0 + z1 - b <= 1", "few: z0 + z1 - b <= 1.25"))
    capsys.readouterr()
    assert main([*MILP, *few, "--resume", "run.npz"]) == 0
    assert "run.npz is about another problem with the same columns: its point is a start, objective" in capsys.readouterr().out
    assert main([*SOLVE, *few, "--resume", "run.npz"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "dcembed: run.npz is about another problem, Program(6 columns, 4 rows, 3 integers), whose columns are not those of qp.lp"
    )
    assert said.count("\n") == 1


def test_columns_without_names_get_some(folder, capsys):
    program, embedding = NeuralMILP.matrices()
    nameless = dcembed.Program(
        cost=program.cost,
        rows=program.rows,
        row_lb=program.row_lb,
        row_ub=program.row_ub,
        lb=program.lb,
        ub=program.ub,
        integer=program.integer,
    )
    dcembed.solve(nameless, embedding, options={"verbose": False, "max_starts": 1}).save("run.npz")
    assert main(["solve", "--resume", "run.npz", "--solution", "out.sol", "--option", "max_starts=1"]) == 0
    assert "\nx0 " in (folder / "out.sol").read_text()


def test_every_option_can_be_set(folder, capsys):
    options = {
        "time_limit": 60,
        "max_iterations": 40,
        "search": "converge",
        "max_starts": 2,
        "formulation": "lazy",
        "decomposition": "global",
        "initial_penalty": 3.5,
        "penalty_growth": 5,
        "max_penalty": 1e7,
        "feasibility_tol": 1e-4,
        "objective_tol": 1e-5,
        "prove": "auto",
        "gap_tol": 1e-3,
        "tangents": False,
        "columns": False,
        "switches": False,
        "solver": "piqp",
        "solver_options": "{}",
        "threads": 1,
        "workers": 1,
        "seed": 4,
        "checkpoint": "run.npz",
        "verbose": "false",
        "log_file": "run.log",
    }
    flags = [word for name, value in options.items() for word in ("--option", f"{name}={value}")]
    assert main([*SOLVE, *flags]) == 0
    assert set(options) | {"callback", "stop", "executor"} == {field.name for field in dcembed.Options.__dataclass_fields__.values()}
    assert "(feasible), bound" in capsys.readouterr().out
    assert (folder / "run.npz").is_file()
    assert "Status " in (folder / "run.log").read_text()
    assert main([*MILP, "--quiet", "--solver", "highs", "--solver-option", "presolve=off", "--threads", "1", "--seed", "7"]) == 0
    assert main([*MILP, "--quiet", "--option", "feasibility-tol=0.001", "--option", "time_limit=inf"]) == 0


def test_embeddings_from_a_file(folder):
    (folder / "sub").mkdir()
    dcembed.save_network(ConvexQP.network, folder / "sub" / "n.npz")
    (folder / "sub" / "e.toml").write_text('[[embedding]]\nnetwork = "n.npz"\ninputs = ["x*"]\noutputs = ["y*"]\n')
    assert main(["solve", "qp.lp", "--embeddings", "sub/e.toml", "--quiet", "--solution", "a.json"]) == 0
    assert json.loads((folder / "a.json").read_text())["objective"] == pytest.approx(0.3091189773, abs=1e-6)


ACCEPTED = "time_limit, max_iterations, search, max_starts, formulation, decomposition, tangents, columns, switches, initial_penalty, penalty_growth, max_penalty, feasibility_tol, objective_tol, prove, gap_tol, solver, solver_options, threads, workers, seed, checkpoint, verbose, log_file"

MISTAKES = [
    ([], "dcembed: the following arguments are required: COMMAND (see dcembed --help)"),
    (["solve"], "dcembed: a host is missing. Give an .lp or .mps file, or --resume with a file that has the problem in it."),
    (["solve", "--resume", "none.npz"], "dcembed: There is no file none.npz. "),
    (["solve", "--resume", "net.npz"], "dcembed: net.npz is not a result that dcembed saved. "),
    ([*SOLVE, "--save", "run.json"], "dcembed: run.json is not written: its name must end with .npz."),
    ([*SOLVE, "--checkpoint", "run"], "dcembed: Options: checkpoint='run' is not accepted. Give the path of an .npz file, or None."),
    ([*SOLVE, "--checkpoint", "none/run.npz"], "dcembed: none/run.npz cannot be written: there is no folder none. Make it first."),
    (
        [*SOLVE, "--checkpoint", "net.npz"],
        "dcembed: Options: checkpoint='net.npz' is not accepted: what is there stays as it is. Give another path. ",
    ),
    (["slove", "a.lp"], "dcembed: argument COMMAND: invalid choice: 'slove' "),
    ([*SOLVE, "--frobnicate"], "dcembed solve: unrecognized arguments: --frobnicate (see dcembed solve --help)"),
    ([*SOLVE, "--time-limit", "soon"], "dcembed solve: argument --time-limit: invalid float value: 'soon' (see dcembed solve --help)"),
    ([*SOLVE, "--time-limit", "-3"], "dcembed: Options: time_limit=-3.0 is not accepted. Give a number of seconds, at least 0."),
    (["solve", "none.lp", *SOLVE[2:]], "dcembed: There is no file none.lp."),
    (["solve", "net.npz", *SOLVE[2:]], "dcembed: net.npz is not a model file by its name; accepted are .lp, .mps, .lp.gz, .mps.gz."),
    (["solve", ".", *SOLVE[2:]], "dcembed: . is not a model file by its name; accepted are .lp, .mps, .lp.gz, .mps.gz."),
    (
        ["solve", "broken.lp", *SOLVE[2:]],
        "dcembed: broken.lp, line 4: 'abc' stands where a number is expected.",
    ),
    (
        ["solve", "binary.mps", *SOLVE[2:]],
        "dcembed: binary.mps: It is not a readable MPS file. HiGHS says: Parser error.",
    ),
    (["solve", "binary.mps.gz", *SOLVE[2:]], "dcembed: binary.mps.gz cannot be read: Not a gzipped file (b'\\x00\\x01')."),
    (["solve", "qp.lp"], "dcembed: --network and --inputs and --outputs missing. Give --network, --inputs and --outputs, or --embeddings."),
    (
        ["solve", "qp.lp", "--network", "net.npz", "--inputs", "x*"],
        "dcembed: --outputs missing. Give --network, --inputs and --outputs, or --embeddings.",
    ),
    ([*SOLVE, "--embeddings", "e.toml"], "dcembed: --embeddings stands for --network, --inputs, --outputs; give one or the other."),
    (["solve", "qp.lp", "--embeddings", "e.toml"], "dcembed: There is no file e.toml."),
    (
        ["solve", "qp.lp", "--network", "net.npz", "--inputs", "v*", "--outputs", "y*"],
        "dcembed: inputs: no column matches 'v*'. The columns are x0, x1, x2, x3, y0, y1.",
    ),
    (
        ["solve", "qp.lp", "--network", "net.npz", "--inputs", "x0", "--outputs", "y*"],
        "dcembed: inputs: 1 entries are given (x0), but the network has 2 for each evaluation: expected a multiple of 2.",
    ),
    (
        ["solve", "qp.lp", "--network", "net.npz", "--inputs", "x0", "x1", "--outputs", "y*"],
        "dcembed: inputs give 1 evaluations of the network but outputs give 2. Both count the evaluations.",
    ),
    (
        ["solve", "qp.lp", "--network", "net.pt", "--inputs", "x*", "--outputs", "y*"],
        "dcembed: net.pt is not opened: '.pt' files are usually pickles, and a pickle runs code when it is opened. If you trust it, open it yourself and pass the live model to load_network; dcembed.save_network(dcembed.load_network(model), \"net.npz\") keeps it in a file that is read. Or export the model to ONNX and pass the .onnx file.",
    ),
    (
        ["solve", "qp.lp", "--network", "qp.lp", "--inputs", "x*", "--outputs", "y*"],
        "dcembed: Files with the suffix '.lp' are not read: qp.lp. Accepted are: Keras 3",
    ),
    (
        ["solve", "qp.lp", "--network", "broken.onnx", "--inputs", "x*", "--outputs", "y*"],
        "dcembed: broken.onnx is not a readable ONNX file (DecodeError). Export the model again, or check the download.",
    ),
    ([*SOLVE, "--option", "time_limt=3"], "dcembed: Options: unknown option 'time_limt'. Did you mean 'time_limit'? Accepted: "),
    ([*SOLVE, "--option", "seed"], f"dcembed: --option seed: NAME=VALUE is expected; the names are {ACCEPTED}."),
    ([*SOLVE, "--option", "seed=x"], "dcembed: Options: seed='x' is not accepted. Give a whole number, at least 0."),
    ([*SOLVE, "--prove=soon"], "dcembed: Options: prove='soon' is not accepted. Give one of False, 'auto', True."),
    ([*SOLVE, "--gap-tol", "-1"], "dcembed: Options: gap_tol=-1.0 is not accepted. Give a number, at least 0."),
    ([*SOLVE, "--prove", "--option", "prove=auto"], "dcembed: --option prove=auto: prove is given twice."),
    ([*SOLVE, "--seed", "1", "--option", "seed=2"], "dcembed: --option seed=2: seed is given twice."),
    (
        [*SOLVE, "--option", "callback=print"],
        "dcembed: --option callback: a callback is a Python function; it cannot be given on the command line.",
    ),
    (
        [*SOLVE, "--option", "executor=pool"],
        "dcembed: --option executor: an executor is a Python object; workers=2 begins processes of our own; it cannot be given on the command line.",
    ),
    ([*SOLVE, "--solver-option", "presolve"], "dcembed: --solver-option presolve: NAME=VALUE is expected."),
    ([*SOLVE, "--solver", "cplex"], "dcembed: "),
    ([*SOLVE, "--start", "none.json"], "dcembed: There is no file none.json."),
    (
        [*SOLVE, "--start", "deep.json"],
        "dcembed: deep.json is not a solution file; accepted are .json and .sol files as written by --solution.",
    ),
    ([*SOLVE, "--start", "folder.json"], "dcembed: folder.json is a folder; a file is expected."),
    (["solve", "folder.lp", *SOLVE[2:]], "dcembed: folder.lp is a folder; a file is expected."),
    (["solve", "qp.lp", "--embeddings", "folder.json"], "dcembed: folder.json is a folder; a file is expected."),
    (["solve", "qp.lp", "--embeddings", "deep.json"], "dcembed: deep.json is not valid JSON: "),
    (["info", "folder.npz"], "dcembed: folder.npz is a folder; the path of a file is expected."),
    (
        ["solve", "qp.lp", "--network", "net.npz", "--inputs", "x*", "--outputs", "y0", "y0"],
        "dcembed: outputs: the column 'y0' stands for more than one prediction. Give each prediction its own column, and add a row to the model if two must be equal.",
    ),
    ([*SOLVE, "--start", "qp.lp"], "dcembed: qp.lp is not a solution file; accepted are .json and .sol files as written by --solution."),
    ([*SOLVE, "--solution", "out.txt"], "dcembed: out.txt is not written: its name must end with .json or .sol."),
    ([*SOLVE, "--solution", "no/out.json"], "dcembed: no/out.json cannot be written: there is no folder no."),
    ([*SOLVE, "--trace", "out.png"], "dcembed: out.png is not written: its name must end with .csv."),
    ([*SOLVE, "--plot", "out.csv"], "dcembed: out.csv is not written: its name must end with .png or .pdf or .svg."),
    (["info", "none.onnx"], "dcembed: There is no file none.onnx. Check the path; it is relative to "),
    (
        ["info", "broken.onnx"],
        "dcembed: broken.onnx is not a readable ONNX file (DecodeError). Export the model again, or check the download.",
    ),
    (["info", "qp.lp"], "dcembed: Files with the suffix '.lp' are not read: qp.lp. Accepted are: Keras 3"),
]


@pytest.mark.parametrize(("argv", "message"), MISTAKES, ids=[" ".join(argv)[-60:] or "nothing" for argv, _ in MISTAKES])
def test_a_mistake_is_one_line_and_exit_code_2(folder, capfd, argv, message):
    (folder / "broken.lp").write_text("Minimize\n obj: x\nSubject To\n c: x >= abc def\nEnd\n")
    (folder / "broken.onnx").write_bytes(b"\x00\x01\x02 not a model")
    (folder / "net.pt").write_bytes(b"x")
    (folder / "deep.json").write_text("[" * 100_000)
    for name in ("folder.lp", "folder.json", "folder.npz"):
        (folder / name).mkdir()
    (folder / "binary.mps").write_bytes(bytes(range(256)) * 4)
    (folder / "binary.mps.gz").write_bytes(bytes(range(256)) * 4)
    assert main(argv) == 2
    printed = capfd.readouterr()
    assert printed.err.startswith(message)
    assert printed.err.count("\n") == 1
    assert printed.err.endswith("\n")
    assert "Traceback" not in printed.err
    if not message.endswith((" ", "3")):
        assert printed.err == message + "\n"


def make_onnx(path: Path, activation: str) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("Gemm", ["x", "w1"], ["a"], name="first"),
        helper.make_node(activation, ["a"], ["b"], name="bend"),
        helper.make_node("Gemm", ["b", "w2"], ["y"], name="second"),
    ]
    weights = [numpy_helper.from_array(rng.normal(size=size), name) for name, size in (("w1", (2, 5)), ("w2", (5, 1)))]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "net", [value("x", TensorProto.DOUBLE, [None, 2])], [value("y", TensorProto.DOUBLE, [None, 1])], weights
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), str(path))


def test_info_describes_a_network(folder, capsys):
    make_onnx(folder / "net.onnx", "Relu")
    assert main(["info", "net.onnx"]) == 0
    said = capsys.readouterr().out
    assert "net.onnx: Network(2 inputs -> 5 -> 1 outputs)" in said
    assert "units    5 in 1 stages: 5 relu" in said
    assert [line.split() for line in said.splitlines() if line.startswith("  output   ")] == [["output", "1", "5", "stage", "1"]]
    assert [line.split()[:3] for line in said.splitlines()[-3:]] == [
        ["0", "Gemm", "supported"],
        ["1", "Relu", "supported"],
        ["2", "Gemm", "supported"],
    ]
    assert main(["info", "net.npz"]) == 0
    assert "units    16 in 2 stages: 16 relu" in capsys.readouterr().out


def test_the_architecture_of_weights_alone(folder, capsys):
    """With ReLU the network is that of the problem."""
    weights = [ConvexQP.network.stages[0], ConvexQP.network.stages[1], ConvexQP.network.output]
    named = {f"W{i}": affine.weights[i - 1] for i, affine in enumerate(weights, 1)} | {f"b{i}": a.bias for i, a in enumerate(weights, 1)}
    np.savez(folder / "weights.npz", **named)
    assert main(["info", "weights.npz"]) == 2
    assert "holds 3 linear layers (2 -> 8 -> 8 -> 1) and not what is done between them" in capsys.readouterr().err
    assert main(["info", "weights.npz", "--architecture", "tanh", "relu"]) == 0
    assert "units    16 in 2 stages: 8 tanh, 8 relu" in capsys.readouterr().out
    command = ["solve", "qp.lp", "--network", "weights.npz", "--inputs", "x*", "--outputs", "y*", "--quiet"]
    assert main([*command, "--architecture", "relu"]) == 0
    (folder / "e.toml").write_text('[[embedding]]\nnetwork = "weights.npz"\narchitecture = "relu"\ninputs = ["x*"]\noutputs = ["y*"]\n')
    assert main(["solve", "qp.lp", "--embeddings", "e.toml", "--quiet"]) == 0
    assert main(["solve", "qp.lp", "--embeddings", "e.toml", "--architecture", "relu"]) == 2


def test_info_says_what_is_not_supported(folder, capsys):
    make_onnx(folder / "net.onnx", "Floor")
    assert main(["info", "net.onnx"]) == 2
    said = capsys.readouterr()
    assert "Floor                  NOT SUPPORTED  bend" in said.out
    assert said.err.startswith(
        "dcembed: The ONNX model has 1 layer that cannot be embedded: layer 1, 'bend': Floor (jumps; only continuous functions"
    )
    assert said.err.count("\n") == 1


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"dcembed {dcembed.__version__}\n"
    assert main(["solve", "--help"]) == 0
    assert "exit codes: 0 a feasible point, 1 none was found, 2 bad input or unwritable file\n" in capsys.readouterr().out


def test_the_module_is_the_command(folder):
    process = run_module("solve", "none.lp", *SOLVE[2:], cwd=folder)
    out, err = process.communicate(timeout=200)
    assert (process.returncode, out, err) == (2, "", "dcembed: There is no file none.lp.\n")
