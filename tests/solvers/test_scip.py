"""SCIP: what is particular about it."""

from __future__ import annotations

import itertools
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import dcembed
from dcembed import Program
from dcembed.solvers import BACKENDS, Limits, SessionOptions, Solution, SolveStatus, is_installed
from frontends.problems import ConvexQP
from solvers.problems import example, planted_split, solve

pytestmark = pytest.mark.skipif(not is_installed(BACKENDS["scip"]), reason="scip is not installed")


def test_many_quadratic_solves_do_not_crash():
    # SCIP crashes in the 65th thread that solves something nonlinear.
    program = Program(cost=[1.0, 0.3], quadratic=[[2.0, 1.0], [1.0, 2.0]], rows=[[1.0, 1.0]], row_lb=0.5, lb=-3.0, ub=3.0, integer=[0])
    for _ in range(70):
        assert solve("scip", program).status is SolveStatus.OPTIMAL


def test_a_mip_start_is_used():
    hard = planted_split(num_rows=3, num_columns=30)
    # The first solution that SCIP has is the given one, and it stops there.
    solution = solve("scip", hard.program, start=hard.inside, solver_options={"limits/solutions": 1})
    assert hard.program.objective(solution.x) == pytest.approx(0.0, abs=1e-6)


def test_a_run_without_integers_comes_to_an_end():
    case, embedding = ConvexQP.matrices()
    result = dcembed.solve(case, embedding, options=dcembed.Options(solver="scip", max_iterations=100, verbose=False))
    assert result.status is dcembed.Status.LOCALLY_SOLVED
    assert result.objective == pytest.approx(0.309118977, abs=1e-6)


def test_what_scip_raises_is_a_failed_solve(monkeypatch):
    from dcembed.solvers import scip_

    failed: Future = Future()
    failed.set_exception(RuntimeError("SCIP: error in LP solver!"))
    monkeypatch.setattr(scip_._THREADS, "submit", lambda work: failed)
    solution = solve("scip", example("LP").program)
    assert solution.status is SolveStatus.FAILED
    assert solution.message == "SCIP: error in LP solver!"


def test_a_model_that_cannot_be_built_in_time_is_a_time_limit():
    n = 3000
    program = Program(np.ones(n), rows=sp.random_array((n, n), density=0.05, rng=np.random.default_rng(0)), row_lb=-1.0, lb=-1.0, ub=1.0)
    session = BACKENDS["scip"].open(program, SessionOptions())
    solution = session.solve(Limits(seconds=0.005))
    assert solution.status is SolveStatus.TIME_LIMIT
    assert solution.x is None
    assert "not ready" in solution.message


def test_a_solve_that_does_not_stop_is_left_behind(monkeypatch):
    from dcembed.solvers import scip_

    endless: Future = Future()
    left: list = []
    # Every look at the clock is a second later; the solve itself takes longer than there is time.
    looks, passed = itertools.count(), [0.0]

    def submit(work):
        passed[0] += 1e6
        return endless

    monkeypatch.setattr(scip_, "time", SimpleNamespace(monotonic=lambda: passed[0] + next(looks)))
    monkeypatch.setattr(scip_._THREADS, "submit", submit)
    monkeypatch.setattr(scip_, "leave_behind", left.append)
    session = BACKENDS["scip"].open(example("LP").program, SessionOptions())
    assert session.solve(Limits(seconds=1e5)).status is SolveStatus.TIME_LIMIT
    assert session.solve(Limits(interrupted=lambda: True)).status is SolveStatus.INTERRUPTED
    # The end of the process waits for the first; the second was interrupted before it began.
    assert len(left) == 1


def test_a_relaxation_goes_without_indicators(capfd):
    program = Program([-1.0, -1.0], lb=0.0, ub=[1.0, 5.0], integer=[0], indicators=[dcembed.Indicator(0, 1, [0.0, 1.0], ub=2.0)])
    session = BACKENDS["scip"].open(program, SessionOptions())
    relaxed = session.solve(Limits(), relax=True)
    whole = session.solve(Limits())
    assert relaxed.x == pytest.approx([1.0, 5.0])
    assert program.objective(whole.x) == pytest.approx(-5.0)
    assert "not binary" not in "".join(capfd.readouterr())


def test_a_quadratic_relaxation_is_left_to_piqp_and_comes_back_where_that_fails(monkeypatch):
    from dcembed.solvers import scip_

    quadratic, indicators = np.diag([2.0, 2.0]), [dcembed.Indicator(0, 1, [0.0, 1.0], ub=2.0)]
    program = Program(
        [-3.0, -10.0], quadratic=quadratic, rows=[[1, 1]], row_ub=5.5, lb=0.0, ub=[1.0, 5.0], integer=[0], indicators=indicators
    )
    session = BACKENDS["scip"].open(program, SessionOptions())
    own = scip_.ScipSession(program, SessionOptions())
    own._relaxation = None
    session.set_cost(np.array([-0.8, -12.0]), 0.5)
    own.set_cost(np.array([-0.8, -12.0]), 0.5)
    assert own.solve(Limits(), relax=True).x == pytest.approx([0.4, 5.0], abs=1e-3)
    with monkeypatch.context() as patch:
        patch.setattr(scip_, "_solve", lambda *arguments: pytest.fail("SCIP was asked"))
        assert session.solve(Limits(), relax=True).x == pytest.approx([0.4, 5.0], abs=1e-5)
        # The indicator holds where its binary is fixed.
        session.set_bounds(np.array([1.0, 0.0]), np.array([1.0, 5.0]))
        assert session.solve(Limits(), relax=True).x == pytest.approx([1.0, 2.0], abs=1e-5)
    monkeypatch.setattr(scip_.PiqpSession, "solve", lambda self, limits: Solution(SolveStatus.FAILED))
    assert session.solve(Limits(), relax=True).x == pytest.approx([1.0, 2.0], abs=1e-3)


def test_the_gap_at_which_a_search_stopped_is_reported():
    rng = np.random.default_rng(0)
    weights = rng.random((3, 40))
    program = Program(
        -rng.random(40), quadratic=0.1 * np.eye(40), rows=weights, row_ub=0.3 * weights.sum(axis=1), lb=0, ub=1, integer=range(40)
    )
    loose, tight = (BACKENDS["scip"].open(program, SessionOptions()).solve(Limits(gap=gap)) for gap in (0.5, 1e-4))
    assert 1e-4 < loose.gap <= 0.5
    assert tight.gap <= 1e-4
    assert program.objective(tight.x) <= program.objective(loose.x)
    assert BACKENDS["scip"].open(program, SessionOptions()).solve(Limits(), relax=True).gap == 0.0


@pytest.mark.parametrize("part", ["cone", "indicators"])
def test_the_clock_is_heard_while_cones_and_indicators_are_handed_over(part):
    cone = dcembed.ConeConstraint(np.vstack([np.zeros(30), np.eye(30)]), np.append(1.0, np.zeros(30)))
    switches = [dcembed.Indicator(0, 1, np.ones(30), ub=1.0)] * 30
    parts = {"cones": [cone]} if part == "cone" else {"indicators": switches}
    program = Program(np.ones(30), lb=0.0, ub=1.0, integer=[0], **parts)
    asked = []
    limits = Limits(interrupted=lambda: asked.append(0) or len(asked) > 5)
    solution = BACKENDS["scip"].open(program, SessionOptions()).solve(limits)
    assert solution.status is SolveStatus.INTERRUPTED
    assert "not ready" in solution.message
