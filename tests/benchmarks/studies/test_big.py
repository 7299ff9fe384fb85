"""Big problems: the study in miniature, its problems, and memory that does not know how wide a network is."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

from benchmarks.problems.big import convolutional_network, nearest_instance, random_perceptron, samples_instance, sites_instance
from benchmarks.studies import big
from benchmarks.studies.big import NAMES, TITLES, Job, main, measure, row_of
from dcembed import Options, solve
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.measurements import slopes
from dcembed.embedded.point import measure_point
from dcembed.embedded.points import gradient_of_points, measure_points
from dcembed.engine.problem import build_problem

LIMIT = 0.25


@pytest.mark.parametrize("name", NAMES)
def test_every_case_runs_in_miniature(name):
    measured = measure(Job(name, True, LIMIT))
    # Some have no feasible point to begin with, and what is found in so short a time depends on the machine.
    if not np.isnan(measured.first):
        assert measured.violation <= 1e-5
        assert measured.objective <= measured.first_objective + 1e-9
    assert measured.build > 0.0
    assert measured.memory >= measured.instance_memory > 0.0
    assert len(row_of(Job(name, True, LIMIT), measured, 1.0)) == len(TITLES)


def test_what_is_refused_is_a_row_of_the_table(monkeypatch):
    monkeypatch.setattr("dcembed.embedded.room.MAX_COEFFICIENTS", 500)
    measured = measure(Job("samples-100k-shared", True, LIMIT))
    row = row_of(Job("samples-100k-shared", True, LIMIT), measured, measured.memory)
    assert row[-1].startswith('refused: The formulation "shared" makes a column of every hidden unit')
    assert row[TITLES.index("objective")] == ""


def test_the_table_has_the_rows_that_were_run_and_keeps_the_others(tmp_path, monkeypatch):
    table = tmp_path / "big.md"
    monkeypatch.setattr(big, "run_case", lambda job: (job.name, *["first"] * (len(TITLES) - 1)))
    main(["784-constraint", "samples-1k", "--tiny", "--table", str(table)])
    monkeypatch.setattr(big, "run_case", lambda job: (job.name, *["second"] * (len(TITLES) - 1)))
    main(["samples-1k", "--tiny", "--table", str(table)])
    rows = [line.split(" | ") for line in table.read_text().splitlines() if line.startswith("| ")]
    assert [row[0].strip("| ") for row in rows] == ["case", "---", "samples-1k", "784-constraint"]
    assert [row[1] for row in rows[2:]] == ["second", "first"]
    with pytest.raises(SystemExit):
        main(["no-such-case"])


def test_a_process_that_dies_is_a_row_too(monkeypatch):
    monkeypatch.setattr(big, "GRACE_SECONDS", -LIMIT)
    row = big.run_case(Job("samples-1k", True, LIMIT))
    assert len(row) == len(TITLES)
    assert "killed" in row[-1]


def test_a_convolution_is_what_it_is_on_paper():
    network = convolutional_network(2, side=4)
    picture = np.random.default_rng(0).random((4, 4))
    kernel = np.zeros((2, 3, 3))
    matrix = network.stages[0].weights[0]
    matrix = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    # The weights of the unit in the middle are the kernel.
    for channel in range(2):
        kernel[channel] = matrix[channel * 16 + 5].reshape(4, 4)[:3, :3]
    padded = np.pad(picture, 1)
    expected = [[[(kernel[c] * padded[i : i + 3, j : j + 3]).sum() for j in range(4)] for i in range(4)] for c in range(2)]
    assert np.allclose(matrix @ picture.reshape(-1), np.array(expected).reshape(-1))
    assert network.num_hidden == 64


def test_plans_of_sites_and_changed_pictures_are_what_they_say():
    sites = sites_instance(3, 16, width=4)
    assert sites.program.num_rows == 2 * 48 + 16 + 1
    demand = -sites.program.row_ub[:48]
    # Each site produces what it needs, hour by hour: balances and bounds hold.
    x = np.concatenate([demand, np.zeros(48), np.zeros(3)])
    assert np.allclose(sites.program.rows[:48] @ x, sites.program.row_ub[:48])
    nearest = nearest_instance(random_perceptron((4, 5, 3), 0), "picture")
    assert nearest.program.num_columns == 11


def peak_of_build(width: int, number: int) -> float:
    """Bytes at most while a problem is built, measured, linearized and drawn from, beyond the instance."""
    instance = samples_instance(number, width=width)
    gc.collect()
    tracemalloc.start()
    embedded = eliminate(instance.program, instance.embeddings, with_switches=True)
    build_problem(embedded, Options(verbose=False))
    w = embedded.lower(instance.starts[0])
    measure_point(embedded, w)
    slopes(embedded, w)
    points = measure_points(embedded, w[None])
    gradient_of_points(embedded, points.w, np.ones_like(points.neural))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_grows_with_evaluations_and_not_with_evaluations_times_units(monkeypatch):
    monkeypatch.setattr("dcembed.network.network.CHUNK_ENTRIES", 5_000)
    monkeypatch.setattr("dcembed.embedded.points.CHUNK_ENTRIES", 5_000)
    monkeypatch.setattr("dcembed.embedded.measured_network.CHUNK_ENTRIES", 5_000)
    peak_of_build(4, 100)
    few, many, wide = peak_of_build(4, 400), peak_of_build(4, 1600), peak_of_build(64, 1600)
    assert many <= 4.4 * few
    # An array of all units of all evaluations has 1600 * 128 numbers.
    assert wide - many <= 0.25 * 8 * 1600 * 128


def peak_of_run(number: int) -> float:
    """Bytes at most, for each evaluation, while a problem with so many of them is solved in a few steps, beyond the instance."""
    instance = sites_instance(number, 8, width=4)
    gc.collect()
    tracemalloc.start()
    result = solve(
        instance.program,
        instance.embeddings,
        options=Options(verbose=False, time_limit=np.inf, max_starts=1, max_iterations=2),
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(result.history) == 2
    return peak / number


def test_the_memory_of_a_run_for_each_evaluation_does_not_grow_with_their_number():
    """What a table of all pairs of evaluations would add, 8 bytes times their number, is half of it at the larger size."""
    peak_of_run(20)
    few, many = peak_of_run(200), peak_of_run(1000)
    assert many <= 1.05 * few
    assert 0.25 * many < 8 * 1000
