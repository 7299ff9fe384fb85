"""Results: measured, explained, and printed."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

import dcembed
from dcembed import Embedding, Program, Status
from dcembed.errors import InputError, MissingPackageError
from problems import binary_problem, box_problem, level_problem, quiet, random_mlp


def test_every_status_has_a_help_text_that_says_what_to_do():
    assert {status.name for status in Status} == {
        "OPTIMAL",
        "INFEASIBLE",
        "LOCALLY_SOLVED",
        "LOCALLY_INFEASIBLE",
        "TIME_LIMIT",
        "ITERATION_LIMIT",
        "HOST_INFEASIBLE",
        "OUTSIDE_SUPPORT",
        "UNBOUNDED",
        "NUMERICAL_ERROR",
        "INTERRUPTED",
    }
    assert len({status.help for status in Status}) == len(Status)
    assert all(len(status.help) > 60 for status in Status)


def test_incumbents_are_feasible_points_that_improve_in_time_and_objective():
    program, embedding = level_problem(17)
    result = dcembed.solve(program, embedding, options=quiet())
    seconds, objectives = zip(*result.incumbents, strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(objectives) == sorted(objectives, reverse=True)
    assert len(set(objectives)) == len(objectives)
    assert objectives[-1] == result.objective
    assert seconds[-1] <= result.seconds


def test_every_incumbent_comes_with_a_point_that_measures_as_it_says():
    program, embedding = binary_problem(0)
    for formulation in ("lazy", "shared"):
        result = dcembed.solve(program, embedding, options=quiet(formulation=formulation))
        assert len(result.incumbent_points) == len(result.incumbents) > 0
        for (_, objective), x in zip(result.incumbents, result.incumbent_points, strict=True):
            measured = dcembed.verify(program, [embedding], x)
            assert measured.objective == pytest.approx(objective, rel=1e-12)
            assert measured.violation <= result.feasibility_tol
        assert np.array_equal(result.incumbent_points[-1], result.x)


def test_history_has_one_record_per_subproblem():
    program, embedding = level_problem(17)
    result = dcembed.solve(program, embedding, start=[np.zeros(3), np.ones(3)], options=quiet())
    assert [r.number for r in result.history if r.start == 0] == list(range(1, 1 + sum(r.start == 0 for r in result.history)))
    assert {r.start for r in result.history} == {0, 1}
    for record in result.history:
        assert record.penalty > 0
        assert record.step >= 0
        assert record.solver_status == "Optimal"
        assert record.merit >= record.objective - 1e-12


def test_the_log_says_what_auto_has_chosen(capsys):
    for sizes, chosen in (((2, 8, 6, 1), "tangents + lazy + local"), ((2, 8, 1), "tangents + lazy + global")):
        program, embedding = box_problem(random_mlp(0, sizes), np.ones(2), 1.0)
        dcembed.solve(program, embedding, options=quiet(verbose=True))
        assert f"  method    penalty convex-concave procedure, {chosen}\n" in capsys.readouterr().out


def test_a_result_verifies_itself():
    program, embedding = binary_problem(0)
    result = dcembed.solve(program, embedding, options=quiet())
    measured = result.verify()
    assert measured.objective == result.objective
    assert measured.violation == result.violation
    assert measured.integrality == 0.0
    assert measured.predictions == 0.0


def test_without_a_point_there_is_nothing_to_report_but_the_status():
    network = random_mlp(0, (1, 4, 1))
    program = Program(cost=[0.0, 1.0], rows=[[1.0, 0.0]], row_lb=3.0, lb=[-1.0, -np.inf], ub=[1.0, np.inf])
    result = dcembed.solve(program, Embedding(network, [0], [1]), options=quiet(time_limit=0.0))
    assert result.x is None
    assert np.isnan(result.objective)
    assert result.violation == np.inf
    assert result.verify().violation == np.inf
    assert "no point found" in result.summary()
    assert result.status is Status.TIME_LIMIT
    assert result.help in result.summary()


def test_sizes_say_what_was_added():
    program, embedding = box_problem(random_mlp(0, (2, 5, 3, 1)), np.ones(2), 1.0, limit=1.0)
    lazy = dcembed.solve(program, embedding, options=quiet(max_iterations=0)).sizes
    assert (lazy.hidden_units, lazy.added_columns, lazy.added_rows, lazy.neural_rows, lazy.slacks) == (8, 2, 0, 1, 1)
    sizes = dcembed.solve(program, embedding, options=quiet(max_iterations=0, formulation="shared")).sizes
    assert (sizes.host_columns, sizes.integers, sizes.networks, sizes.evaluations) == (3, 0, 1, 1)
    assert (sizes.hidden_units, sizes.added_columns, sizes.added_rows, sizes.neural_rows, sizes.slacks) == (8, 8, 8, 1, 1)


def test_the_log_reads_like_a_solvers(capsys):
    program, embedding = level_problem(17)
    dcembed.solve(program, embedding, options=quiet(verbose=2, formulation="shared"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"dcembed {dcembed.__version__} on highs"
    assert lines[1] == "  method    penalty convex-concave procedure, shared + global"
    assert lines[2] == "  host      LP: 3 columns, 0 rows, 0 integers"
    assert lines[3] == "  networks  1, evaluated 1 time: 14 hidden units, 1 neural restriction"
    assert lines[4] == "  added     14 columns, 14 rows, 1 slack, 0 binaries"
    assert lines[6].split() == ["time", "start", "iter", "objective", "violation", "penalty", "step", "at", "work"]
    body = lines[7 : lines.index("", 7)]
    assert re.fullmatch(r" +\d+\.\d\ds +0 +0 +-?[\d.e+-]+ +[\d.e+-]+ +host", body[0])
    assert all(re.match(r" +\d+\.\d\ds +0 +\d+ ", line) for line in body)
    assert any("*" in line for line in body)
    end = lines.index("", 7) + 1
    assert lines[end] == "Status      LOCALLY_SOLVED"
    assert " ".join(lines[end:]).endswith(Status.LOCALLY_SOLVED.help)


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (np.zeros(4), "solve: a start has 4 entries but the program has 3 columns. Give one point of shape (3,) or several."),
        ([np.zeros(3), np.zeros(2)], "solve: every start is a point of 3 columns, received lengths [2, 3]."),
        (np.array([0.0, np.nan, 0.0]), "solve: start 0 has NaN or infinite entries."),
    ],
)
def test_a_bad_start_is_named(start, text):
    program, embedding = level_problem(17)
    with pytest.raises(InputError, match="^" + re.escape(text) + "$"):
        dcembed.solve(program, embedding, start=start, options=quiet())


def test_embeddings_must_fit_the_program():
    network = random_mlp(0, (1, 4, 1))
    with pytest.raises(InputError, match=re.escape("Embedding 0: outputs name column 5, but columns go from 0 to 1.")):
        dcembed.solve(Program(cost=[1.0, 1.0]), Embedding(network, [0], [5]), options=quiet())


def test_what_is_violated_is_told_by_name_and_in_the_summary():
    network = random_mlp(3, (1, 4, 1))
    program = Program(
        cost=[0.0, 1.0], rows=[[1.0, 1.0]], row_lb=1e3, lb=[-1.0, -np.inf], ub=[1.0, np.inf], column_names=["x", "y"], row_names=["demand"]
    )
    result = dcembed.solve(program, Embedding(network, [0], [1]), options=quiet(max_iterations=2))
    (worst,) = result.worst_violations
    assert worst.constraint == "row 'demand'"
    assert worst.amount == result.violation
    assert f"Violated    row 'demand': {worst.amount:.3g}\n" in result.summary()


def test_without_a_point_nothing_is_known_to_be_violated():
    program = Program(cost=[0.0, 1.0], rows=[[1.0, 0.0]], row_lb=5.0, lb=[-1.0, -np.inf], ub=[1.0, np.inf])
    result = dcembed.solve(program, Embedding(random_mlp(3, (1, 4, 1)), [0], [1]), options=quiet(time_limit=0.0))
    assert result.x is None
    assert result.worst_violations == ()
    assert result.verify().violation == np.inf
    assert "Violated" not in result.summary()


def test_a_maximization_is_reported_as_the_user_wrote_it(capsys):
    program = Program(cost=[-0.1, 1.0], offset=50.0, lb=[-1.0, -np.inf], ub=[1.0, np.inf], maximize=True)
    result = dcembed.solve(program, Embedding(random_mlp(3, (1, 4, 1)), [0], [1]), options=quiet(verbose=True))
    assert result.objective > 0
    objectives = [objective for _, objective in result.incumbents]
    assert objectives == sorted(objectives)
    assert all(record.objective > 0 for record in result.history)
    assert f"{result.objective:.9g}" in capsys.readouterr().out


@pytest.fixture(scope="module")
def named() -> dcembed.Result:
    network = random_mlp(2, (2, 8, 1))
    program = Program(
        cost=[0.1, -0.2, 1.0],
        rows=[[1.0, 1.0, 0.0]],
        row_ub=1.0,
        lb=[-1.0, 0.0, -np.inf],
        ub=[1.0, 1.0, np.inf],
        integer=[1],
        column_names=["load", "on", ""],
    )
    return dcembed.solve(program, Embedding(network, [0, 1], [2]), options=quiet(max_starts=2, prove="auto"))


def test_values_have_the_names_of_the_user(named):
    assert list(named.by_name) == ["load", "on", "x2"]
    assert list(named.by_name.values()) == named.x.tolist()


def test_a_result_is_a_frame(named):
    frame = named.to_frame()
    assert frame.loc["load", "value"] == named.x[0]
    assert frame["kind"].tolist() == ["continuous", "integer", "prediction"]
    assert frame.loc["on", ["lower", "upper"]].tolist() == [0.0, 1.0]
    assert named.to_frame("incumbents")["objective"].tolist() == [objective for _, objective in named.incumbents]
    assert named.to_frame("bounds")["bound"].iloc[-1] == named.bound
    history = named.to_frame("history")
    assert len(history) == len(named.history)
    assert {"start", "number", "objective", "kind"} <= set(history.columns)
    with pytest.raises(InputError, match=r"'points' is not known\. Accepted: 'columns', 'incumbents'"):
        named.to_frame("points")


def test_without_a_point_frames_are_there_all_the_same():
    program = Program(cost=[0.0, 1.0], rows=[[1.0, 0.0]], row_lb=3.0, lb=[-1.0, -np.inf], ub=[1.0, np.inf])
    result = dcembed.solve(program, Embedding(random_mlp(0, (1, 4, 1)), [0], [1]), options=quiet(time_limit=0.0))
    assert result.by_name == {}
    assert result.to_frame()["value"].isna().all()
    assert len(result.to_frame("incumbents")) == len(result.to_frame("bounds")) == 0


def test_a_frame_without_pandas_says_what_to_install(named, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match="pip install pandas"):
        named.to_frame()


def test_a_notebook_shows_a_table_and_a_picture(named):
    html = named._repr_html_()
    assert html.count("<tr>") == len(named.summary().splitlines()) - 1
    assert "&lt;1e-9" in html or "violation 0 " in html
    figure = named.plot("a title")
    assert figure.axes[0].get_title(loc="left") == "a title"
    assert len(figure.axes) == 2
