"""A short attack with random programs, and tests of what the attack stands on: its own measurement and its oracle."""

from __future__ import annotations

import numpy as np
import pytest

import dcembed

from .case import measure, predicted, to_dcembed
from .generator import KINDS, draw
from .oracle import Answer, ask
from .programs import attempt
from .specials import SPECIALS

# Options of a short run: a pass of a few starts, with more time than any machine needs.
SHORT = {"search": "converge", "max_starts": 3, "max_iterations": 25, "time_limit": 100.0, "oracle_limit": 100.0}
NEVER = ("false feasible", "mismatch", "traceback", "lost incumbent", "better than exact")
SPECIAL_ANSWERS = (
    (Answer.FEASIBLE, -1.0),
    (Answer.UNBOUNDED, None),
    (Answer.INFEASIBLE, None),
    (Answer.FEASIBLE, None),
    (Answer.FEASIBLE, -2.0),
    *((Answer.FEASIBLE, None),) * 5,
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_draws_the_same_case_and_its_witness_is_feasible(kind):
    for seed in range(20):
        case, again = draw(kind, seed), draw(kind, seed)
        assert np.array_equal(case.cost, again.cost)
        assert np.array_equal(case.rows, again.rows)
        if case.witness is not None:
            assert measure(case, case.witness).violation <= 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_our_measurement_agrees_with_that_of_dcembed(kind):
    rng = np.random.default_rng(0)
    for seed in range(10):
        case = draw(kind, seed)
        program, embeddings = to_dcembed(case)
        for w in (rng.normal(size=case.cost.size), predicted(case, rng.normal(size=case.cost.size))):
            theirs, ours = dcembed.verify(program, embeddings, w), measure(case, w)
            assert ours.objective == pytest.approx(theirs.objective, rel=1e-9, abs=1e-9)
            assert ours.violation == pytest.approx(theirs.violation, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("make", "expected"), list(zip(SPECIALS, SPECIAL_ANSWERS, strict=True)), ids=[make.__name__ for make in SPECIALS])
def test_the_oracle_knows_the_special_cases(make, expected):
    answer, objective = expected
    verdict = ask(make(), 100.0)
    assert verdict.answer is answer
    if objective is not None:
        assert verdict.objective == pytest.approx(objective, abs=1e-5)


@pytest.mark.parametrize("kind", ["LP", "MILP", "SOCP"])
def test_no_point_that_was_drawn_is_better_than_the_oracles(kind):
    rng = np.random.default_rng(1)
    for seed in range(3):
        case = draw(kind, seed)
        verdict = ask(case, 100.0)
        low, high = np.clip(case.lb, -2, 2), np.clip(case.ub, -2, 2)
        points = (predicted(case, np.where(case.integer, np.round(w), w)) for w in rng.uniform(low, high, (300, low.size)))
        feasible = [m.objective for m in (measure(case, w) for w in points) if m.violation <= 1e-9]
        assert not (feasible and verdict.answer is Answer.INFEASIBLE)
        if feasible and verdict.is_optimal and verdict.answer is Answer.FEASIBLE:
            sense = -1.0 if case.maximize else 1.0
            assert sense * verdict.objective <= min(sense * objective for objective in feasible) + 1e-6


@pytest.mark.parametrize("name", ["LP:0", "LP:1", "QP:4", "SOCP:1", "MILP:3", "MILP:9", "LP:12", "SOCP:7"])
def test_a_program_against_its_oracle(name):
    trial = attempt(name, **SHORT)
    assert not [fault for fault in NEVER if fault in trial.faults], trial
    assert "wrong status" not in trial.faults, trial
    assert "missed feasible" not in trial.faults, trial


def test_a_valley_between_unbounded_tangents_is_found():
    trial = attempt("special:0", **SHORT)
    assert not trial.faults, trial
    assert trial.gap <= 1e-3


@pytest.mark.parametrize("name", [f"special:{number}" for number in range(1, 9)])
def test_a_special_case_against_its_oracle(name):
    trial = attempt(name, **SHORT)
    assert not trial.faults, trial


def test_a_prediction_behind_an_indicator_needs_no_bounds_of_its_own():
    trial = attempt("special:9", **SHORT)
    assert not trial.faults, trial


@pytest.mark.patient
def test_starts_find_a_feasible_point_although_the_objective_leads_away_from_it():
    # Predictions between two sides 1e-3 apart: at an estimated penalty every start leaves the points that all but hold.
    program, embeddings = to_dcembed(draw("SOCP", 1004))
    assert dcembed.solve(program, embeddings, options={"verbose": False, "max_starts": 7}).is_feasible
