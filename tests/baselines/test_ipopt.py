"""Ipopt on the oracle of the networks: derivatives, known optima, what it refuses, and what ends it."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from dcembed import ConeConstraint, Embedding, Program, QuadraticConstraint, Status, build_mlp
from dcembed.baselines import ipopt
from dcembed.baselines.nonlinear import NonlinearProgram
from dcembed.embedded.elimination import eliminate
from dcembed.errors import InputError, MissingPackageError
from dcembed.network.activations import find_activation
from problems import binary_problem, grid_optimum, level_problem, quiet, random_mlp

pytest.importorskip("ipyopt")
HESSIANS = pytest.mark.parametrize("hessian", ipopt.HESSIANS)


def curved_problem() -> tuple[Program, list[Embedding]]:
    """Two networks, one fed by the other, a neural equality and row, and a constraint of every curved kind; columns x, y, t, u, v, p."""
    network = random_mlp(0, (2, 6, 5, 2))
    # (0.2, 0.1) is feasible.
    u, v = network(np.array([0.2, 0.1]))
    rows = [[1.0, 2.0, 0.5, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]]
    program = Program(
        cost=[0.3, -0.2, 0.1, 0.4, 0.0, 1.0],
        quadratic=np.diag([1.0, 2.0, 0.5, 0.0, 0.0, 0.0]),
        rows=rows,
        row_lb=[-1.0, -np.inf, 0.1 + v],
        row_ub=[2.0, 0.2 + u, 0.1 + v],
        lb=[-1.0, -1.0, 0.0, -np.inf, -np.inf, -np.inf],
        ub=[1.0, 1.0, 2.0, np.inf, np.inf, np.inf],
        quadratic_constraints=[QuadraticConstraint(np.diag([2.0, 1.0, 0.0, 0.0, 0.0, 0.0]), [0.1, 0, 0.2, 0, 0, 0], 1.0)],
        cones=[ConeConstraint([[0, 0, 1.0, 0, 0, 0], [1.0, 0.5, 0, 0, 0, 0], [0, 1.0, 0, 0, 0, 0]], [0.1, 0.2, 0.0])],
    )
    return program, [Embedding(network, [0, 1], [3, 4]), Embedding(random_mlp(1, (2, 4, 1)), [0, 3], [5])]


def dense(places, entries, shape) -> np.ndarray:
    return sp.coo_array((entries, places), shape=shape).toarray()


def test_derivatives_are_those_of_the_values():
    embedded = eliminate(*curved_problem())
    nlp = NonlinearProgram(embedded)
    n = embedded.host.num_columns
    w = np.random.default_rng(5).uniform(0.1, 0.6, n)
    step = 1e-6 * np.eye(n)
    gradient = [(nlp.objective(w + d) - nlp.objective(w - d)) / 2e-6 for d in step]
    np.testing.assert_allclose(nlp.gradient(w), gradient, atol=1e-6)
    jacobian = np.array([(nlp.rows(w + d) - nlp.rows(w - d)) / 2e-6 for d in step]).T
    np.testing.assert_allclose(dense(nlp.jacobian_places, nlp.jacobian(w), (nlp.num_rows, n)), jacobian, atol=1e-6)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_hessian_is_the_lower_half_of_the_host_s_and_of_smooth_networks(activation):
    program, embeddings = curved_problem()
    smooth = [
        replace(each, network=replace(each.network, activations=(find_activation(activation),) * len(each.network.stages)))
        for each in embeddings
    ]
    embedded = eliminate(program, smooth)
    nlp = NonlinearProgram(embedded)
    n = embedded.host.num_columns
    w, multipliers = np.full(n, 0.3), np.random.default_rng(0).normal(size=nlp.num_rows)

    def slope(point):
        return 0.7 * nlp.gradient(point) + multipliers @ dense(nlp.jacobian_places, nlp.jacobian(point), (nlp.num_rows, n))

    # Small steps stay on the linear pieces of ReLU networks.
    numeric = np.array([(slope(w + d) - slope(w - d)) / 2e-7 for d in 1e-7 * np.eye(n)])
    lower = dense(nlp.hessian_places, nlp.hessian(w, 0.7, multipliers), (n, n))
    np.testing.assert_allclose(lower, np.tril(numeric), atol=1e-6)


def test_the_sides_of_a_neural_equality_are_one_row():
    program, embeddings = curved_problem()
    embedded = eliminate(program, embeddings)
    nlp = NonlinearProgram(embedded)
    assert nlp.num_rows == embedded.host.num_rows + 1 + 2 + embedded.restrictions.num_slacks
    # y + v = rhs, and the column that feeds the second network.
    assert np.sum(nlp.lower == nlp.upper) == 2


@HESSIANS
def test_a_known_optimum_with_a_neural_row_is_found(hessian):
    program, embedding = level_problem(2)
    result = ipopt.solve(program, embedding, options=quiet(max_starts=5, max_iterations=200), hessian=hessian)
    best = grid_optimum(embedding.network, program.cost[:2], 0.0, program.ub[2], 2.0, 401)
    assert result.is_feasible
    assert result.objective == pytest.approx(best, abs=0.02)


@HESSIANS
def test_every_kind_of_constraint_holds_at_the_point(hessian):
    program, embeddings = curved_problem()
    result = ipopt.solve(program, embeddings, options=quiet(max_iterations=300, max_starts=3), hessian=hessian)
    assert result.is_feasible, result.worst_violations


@HESSIANS
def test_the_minimum_over_a_ball_is_found(hessian):
    # f = |x| + |y|: over the ball around (1, 1) of radius 0.5 the least is 2 - 0.5 sqrt(2).
    network = build_mlp([np.vstack([np.eye(2), -np.eye(2)]), np.ones((1, 4))], [None, None])
    ball = ConeConstraint([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0.5, -1.0, -1.0])
    result = ipopt.solve(Program(cost=[0.0, 0.0, 1.0], cones=[ball]), Embedding(network, [0, 1], [2]), options=quiet(), hessian=hessian)
    assert result.status is Status.LOCALLY_SOLVED
    assert result.objective == pytest.approx(2 - 0.5 * np.sqrt(2), abs=1e-5)


def test_the_variants_differ_in_their_hessian(capfd):
    program, embedding = level_problem(2)
    for hessian in ipopt.HESSIANS:
        options = quiet(max_iterations=5, verbose=True, solver_options={"print_level": 5})
        ipopt.solve(program, embedding, options=options, hessian=hessian)
    printed = capfd.readouterr().out
    assert "oracle, exact Hessian\n" in printed
    assert "oracle, L-BFGS\n" in printed
    assert "Number of nonzeros in Lagrangian Hessian" in printed


def test_what_it_does_not_take_is_refused():
    program, embedding = binary_problem(0)
    with pytest.raises(InputError, match="continuous hosts only, but this one has 10 integer columns"):
        ipopt.solve(program, embedding, options=quiet())
    program, embedding = level_problem(0)
    with pytest.raises(InputError, match=r"hessian='guess' is not accepted\. Give one of 'exact', 'limited-memory'"):
        ipopt.solve(program, embedding, options=quiet(), hessian="guess")
    with pytest.raises(InputError, match="tolx=3, which Ipopt does not take"):
        ipopt.solve(program, embedding, options=quiet(solver_options={"tolx": 3}))


def test_without_the_package_the_command_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipyopt", None)
    program, embedding = level_problem(0)
    with pytest.raises(MissingPackageError, match=r'pip install "dcembed\[ipopt\]"'):
        ipopt.solve(program, embedding, options=quiet())


def test_an_exception_of_the_callback_reaches_the_caller():
    program, embedding = level_problem(0)

    def fail(record):
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        ipopt.solve(program, embedding, options=quiet(callback=fail))


def test_ctrl_c_returns_the_best_point():
    program, embedding = level_problem(2)
    pressed = []

    def press(record):
        if np.isfinite(record.best) and not pressed:
            pressed.append(record)
            os.kill(os.getpid(), signal.SIGINT)

    # It would go on for a long time: nothing is accurate enough.
    slow = quiet(solver_options={"tol": 1e-300, "acceptable_tol": 1e-300}, max_iterations=10**8, max_starts=10**6, time_limit=100.0)
    result = ipopt.solve(program, embedding, options=replace(slow, callback=press))
    assert pressed
    assert result.status is Status.INTERRUPTED
    assert result.is_feasible
