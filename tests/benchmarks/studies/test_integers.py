"""Small networks behind many integers: the table of optima and the study."""

from __future__ import annotations

import pytest

from benchmarks.studies.integers import OPTIMA, build_case, main, run_case
from dcembed import Status
from dcembed.baselines import big_m
from problems import quiet

SMALL = ("routing-3-2", "dispatch-2-1", "lots-2-0")


@pytest.mark.parametrize("name", SMALL)
def test_the_optima_are_those_of_the_exact_encoding(name):
    instance = build_case(name)
    result = big_m.solve(instance.program, instance.embeddings, options=quiet())
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(OPTIMA[name], abs=1e-4)


@pytest.mark.parametrize("name", SMALL)
def test_small_cases_end_within_one_percent_of_the_optimum(name):
    run = run_case(name, time_limit=200.0)
    assert run.gap < 0.01
    assert run.near_after >= 0


def test_instances_are_the_same_for_the_same_seed_and_others_for_another():
    for name in SMALL:
        one, same = build_case(name), build_case(name)
        assert (one.program.rows != same.program.rows).nnz == 0
        assert one.embeddings[0].network([1.0] * one.embeddings[0].network.num_inputs) == pytest.approx(
            same.embeddings[0].network([1.0] * one.embeddings[0].network.num_inputs), abs=0
        )
    family, size, seed = SMALL[0].split("-")
    other = build_case(f"{family}-{size}-{int(seed) + 1}")
    assert not (other.program.cost == build_case(SMALL[0]).program.cost).all()


def test_an_unknown_case_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["routing-99-0"])
    assert "unknown case 'routing-99-0'" in capsys.readouterr().err
