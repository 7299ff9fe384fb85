"""A short attack with injected faults."""

from __future__ import annotations

import numpy as np
import pytest

from .faults import OPTIONS, Plan, plan_of, run

ONCE, ALWAYS = 1.0, np.inf


@pytest.fixture(autouse=True)
def enough_time(monkeypatch):
    """What is judged here does not depend on the speed of the machine."""
    monkeypatch.setitem(OPTIONS, "time_limit", 100.0)


def trial_of(layer: str, where: str, what: str, backend: str = "highs", program: str = "special:5", first: int = 2, times: float = ONCE):
    trial = run("test", Plan(layer, where, what, backend, program, first, times))
    assert trial.fired, "the fault was never reached"
    return trial


def test_the_same_seed_plans_the_same_fault():
    assert [plan_of(f"fault:{seed}") for seed in range(50)] == [plan_of(f"fault:{seed}") for seed in range(50)]


def without_silence(trial):
    """What is wrong besides what `test_what_a_library_refuses_is_in_the_result` is about."""
    return {fault: seen for fault, seen in trial.faults.items() if fault != "silent"}


@pytest.mark.parametrize("error", ["RuntimeError", "MemoryError", "Exception", "ValueError"])
def test_a_library_that_raises_in_a_solve_costs_that_step(error):
    assert not without_silence(trial_of("library", "run", error, first=4))


@pytest.mark.parametrize("method", ["changeColsBounds", "changeColsCost", "addRows", "clear"])
def test_a_library_that_raises_in_an_edit_costs_that_step(method):
    assert not without_silence(trial_of("library", method, "RuntimeError", first=3))


@pytest.mark.parametrize(
    ("backend", "method", "error", "program"),
    [
        ("piqp", "solve", "RuntimeError", "special:6"),
        ("clarabel", "solve", "Exception", "special:7"),
        ("scip", "optimizeNogil", "Exception", "special:8"),
        ("gurobi", "optimize", "GurobiError", "special:5"),
        ("gurobi", "optimize", "RuntimeError", "special:5"),
        ("highs", "passModel", "RuntimeError", "special:5"),
    ],
)
def test_every_solvers_own_exceptions_are_known(backend, method, error, program):
    pytest.importorskip({"scip": "pyscipopt", "gurobi": "gurobipy"}.get(backend, backend))
    assert not without_silence(trial_of("library", method, error, backend, program, first=3))


def test_what_a_library_refuses_is_in_the_result():
    for method, first in (("changeColsBounds", 3), ("changeColsCost", 3), ("addRows", 3), ("run", 2), ("run", 4), ("run", 8)):
        assert not trial_of("library", method, "RuntimeError", first=first).faults


def test_what_is_raised_while_scip_reports_a_point_is_in_the_result():
    pytest.importorskip("pyscipopt")
    assert not trial_of("library", "getSolVal", "ValueError", "scip", "MILP:23", first=21).faults


@pytest.mark.parametrize("saying", ["unbounded", "failed", "nothing", "NaN", "huge", "zero"])
@pytest.mark.parametrize("times", [ONCE, ALWAYS])
def test_what_a_solver_says_is_not_believed_before_it_is_measured(saying, times):
    assert not trial_of("says", "solve", saying, first=4, times=times).faults


def test_a_solver_that_says_infeasible_is_not_believed_where_a_point_is_known():
    for first in (3, 4, 6):
        assert not trial_of("says", "solve", "infeasible", first=first, times=ALWAYS).faults


def test_a_point_with_infinite_entries_is_not_computed_with():
    for first in (3, 4, 6):
        assert not trial_of("says", "solve", "infinity", first=first, times=ALWAYS).faults


@pytest.mark.parametrize("method", ["open", "solve", "set_cost", "set_bounds", "replace_rows", "close"])
def test_memory_that_is_refused_costs_that_step(method):
    assert not trial_of("memory", method, "MemoryError", first=3).faults


@pytest.mark.parametrize("function", ["engine.strategy.run_bundle", "engine.workshop.take", "run.completion.measure_point"])
def test_a_mistake_of_ours_is_raised_with_the_result_so_far(function):
    assert not trial_of("mistake", f"dcembed.{function}", "TypeError", first=2).faults


def test_a_mistake_before_the_first_point_is_raised_with_a_result_too():
    assert not trial_of("mistake", "dcembed.engine.search.host_point.find_start", "AttributeError", program="MILP:32", first=1).faults


def test_a_callback_that_raises_keeps_the_point():
    assert not trial_of("callback", "callback", "raises", first=3).faults


def test_a_callback_that_stops_the_run_is_an_interrupt():
    assert not trial_of("callback", "callback", "stops", first=3).faults
