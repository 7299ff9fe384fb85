"""Hosts with quadratic constraints and cones, and solvers whose licence is too small."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dcembed
from dcembed import ConeConstraint, Embedding, Indicator, Options, Program, QuadraticConstraint, Status, solvers
from dcembed.errors import NoBackendError, SolverLimitError
from dcembed.solvers import BACKENDS, is_installed, table
from frontends.problems import make_network

NETWORK = make_network(2, (6, 6), 7)
CONVEX = make_network(2, (6, 6), 7, convex=True)
QUIET = Options(verbose=False, search="converge")
GRID = np.stack(np.meshgrid(np.linspace(-1.2, 1.2, 481), np.linspace(-1.2, 1.2, 481), indexing="ij"), axis=-1).reshape(-1, 2)


def needs(name: str):
    return pytest.mark.skipif(not is_installed(BACKENDS[name]), reason=f"{name} is not installed")


def disc(kind: str) -> Program:
    """minimize y = f(x)  s.t.  |x| <= 1, written as a quadratic constraint or as a cone."""
    if kind == "quadratic":
        return Program(cost=[0.0, 0.0, 1.0], quadratic_constraints=[QuadraticConstraint(np.diag([2.0, 2.0, 0.0]), None, 1.0)])
    return Program(cost=[0.0, 0.0, 1.0], cones=[ConeConstraint([[0.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]], [1.0, 0.0, 0.0])])


def best_on_disc() -> float:
    return float(CONVEX(GRID[np.linalg.norm(GRID, axis=1) <= 1]).min())


@pytest.mark.parametrize("kind", ["quadratic", "cone"])
@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in ("clarabel", "scip", "gurobi")])
def test_the_best_point_of_a_disc_is_found(kind, name):
    result = dcembed.solve(disc(kind), Embedding(CONVEX, [[0, 1]], [2]), options=replace(QUIET, solver=name))
    assert result.status is Status.LOCALLY_SOLVED
    assert result.is_feasible
    assert result.solver == name
    # The grid has no point on the circle, so the run may only be better.
    assert best_on_disc() - 0.02 < result.objective < best_on_disc() + 1e-4


@pytest.mark.parametrize("formulation", ["shared", "two-path"])
@needs("clarabel")
def test_every_formulation_carries_cones(formulation):
    program = disc("cone")
    bounded = replace(program, lb=[-2, -2, -np.inf], ub=[2, 2, np.inf])
    result = dcembed.solve(bounded, Embedding(NETWORK, [[0, 1]], [2]), options=replace(QUIET, formulation=formulation))
    assert result.is_feasible
    assert result.verify().cones <= 1e-5


@needs("clarabel")
def test_a_prediction_inside_a_cone_is_met():
    # minimize s  s.t.  s >= |(y + 0.3, x0 - 0.2)|, y = f(x): the prediction is in the cone, so it is tied by an equality.
    cone = ConeConstraint([[0, 0, 0, 1.0], [0, 0, 1.0, 0], [1.0, 0, 0, 0]], [0.0, 0.3, -0.2])
    program = Program(cost=[0, 0, 0, 1.0], lb=[-1, -1, -np.inf, 0], ub=[1, 1, np.inf, np.inf], cones=[cone])
    inside = GRID[np.abs(GRID).max(axis=1) <= 1]
    value = np.hypot(NETWORK(inside)[:, 0] + 0.3, inside[:, 0] - 0.2)
    # The method is local: from a point on the right side.
    near = inside[value.argmin()] + 0.05 * np.array([1.0, -1.0])
    start = np.concatenate([np.clip(near, -1, 1), [0.0, 5.0]])
    result = dcembed.solve(program, Embedding(NETWORK, [[0, 1]], [2]), start=start, options=QUIET)
    assert result.is_feasible
    assert value.min() - 1e-2 < result.objective < value.min() + 1e-3


@needs("scip")
def test_integers_and_cones_together():
    # minimize f(x) + k / 10  s.t.  |x| <= k,  k in {0, 1, 2}
    cone = ConeConstraint([[0, 0, 0, 1.0], [1.0, 0, 0, 0], [0, 1.0, 0, 0]])
    program = Program(cost=[0, 0, 1.0, 0.1], lb=[-1, -1, -np.inf, 0], ub=[1, 1, np.inf, 2], integer=[3], cones=[cone])
    result = dcembed.solve(program, Embedding(NETWORK, [[0, 1]], [2]), options=replace(QUIET, time_limit=200))
    inside = GRID[np.abs(GRID).max(axis=1) <= 1]
    best = (NETWORK(inside)[:, 0] + 0.1 * np.ceil(np.linalg.norm(inside, axis=1) - 1e-9)).min()
    assert result.is_feasible
    assert result.solver == "scip"
    assert result.objective < best + 2e-3


def wide_problem(n: int) -> tuple[Program, Embedding]:
    """f(x0, x1) and n columns that follow it."""
    rows = np.zeros((n, n + 3))
    rows[:, 2], rows[np.arange(n), 3 + np.arange(n)] = -1.0, 1.0
    cost = np.concatenate([[0, 0, 0], np.full(n, 1.0 / n)])
    lb, ub = np.concatenate([[-1, -1], np.full(n + 1, -50.0)]), np.concatenate([[1, 1], np.full(n + 1, 50.0)])
    return Program(cost=cost, rows=rows, row_lb=0.0, lb=lb, ub=ub), Embedding(NETWORK, [[0, 1]], [2])


@needs("gurobi")
def test_a_licence_that_is_too_small_leaves_it_to_another_solver(capsys):
    limited = BACKENDS["gurobi"].open
    program, embedding = wide_problem(2100)
    try:
        limited(program, solvers.SessionOptions()).close()
        pytest.skip("this Gurobi licence has no size limit")
    except SolverLimitError:
        pass
    result = dcembed.solve(program, embedding, options={"solver": "gurobi", "solver_options": {"MIPGap": 0.1}, "max_starts": 2})
    printed = capsys.readouterr().out
    assert result.is_feasible
    assert result.solver == "highs"
    assert "gurobi: The Gurobi licence does not carry a problem of " in printed
    assert "Going on with highs." in printed
    assert "on highs" in printed


class Outgrown:
    """A session that carries a number of solves and then has grown too large for its licence."""

    def __init__(self, session, solves: int) -> None:
        self._session, self._left = session, solves

    def __getattr__(self, name):
        return getattr(self._session, name)

    def solve(self, *args, **kwargs):
        if self._left == 0:
            raise SolverLimitError("too large.")
        self._left -= 1
        return self._session.solve(*args, **kwargs)


def limited_table(monkeypatch, solves: int, classes=frozenset({"LP", "MILP"}), has_indicators: bool = False) -> None:
    """The table with a backend "small" whose subproblems outgrow it."""
    highs = BACKENDS["highs"]
    opened = []

    def open_small(program, options):
        opened.append(program)
        # The host never grows; the first session of the subproblem carries some solves, later ones none.
        is_subproblem = program.num_columns > min(other.num_columns for other in opened)
        first = sum(other.num_columns == program.num_columns for other in opened) == 1
        return Outgrown(highs.open(program, options), solves * first if is_subproblem else -1)

    small = replace(highs, name="small", open=open_small, classes=classes)
    monkeypatch.setattr(table, "BACKENDS", {**BACKENDS, "small": small})


@pytest.mark.parametrize("formulation", ["lazy", "shared"])
def test_outgrowing_a_licence_in_the_middle_loses_nothing(monkeypatch, capsys, formulation):
    program = Program(
        cost=[0.0, 0.0, 1.0, 0.3],
        lb=[-1, -1, -np.inf, 0],
        ub=[1, 1, np.inf, 1],
        integer=[3],
        indicators=[Indicator(3, 0, [1.0, 0.0, 0.0, 0.0], lb=0.5)],
    )
    embedding = Embedding(NETWORK, [[0, 1]], [2])
    options = Options(formulation=formulation, search="converge")
    alone = dcembed.solve(program, embedding, options=replace(options, verbose=False))
    for solves in (0, 1, 2):
        limited_table(monkeypatch, solves)
        result = dcembed.solve(program, embedding, options=replace(options, solver="small"))
        assert "small: too large. Going on with highs." in capsys.readouterr().out
        assert result.solver == "highs"
        assert result.status is Status.LOCALLY_SOLVED
        assert result.objective == pytest.approx(alone.objective, abs=1e-6)


def test_outgrowing_the_only_solver_keeps_the_incumbent(monkeypatch):
    program = Program(cost=[0.0, 0.0, 1.0], lb=[-1, -1, -np.inf], ub=[1, 1, np.inf])
    limited_table(monkeypatch, 1)
    monkeypatch.setattr(table, "is_installed", lambda backend: backend.name == "small")
    result = dcembed.solve(program, Embedding(NETWORK, [[0, 1]], [2]), options=replace(QUIET, solver="small"))
    assert result.status is Status.NUMERICAL_ERROR
    assert result.is_feasible


def test_a_curved_host_without_a_solver_for_it(monkeypatch):
    monkeypatch.setattr(table, "is_installed", lambda backend: backend.name in ("highs", "piqp"))
    with pytest.raises(NoBackendError, match=r"The host is an SOCP and no installed solver takes that.*dcembed\[clarabel\]"):
        dcembed.solve(disc("cone"), Embedding(NETWORK, [[0, 1]], [2]), options=QUIET)
