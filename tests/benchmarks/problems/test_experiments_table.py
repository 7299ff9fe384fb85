"""The table of experiments: which sizes are in which sweep, and that small ones are small."""

from __future__ import annotations

import pytest

from benchmarks.methods.method import why_not
from benchmarks.methods.table import METHODS
from benchmarks.problems.experiments import EXPERIMENTS, belongs, experiment_of
from benchmarks.problems.sizes import SizeError
from benchmarks.problems.water import candidates, find_water
from dcembed.baselines.big_m import solve as solve_big_m
from dcembed.embedded.big_m import build_big_m, default_bounds
from problems import quiet

SMALL = [experiment for experiment in EXPERIMENTS.values() if experiment.is_small]
# What Gurobi's pip licence takes, with a quadratic objective and without one.
MAX_QUADRATIC, MAX_LINEAR = 200, 2000


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_every_size_is_in_its_own_sweep(experiment):
    for size in (*experiment.sizes, *experiment.beyond):
        assert belongs(experiment, experiment.family, size)
        own = [name for name, other in EXPERIMENTS.items() if belongs(other, experiment.family, size)]
        # Small and large sweeps share no instance; 64x3 is in two of the large ones.
        assert {EXPERIMENTS[name].is_small for name in own} == {experiment.is_small}
        assert experiment_of(experiment.family, size).is_small == experiment.is_small


def test_a_size_in_no_sweep_has_an_experiment_of_its_family():
    assert experiment_of("qp", "16x5").family == "qp"
    assert not experiment_of("qp", "8x2").is_small
    assert experiment_of("qp", "8x2x7").name == "small-qp"


@pytest.mark.usefixtures("data_folder")
def test_water_has_no_more_samples_than_need_treatment():
    most = candidates().size
    assert find_water(str(most), 0)
    with pytest.raises(SizeError, match=f"need treatment; received '{most + 1}'"):
        find_water(str(most + 1), 0)


def test_variants_are_run_on_small_experiments_alone_and_say_why():
    variants = [name for name, method in METHODS.items() if method.small_only]
    assert {"big-m-cuts", "omlt-partition", "omlt-complementarity", "pyscipopt-ml-sos"} == set(variants)
    for name in variants:
        for experiment in EXPERIMENTS.values():
            assert (why_not(METHODS[name], experiment) is None) == experiment.is_small
    assert why_not(METHODS["pgd"], EXPERIMENTS["small-water"]) == METHODS["pgd"].why_not["water"]


def test_a_run_with_a_proof_stands_beside_dcembed_where_that_proves_nothing():
    plain, prover = METHODS["dcembed"], METHODS["dcembed-prove"]
    for experiment in EXPERIMENTS.values():
        assert plain.settings(experiment).get("prove", False) == experiment.is_small
        assert prover.settings(experiment)["prove"]
        assert (why_not(prover, experiment) is None) != experiment.is_small


@pytest.mark.parametrize("experiment", SMALL, ids=lambda experiment: experiment.name)
def test_small_instances_are_a_few_hundred_units(experiment, request):
    if experiment.family not in ("qp", "boxes"):
        request.getfixturevalue("data_folder")
    for size in experiment.sizes:
        for trial in range(3):
            instance = experiment.build(size, trial)
            encoded = build_big_m(instance.program, instance.embeddings, default_bounds(instance.program, instance.embeddings))
            limit = MAX_QUADRATIC if instance.program.is_quadratic else MAX_LINEAR
            # A pair of columns for each unit, whether it is open or not, as in packages that settle nothing.
            num_units = sum(e.num_evaluations * e.network.num_hidden for e in instance.embeddings)
            assert encoded.num_binaries <= num_units
            if (experiment.family, size) != ("pooling", "3"):
                assert instance.program.num_columns + 2 * num_units <= limit


def test_a_small_qp_is_solved_to_a_proof():
    instance = EXPERIMENTS["small-qp"].build("8x2x1", 0)
    result = solve_big_m(instance.program, instance.embeddings, instance.starts, quiet())
    assert result.status.name == "OPTIMAL"
    assert result.objective < 0
