"""What the committed results must show. They are measured, not computed here: this fails when worse ones are committed."""

from __future__ import annotations

import pytest

from benchmarks.harness.metrics import references, with_starts
from benchmarks.harness.records import RESULTS, read_records
from benchmarks.problems.experiments import EXPERIMENTS
from benchmarks.report.comparison import OURS, choose_records, compare

POOLING_OPTIMA = {"12": 171.511824, "13": 169.728026, "14": 169.916595, "15": 169.952333, "16": 169.116760, "17": 169.408848}


@pytest.fixture(scope="module")
def sweeps():
    records = with_starts(read_records(RESULTS / "records.csv"))
    chosen, _ = choose_records(records, None)
    return {sweep.experiment.name: sweep for sweep in compare(chosen, references(records))}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_dcembed_has_the_lowest_integral_on_every_size_of_the_paper(sweeps, name):
    sweep = sweeps[name]
    assert set(sweep.experiment.sizes) <= set(sweep.sizes)
    assert {size: sweep.best(size) for size in sweep.sizes} == dict.fromkeys(sweep.sizes, OURS)


@pytest.mark.parametrize(("name", "size"), [("qp-width", "256x3"), ("qp-depth", "64x6")])
def test_on_wide_and_on_deep_networks_the_second_best_is_ten_times_as_high(sweeps, name, size):
    assert sweeps[name].lead(size).ratio >= 10


def test_with_800_samples_nobody_has_as_many_after_the_tenth_second(sweeps):
    assert sweeps["water"].lead("800").ahead_from <= 10


def test_pooling_ends_at_the_enumerated_optimum_from_every_pool(sweeps):
    for size, optimum in POOLING_OPTIMA.items():
        runs = sweeps["pooling"].cells[size, OURS].records
        assert len(runs) == 3
        assert [-run.objective for run in runs] == pytest.approx([optimum] * 3, abs=1e-4)


def test_no_run_handed_over_a_point_that_is_not_what_it_said(sweeps):
    for sweep in sweeps.values():
        assert all(cell.num_rejected == 0 for (_, method), cell in sweep.cells.items() if method == OURS)
