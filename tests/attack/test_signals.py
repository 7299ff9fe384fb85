"""A short attack with Ctrl-C and time limits; how long they take is measured by `python -m tests.attack`, not here."""

from __future__ import annotations

import pytest

from .signals import Plan, plan_of, run


def test_the_same_seed_plans_the_same_signal():
    assert [plan_of(f"signal:{seed}") for seed in range(50)] == [plan_of(f"signal:{seed}") for seed in range(50)]
    assert {plan_of(f"signal:{seed}").backend for seed in range(10)} >= {"highs", "piqp"}


@pytest.mark.parametrize("act", ["interrupt", "limit"])
def test_a_run_that_is_cut_off_says_so_and_has_its_best_point(act):
    trial = run("test", Plan(act, 1.0, "highs", "LP", 200, 0))
    trial.faults.pop("overrun", None)
    assert not trial.faults, trial


def test_what_a_victim_raises_is_a_crash():
    trial = run("test", Plan("limit", 1.0, "no such solver", "LP", 20, 0))
    assert "no such solver" in trial.faults["crash"]
