"""Every method once on a tiny instance of each experiment, each in its own process, and the report on these records."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from rich.console import Console

import dcembed
from benchmarks.__main__ import main
from benchmarks.harness.job import Job
from benchmarks.harness.outcome import check, outcome_of
from benchmarks.harness.records import FAILURES, append_record, read_records
from benchmarks.harness.sweep import run_sweep
from benchmarks.methods.greedy import solve as solve_greedily
from benchmarks.methods.table import METHODS, why_not
from benchmarks.problems import qp
from benchmarks.problems.experiments import EXPERIMENTS
from benchmarks.problems.pooling import all_designs, expected_profits, load_pooling_network, surrogate_profit
from problems import binary_problem, level_problem, quiet

# Experiment and size; the QP has two blocks and a network made here.
TINY = {"qp": "8x3x2", "water": "3", "pooling": "2"}
LIMIT = 1.5
INSTALLED = [name for name, method in METHODS.items() if method.missing_package() is None]
PAIRS = [(family, name) for family in TINY for name in METHODS if why_not(METHODS[name], family) is None]


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """A folder with a small network of the QP."""
    folder = tmp_path_factory.mktemp("networks")
    rng = np.random.default_rng(1)
    sizes = [5, 8, 8, 8, 1]
    weights = {f"W{i}": rng.normal(0, 1.2 / np.sqrt(a), (b, a)) for i, (a, b) in enumerate(itertools.pairwise(sizes), 1)}
    biases = {f"b{i}": np.full(size, 0.05) for i, size in enumerate(sizes[1:], 1)}
    np.savez(folder / "qp_8x3_0.npz", **weights, **{**biases, "b4": np.array([-0.3])})
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory, networks):
    """The folder with the records of all runs."""
    from benchmarks.problems.data import find_data_folder

    families = list(TINY) if find_data_folder() is not None else ["qp"]
    folder = tmp_path_factory.mktemp("results")
    jobs = [Job(family, TINY[family], 0, name, LIMIT) for family, name in PAIRS if family in families and name in INSTALLED]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(qp.NETWORKS_VARIABLE, str(networks))
        made = run_sweep(jobs, folder / "records.csv", "python -m benchmarks run", Console(quiet=True), at_once=2, preparation_limit=20.0)
    assert made == len(jobs)
    return folder


@pytest.mark.parametrize(("family", "name"), PAIRS)
def test_every_method_runs_on_every_experiment_it_applies_to(results, family, name):
    if name not in INSTALLED:
        pytest.skip(f"{METHODS[name].missing_package()} is not installed")
    record = next((r for r in read_records(results / "records.csv") if (r.experiment, r.method) == (family, name)), None)
    if record is None:
        pytest.skip("the data of the experiments is not here: set DCEMBED_DATA to its folder")
    assert record.status not in FAILURES, record.note
    assert record.num_rejected == 0
    assert record.memory > 20
    assert record.start_objective is not None
    if record.optimum is not None and record.objective is not None:
        assert record.objective >= record.optimum - 1e-6
    if name == "dcembed":
        best = {"qp": -0.179125, "water": -3.0, "pooling": -382.6734}
        assert record.objective == pytest.approx(best[family], rel=1e-4)


def test_the_report_has_every_method_and_all_pictures(results):
    assert main(["report", "--records", str(results / "records.csv")]) == 0
    markdown, html = ((results / name).read_text() for name in ("report.md", "report.html"))
    names = {METHODS[record.method].label for record in read_records(results / "records.csv")}
    for text in (markdown, html):
        assert all(name in text for name in names)
    assert html.count("data:image/svg+xml;base64,") == 3
    # Self-contained: nothing is loaded from elsewhere, and no folder of this machine is told.
    assert not re.search(r'(src|href)="(?!data:)', html)
    assert str(results) not in markdown + html
    for name in ("npi", "trajectories", "speed-up"):
        assert (results / f"{name}.png").stat().st_size > 10_000


def test_the_report_says_plainly_where_dcembed_is_not_the_best(results, tmp_path):
    from dataclasses import replace

    records = [record for record in read_records(results / "records.csv") if record.experiment == "qp"]
    ours = next(record for record in records if record.method == "dcembed")
    append_record(tmp_path / "records.csv", replace(ours, trace=((1.5, -0.1),)))
    append_record(tmp_path / "records.csv", replace(ours, method="shared", trace=((0.5, -0.2),)))
    # Under a size of the paper, whose figures then stand beside it.
    text = (tmp_path / "records.csv").read_text().replace(TINY["qp"], "64x3")
    (tmp_path / "records.csv").write_text(text)
    main(["report", "--records", str(tmp_path / "records.csv")])
    markdown = (tmp_path / "report.md").read_text()
    assert "64x3: dcembed is not the best.** shared has an NPI of" in markdown
    assert "-0.06526" in markdown
    assert "DCEmbed 0.72" in markdown


def test_a_report_on_runs_that_no_licence_allowed_says_so(results, tmp_path):
    from dataclasses import replace

    ours = next(record for record in read_records(results / "records.csv") if (record.experiment, record.method) == ("qp", "dcembed"))
    append_record(tmp_path / "records.csv", replace(ours, method="gurobi-ml", status="licence", note="too small", trace=()))
    assert main(["report", "--records", str(tmp_path / "records.csv")]) == 0
    assert "dcembed has no run here" in (tmp_path / "report.md").read_text()


def test_means_over_fewer_trials_are_marked_and_not_called_the_best(results, tmp_path):
    from dataclasses import replace

    ours = next(record for record in read_records(results / "records.csv") if (record.experiment, record.method) == ("qp", "dcembed"))
    # In trial 0 both reach -0.2; trial 1, which only dcembed was run on, has nothing better than -0.1.
    for record in (
        replace(ours, trace=((0.1, -0.2),)),
        replace(ours, trial=1, trace=((0.1, -0.1),)),
        replace(ours, method="shared", trace=((0.5, -0.2),)),
    ):
        append_record(tmp_path / "records.csv", record)
    main(["report", "--records", str(tmp_path / "records.csv")])
    markdown = (tmp_path / "report.md").read_text()
    assert "| **-0.150000** | -0.200000 \u2020 |" in markdown
    assert "fewer trials than those of dcembed" in markdown


def test_points_are_measured_by_the_harness_and_not_believed():
    program, embedding = binary_problem(0)
    from benchmarks.problems.instance import Instance

    instance = Instance("binaries", program, (embedding,), [])
    result = dcembed.solve(program, embedding, options=quiet())
    checked = check(instance, outcome_of(result).points)
    assert checked.trace[-1][1] == pytest.approx(result.objective)
    assert checked.num_rejected == 0
    lies = [(0.1, np.ones(program.num_columns)), (0.2, result.x), (0.3, result.x)]
    checked = check(instance, lies)
    assert checked.num_rejected == 1
    assert [seconds for seconds, _ in checked.trace] == [0.2]
    assert checked.largest_violation > 1e-3


@pytest.mark.parametrize("name", ["gurobi-ml", "pyscipopt-ml", "omlt"])
@pytest.mark.parametrize("problem", [binary_problem, level_problem])
def test_the_real_packages_reach_what_dcembed_reaches_on_other_small_problems(name, problem):
    if name not in INSTALLED:
        pytest.skip(f"{METHODS[name].missing_package()} is not installed")
    from benchmarks.problems.instance import Instance

    program, embedding = problem(3)
    ours = dcembed.solve(program, embedding, options=quiet(max_starts=5))
    outcome = METHODS[name].solve(program, (embedding,), [ours.x], quiet(time_limit=20.0))
    checked = check(Instance("small", program, (embedding,), []), outcome.points)
    assert checked.num_rejected == 0
    assert checked.trace[-1][1] <= ours.objective + 1e-5
    assert outcome.added_binaries > 0


@pytest.mark.parametrize(("size", "expected"), [("25", 12.33), ("50", 17.00)])
@pytest.mark.usefixtures("data_folder")
def test_the_greedy_counts_what_the_specification_says(size, expected):
    counts = []
    for cohort in range(3):
        instance = EXPERIMENTS["water"].build(size, cohort)
        outcome = solve_greedily(instance.program, instance.embeddings, instance.starts, quiet())
        checked = check(instance, outcome.points)
        assert checked.num_rejected == 0
        counts.append(-checked.trace[-1][1])
    assert np.mean(counts) == pytest.approx(expected, abs=0.01)


@pytest.mark.usefixtures("data_folder")
def test_enumeration_by_sorting_is_enumeration():
    network, designs = load_pooling_network(), all_designs()
    assert expected_profits(network, 4, designs) == pytest.approx(surrogate_profit(network, 4, designs), abs=1e-9)
    assert -EXPERIMENTS["pooling"].optimum("12") == pytest.approx(171.511824, abs=1e-6)
    assert -EXPERIMENTS["pooling"].optimum("17") == pytest.approx(169.408848, abs=1e-6)


@pytest.mark.parametrize(
    "arguments", [["run", "qp-width", "--sizes", "wide"], ["run", "water", "pooling", "--sizes", "25"], ["run", "sailing"]]
)
def test_a_wrong_command_is_answered_with_what_is_accepted(arguments, capsys, tmp_path):
    with pytest.raises(SystemExit):
        main([*arguments, "--records", str(tmp_path / "records.csv")])
    assert re.search("WIDTHxDEPTH|name one experiment|qp-width", capsys.readouterr().err)
