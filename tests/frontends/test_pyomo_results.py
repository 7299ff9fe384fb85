"""`SolverFactory("dcembed")`: results, statuses, loading, options."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.frontends.problems import ConvexQP, solved

from dcembed.errors import InputError, OptionError
from dcembed.status import Status

pyo = pytest.importorskip("pyomo.environ")

from pyomo.opt import SolverStatus, TerminationCondition  # noqa: E402
from tests.frontends.pyomo_models import build_milp, build_qp, solve  # noqa: E402

from dcembed.frontends.pyomo_solver import termination  # noqa: E402


def test_the_results_say_what_is_known():
    results = solve(build_milp(gdp=False))
    assert results.solver.status == SolverStatus.ok
    assert 0 < float(results.Solver[0].Time) == float(results.solver.wallclock_time)
    assert results.solver.termination_condition == TerminationCondition.locallyOptimal
    assert results.solver.message.startswith("LOCALLY_SOLVED, The procedure has converged")
    # A feasible point of a maximization bounds the optimum from below; nothing is known from above.
    assert results.problem.lower_bound == pytest.approx(1.4932175627)
    assert results.problem.upper_bound == np.inf
    assert str(results.problem.sense) == "maximize"
    assert results.problem.number_of_binary_variables == 3
    assert results.problem.number_of_continuous_variables == 3


def test_every_status_has_its_honest_words():
    result = solved(ConvexQP)
    words = {}
    for status in Status:
        for feasible in (True, False):
            words[status, feasible] = tuple(map(str, termination(dataclasses.replace(result, status=status, is_feasible=feasible))))
    assert words == {
        (Status.OPTIMAL, True): ("ok", "optimal"),
        (Status.OPTIMAL, False): ("warning", "noSolution"),
        (Status.INFEASIBLE, True): ("warning", "feasible"),
        (Status.INFEASIBLE, False): ("warning", "infeasible"),
        (Status.LOCALLY_SOLVED, True): ("ok", "locallyOptimal"),
        (Status.LOCALLY_SOLVED, False): ("warning", "noSolution"),
        (Status.LOCALLY_INFEASIBLE, True): ("warning", "feasible"),
        (Status.LOCALLY_INFEASIBLE, False): ("warning", "noSolution"),
        (Status.TIME_LIMIT, True): ("ok", "maxTimeLimit"),
        (Status.TIME_LIMIT, False): ("aborted", "maxTimeLimit"),
        (Status.ITERATION_LIMIT, True): ("ok", "maxIterations"),
        (Status.ITERATION_LIMIT, False): ("aborted", "maxIterations"),
        (Status.HOST_INFEASIBLE, True): ("warning", "feasible"),
        (Status.HOST_INFEASIBLE, False): ("warning", "infeasible"),
        (Status.OUTSIDE_SUPPORT, True): ("warning", "feasible"),
        (Status.OUTSIDE_SUPPORT, False): ("warning", "infeasible"),
        (Status.UNBOUNDED, True): ("warning", "feasible"),
        (Status.UNBOUNDED, False): ("warning", "noSolution"),
        (Status.NUMERICAL_ERROR, True): ("warning", "feasible"),
        (Status.NUMERICAL_ERROR, False): ("error", "solverFailure"),
        (Status.INTERRUPTED, True): ("aborted", "userInterrupt"),
        (Status.INTERRUPTED, False): ("aborted", "userInterrupt"),
    }


def test_an_infeasible_model_loads_nothing(caplog):
    m = build_qp()
    m.impossible = pyo.Constraint(expr=m.x[0] + m.x[1] >= 5)
    m.x[0].value = 0.125
    results = solve(m)
    assert results.solver.termination_condition == TerminationCondition.infeasible
    assert results.problem.upper_bound == np.inf
    assert m.x[0].value == 0.125
    assert "no values were loaded" in caplog.text


def test_a_constraint_without_variables_left():
    m = build_qp()
    solve(m)
    m.x[0].fix()
    m.holds = pyo.Constraint(expr=m.x[0] <= 1)
    assert solve(m).solver.termination_condition == TerminationCondition.locallyOptimal
    m.fails = pyo.Constraint(expr=m.x[0] >= 2)
    assert solve(m).solver.termination_condition == TerminationCondition.infeasible


def test_a_time_limit_of_zero():
    results = solve(build_qp(), time_limit=0)
    assert results.solver.termination_condition == TerminationCondition.maxTimeLimit


def test_loading_later():
    m = build_milp()
    solver = pyo.SolverFactory("dcembed")
    results = solver.solve(m, load_solutions=False)
    assert m.x[0].value is None
    assert len(results.solution) == 1
    m.solutions.load_from(results)
    assert pyo.value(m.profit) == pytest.approx(1.4932175627)
    clone = build_qp()
    solver.solve(clone, load_solutions=False)
    solver.load_vars()
    assert pyo.value(clone.distance) == pytest.approx(0.3091189773)


def test_a_warm_start_begins_from_the_values():
    m = build_qp()
    solver = pyo.SolverFactory("dcembed")
    solver.solve(m)
    best = pyo.value(m.distance)
    solver.solve(m, warmstart=True, max_iterations=0)
    assert solver.result.incumbents[0][1] == pytest.approx(best)
    assert solver.solve(m, max_iterations=0).solver.termination_condition == TerminationCondition.maxIterations


def test_options_come_from_everywhere(capfd):
    m = build_qp()
    solver = pyo.SolverFactory("dcembed", options={"seed": 3})
    solver.options["max_iterations"] = 0
    assert str(solver.solve(m).solver.termination_condition) == "maxIterations"
    assert str(solver.solve(m, max_iterations=50).solver.termination_condition) == "locallyOptimal"
    assert str(solver.solve(m, options={"max_iterations": 50}).solver.termination_condition) == "locallyOptimal"
    assert capfd.readouterr().out == ""
    solver.solve(m, tee=True, timelimit=200)
    assert "penalty convex-concave procedure" in capfd.readouterr().out
    assert pyo.SolverFactory("dcembed:scip").solve(build_milp()).solver.name.endswith("on scip")
    with pytest.raises(OptionError, match="unknown option 'time_limt'"):
        solver.solve(m, time_limt=3)
    with pytest.raises(InputError, match="are the same option"):
        solver.solve(m, time_limit=3, timelimit=4)


def test_keywords_of_other_solvers_are_taken():
    """A script of before, but for the name of the solver."""
    model = build_qp()
    solver = pyo.SolverFactory("dcembed")
    with pytest.warns(UserWarning, match=r"^solve: ignored, .*: keepfiles, suffixes, symbolic_solver_labels\.$"):
        results = solver.solve(
            model, keepfiles=True, symbolic_solver_labels=True, suffixes=["dual"], report_timing=False, options_string="max_starts=1 seed=3"
        )
    assert results.solver.status == SolverStatus.ok
    assert max(item.start for item in solver.result.history) == 0
    with pytest.raises(OptionError, match="unknown option 'keep_files'"):
        solver.solve(model, keep_files=True)
