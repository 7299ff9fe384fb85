"""The study of optimism in miniature: the truth is known, answers are what they are said to be, rows are kept, the report needs nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcembed
from benchmarks.studies import optimism, optimism_networks
from benchmarks.studies.optimism_devices import DEVICES, answer, starts
from benchmarks.studies.optimism_networks import train
from benchmarks.studies.optimism_problems import PROBLEMS, draw, true_optimum
from benchmarks.studies.optimism_report import blocks
from benchmarks.studies.optimism_rows import read_rows

CASES = tuple(optimism.Case(name, 200, ("best measurement", "plain", "hull")) for name in PROBLEMS)


@pytest.fixture(scope="module", autouse=True)
def short_training():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimism_networks, "NUM_STEPS", 100)
        yield


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("optimism") / "rows.csv"
    optimism.run_all(CASES, 1, path)
    return path


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_no_point_of_the_data_is_better_than_the_true_optimum(problem):
    best, x = true_optimum(problem)
    assert (problem.lb <= x).all()
    assert (x <= problem.ub).all()
    assert problem.violation(problem.truth(x[None]))[0] <= 1e-5
    data = draw(problem, 2000, 0)
    is_good = problem.is_allowed(data.x) & (problem.violation(data.truth) == 0.0)
    assert problem.objective(data.x, data.truth)[is_good].max() <= best


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_an_answer_in_the_hull_is_inside_and_promises_what_its_network_says(problem):
    data = draw(problem, 200, 0)
    trained = train(problem, data, 0)
    assert trained.fit.min() > 0.5
    found = answer(problem, data, trained, DEVICES["hull"])
    assert found.y == pytest.approx(trained.single(found.x[None])[0])
    assert found.outside_hull <= 1e-4 + np.sqrt(problem.lb.size) * thinned(data)
    assert problem.violation(found.y[None])[0] <= 1e-4
    given = [problem.objective(*np.split(start[None], [problem.lb.size], axis=1))[0] for start in starts(problem, data, trained.single)]
    assert problem.objective(found.x[None], found.y[None])[0] >= given[0] - 1e-4


def thinned(data):
    """How far the region of the study reaches beyond the hull of the data."""
    return dcembed.support(data.x, "hull").error


def test_the_same_repetition_has_the_same_data_and_networks():
    problem = PROBLEMS["yield"]
    one, other = (train(problem, draw(problem, 200, 3), 3) for _ in range(2))
    x = draw(problem, 10, 4).x
    assert np.array_equal(one.single(x), other.single(x))
    assert np.array_equal(one.members[-1](x), other.members[-1](x))


def test_rows_say_what_was_promised_and_what_is_true(rows):
    found = read_rows(rows)
    assert [row.key for row in found] == [(case.problem, 200, 0, device) for case in CASES for device in case.devices]
    for row in found:
        assert row.optimism == pytest.approx(row.predicted - row.true)
        best = true_optimum(PROBLEMS[row.problem])[0]
        assert row.true <= best + 1e-4 or row.violation > 0.0
    by_device = {row.device: row for row in found if row.problem == "yield"}
    assert by_device["plain"].predicted >= by_device["hull"].predicted - 1e-3
    assert by_device["plain"].outside_hull > by_device["hull"].outside_hull


def test_rows_that_are_there_are_not_run_again(rows, monkeypatch):
    lines = rows.read_text().splitlines(keepends=True)
    # The last one was torn by an interrupt.
    rows.write_text("".join(lines[:-1]) + lines[-1][:20])
    run = []
    measure = optimism.measure
    monkeypatch.setattr(optimism, "measure", lambda *given: (run.append(given[3].name), measure(*given))[1])
    optimism.run_all(CASES, 1, rows)
    assert run == ["hull"]
    assert len(read_rows(rows)) == len(lines) - 1


def test_table_and_picture_are_made_of_the_rows_alone(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(optimism, "run_all", None)
    table, picture = tmp_path / "table.md", tmp_path / "picture.png"
    optimism.main(["--report", "--rows", str(rows), "--table", str(table), "--picture", str(picture)])
    assert table.read_text().startswith("# What surrogates promise and what is true")
    assert picture.stat().st_size > 5_000


def test_the_page_has_a_line_for_every_device(rows):
    text = "\n".join(blocks([replace(row, points=600) for row in read_rows(rows)]))
    for problem in PROBLEMS:
        assert f"### {problem.capitalize()}" in text
    assert text.count("\n| hull |") >= len(PROBLEMS)
