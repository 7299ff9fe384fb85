"""One state of the repository against another: the same problem in both processes, measured here, and failures told."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from rich.console import Console

from benchmarks.harness.fingerprint import PACKAGE
from benchmarks.problems.experiments import EXPERIMENTS
from benchmarks.studies import case_runner
from benchmarks.studies.against import Run, agreement, compare_with, read_case
from benchmarks.studies.case_files import write_case
from benchmarks.studies.engine import main
from dcembed.embedded.verify import predict

VECTORS = ("cost", "row_lb", "row_ub", "lb", "ub", "integer", "offset")


@pytest.fixture
def checkout(tmp_path):
    """Another checkout, which has no benchmarks of its own."""
    shutil.copytree(PACKAGE, tmp_path / "other" / "src" / "dcembed", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "other"


@pytest.mark.parametrize(("name", "size"), [("qp-width", "8x3x2"), ("water", "3"), ("pooling", "2")])
@pytest.mark.usefixtures("data_folder")
def test_an_instance_comes_out_of_its_files_as_it_went_in(name, size, tmp_path):
    instance = EXPERIMENTS[name].build(size, 0)
    write_case(instance, {}, tmp_path)
    program = case_runner.read_program(dict(np.load(tmp_path / "program.npz")))
    embedding, (original,) = case_runner.read_embedding(tmp_path, 0), instance.embeddings
    for field in VECTORS:
        assert np.array_equal(getattr(program, field), getattr(instance.program, field))
    assert (program.rows != instance.program.rows).nnz == 0
    assert (program.quadratic is None) == (instance.program.quadratic is None)
    if program.quadratic is not None:
        assert (program.quadratic != instance.program.quadratic).nnz == 0
    for one, other in zip(program.indicators, instance.program.indicators, strict=True):
        assert (one.column, one.value, one.lb, one.ub) == (other.column, other.value, other.lb, other.ub)
        assert (one.coefficients != other.coefficients).nnz == 0
    x = np.random.default_rng(0).uniform(size=program.num_columns)
    assert np.array_equal(predict([embedding], x), predict([original], x))
    assert np.array_equal(np.load(tmp_path / "starts.npz")["starts"], instance.starts)


def test_the_same_source_elsewhere_agrees(checkout):
    console = Console(record=True, width=200)
    (one,) = compare_with(checkout, [read_case("qp-8x3x1", 200.0)], 2, console)
    assert agreement(one.new, one.old) == "yes"
    assert len(one.new) == len(one.old) == 2
    assert all(run.objective < 0 < min(run.processor_seconds, run.wall_seconds, run.num_subproblems) for run in (*one.new, *one.old))
    row = next(line for line in console.export_text().splitlines() if "qp-8x3x1" in line)
    assert "yes" in row


def test_a_state_that_fails_is_told_with_its_reason(checkout):
    with (checkout / "src" / "dcembed" / "engine" / "solve.py").open("a") as file:
        file.write('\nraise RuntimeError("this state is broken")\n')
    console = Console(record=True, width=200)
    (one,) = compare_with(checkout, [read_case("qp-8x3x1", 200.0)], 1, console)
    assert agreement(one.new, one.old) == "failed"
    assert "qp-8x3x1, old: RuntimeError: this state is broken" in console.export_text()


def test_a_case_that_used_up_its_time_is_marked(checkout):
    console = Console(record=True, width=200)
    compare_with(checkout, [read_case("qp-64x6", 0.05)], 1, console)
    assert "qp-64x6, stopped at 0.05 s" in console.export_text()


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ([(-1.0, 5), (-1.0, 5)], [(-1.0 - 1e-7, 5)], "yes"),
        ([(None, 5)], [(None, 5)], "yes"),
        ([(-1.0, 5)], [(-1.1, 5)], "no: objective"),
        ([(-1.0, 5)], [(None, 5)], "no: objective"),
        ([(-1.0, 5)], [(-1.0, 6)], "no: subproblems"),
        ([(-1.0, 5), (-2.0, 6)], [(-1.0, 5)], "no: objective, subproblems (so do repeats of new)"),
    ],
)
def test_agreement_is_of_objectives_and_numbers_of_subproblems(new, old, expected):
    assert agreement(*([Run(objective, number, 1.0, 1.0) for objective, number in runs] for runs in (new, old))) == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--against", "nowhere"], "src/dcembed in it"),
        (["sailing-3", "--against", "OTHER"], "FAMILY-SIZE"),
        (["qp-wide", "--against", "OTHER"], "FAMILY-SIZE"),
        (["qp-777x3", "--against", "OTHER"], "train_qp 777x3"),
        (["sailing"], "accepted: qp-64x3"),
    ],
)
def test_a_wrong_command_is_answered_with_what_is_accepted(arguments, told, checkout, capsys):
    with pytest.raises(SystemExit):
        main([str(checkout) if argument == "OTHER" else argument for argument in arguments])
    assert told in capsys.readouterr().err
