"""Masters with exact units, and the integer problems that need them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcembed
from benchmarks.problems.dispatch import dispatch_instance
from benchmarks.problems.lots import lots_instance
from benchmarks.problems.routing import routing_instance
from dcembed.embedded.measurements import input_box
from dcembed.embedded.open_block import open_blocks
from dcembed.embedded.point import measure_point
from dcembed.embedded.shared_epigraph import shared_values
from dcembed.engine.bundle import remedies, step
from dcembed.engine.bundle.exact_master import build_exact, has_small_networks
from dcembed.engine.bundle.loop import is_settled
from dcembed.engine.bundle.master import LOOSE_GAP, TIGHT_GAP
from dcembed.engine.bundle.unit_ranges import bound_units
from dcembed.engine.problem import build_problem
from dcembed.engine.subproblem import restriction_rows
from dcembed.engine.workshop import Steps, open_workshop
from dcembed.network.bounds import bound
from dcembed.network.network import preactivations
from dcembed.run.arguments import read_arguments
from dcembed.run.journal import open_journal
from dcembed.run.penalty import initial_penalty
from dcembed.solvers.failover import LastingSession
from embedded.test_written_out import MODERATE, embed
from problems import binary_problem, quiet
from strategies import networks, seeds


def exact_around(embedded, w, max_units):
    problem = build_problem(embedded, quiet())
    point = measure_point(embedded, w)
    blocks = open_blocks(embedded, [bound(m.network, *input_box(m, *problem.box)) for m in embedded.networks])
    return build_exact(problem, blocks, point, max_units), initial_penalty(problem.options, embedded, point)


def model_at(exact, embedded, w, penalty):
    """Objective and slacks of the model where the kept columns are w."""
    lifted = exact.written.lift(w)
    x = np.concatenate([lifted, shared_values(exact.written.embedded, lifted), np.zeros(exact.subproblem.num_slacks)])
    matrix, rhs = restriction_rows(exact.subproblem, exact.majorant)
    slack = np.zeros(exact.subproblem.num_slacks)
    np.maximum.at(slack, embedded.restrictions.slack, np.maximum(matrix @ x - rhs, 0.0))
    x[x.size - slack.size :] = slack
    return exact.value(x, penalty)


@settings(max_examples=15, deadline=None)
@given(networks(scales=MODERATE), seeds(), st.integers(0, 10))
def test_a_model_with_exact_units_majorizes_and_is_tight_at_its_point(network, seed, max_units):
    embedded, rng = embed(network, seed)
    middle = rng.integers(-1, 3, 4).astype(float)
    exact, penalty = exact_around(embedded, middle, max_units)
    for w in [middle, *rng.integers(-1, 3, (6, 4)).astype(float)]:
        merit = measure_point(embedded, w).merit(penalty.value)
        tolerance = 1e-7 * (1.0 + abs(merit))
        value = model_at(exact, embedded, w, penalty)
        assert value >= merit - tolerance
        if w is middle:
            assert value <= merit + tolerance


def test_with_all_units_exact_the_model_is_the_problem():
    embedded, rng = embed(dcembed.build_mlp([rng_weights(0, 5, 3), rng_weights(1, 4, 5), rng_weights(2, 1, 4)], [None] * 3), 3)
    exact, penalty = exact_around(embedded, np.zeros(4), 200)
    few, _ = exact_around(embedded, np.zeros(4), 2)
    gaps = []
    for w in rng.integers(-1, 3, (20, 4)).astype(float):
        merit = measure_point(embedded, w).merit(penalty.value)
        assert model_at(exact, embedded, w, penalty) == pytest.approx(merit, abs=1e-7 * (1 + abs(merit)))
        gaps.append(model_at(few, embedded, w, penalty) - merit)
    assert max(gaps) > 1e-3


def rng_weights(seed, rows, columns):
    return np.random.default_rng(seed).normal(size=(rows, columns))


def test_exact_units_see_over_a_ridge_that_tangents_and_steps_of_one_do_not(monkeypatch):
    # 1 at 0, -1 at 2, 1 at 5, -2 at 8, 1 at 10.
    valleys = dcembed.build_mlp([[[1.0]] * 4, [[-1.0, 5 / 3, -5 / 3, 2.5]]], [[0.0, -2.0, -5.0, -8.0], [1.0]])
    program = dcembed.Program(cost=[0.0, 1.0], lb=[0.0, -np.inf], ub=[10.0, np.inf], integer=[0])
    embedding = dcembed.Embedding(valleys, [0], [1])
    result = dcembed.solve(program, embedding, start=[2.0, 0.0], options=quiet())
    assert result.x == pytest.approx([8.0, -2.0])
    # Where the model with exact units is the problem itself, its answer is final: one more master finds nothing there.
    assert result.history[-2].objective == pytest.approx(-2.0)
    assert len(result.history) == 3
    monkeypatch.setattr(remedies, "has_small_networks", lambda problem: False)
    assert dcembed.solve(program, embedding, start=[2.0, 0.0], options=quiet()).x == pytest.approx([2.0, -1.0])


def test_a_master_that_repeats_its_candidate_goes_to_the_tight_gap_at_once(monkeypatch):
    gaps = []
    solve_master = step.solve_master

    def watched(problem, workshop, model, point, penalty, is_held):
        if not (is_held or model.looks or model.is_turned):
            gaps.append(model.gap)
        return solve_master(problem, workshop, model, point, penalty, is_held)

    monkeypatch.setattr(step, "solve_master", watched)
    instance = routing_instance(3, 2)
    dcembed.solve(instance.program, instance.embeddings, options=quiet())
    # Some at the loose gap until one repeats the point, then those at the tight gap: nothing in between.
    assert set(gaps) == {LOOSE_GAP, TIGHT_GAP}


def test_a_start_ends_where_another_has_settled_on_the_same_choice():
    program, embedding = binary_problem(1)
    problem = build_problem(read_embedded(program, embedding), quiet())
    w = np.zeros(problem.embedded.host.num_columns)
    other = w.copy()
    other[problem.embedded.input_columns[0]] = 1.0
    assert is_settled(problem, w, [other, w + 1e-12])
    assert not is_settled(problem, w, [other])
    assert not is_settled(problem, w, [])


def read_embedded(program, embedding):
    with open_journal(read_arguments(program, embedding, None, quiet())) as journal:
        return journal.embedded


def test_bounds_over_the_host_hold_at_its_points_and_are_tighter_than_those_of_the_box():
    instance = dispatch_instance(2, 1)
    with open_journal(read_arguments(instance.program, instance.embeddings, None, quiet())) as journal:
        problem = build_problem(journal.embedded, quiet())
        with open_workshop(problem, journal, Steps(0, 10)) as workshop:
            bounds = bound_units(problem, workshop.host, journal.clock)
    (measured,) = problem.embedded.networks
    loose = bound(measured.network, *input_box(measured, *problem.box))
    assert np.mean((bounds[0][0][1] - bounds[0][0][0]) / (loose[0][1] - loose[0][0])) < 0.7
    result = dcembed.solve(instance.program, instance.embeddings, options=quiet())
    at = preactivations(measured.network, measured.points(problem.embedded.lower(result.x)))
    for (low, high), before in zip(bounds[0], at, strict=True):
        assert (before >= low - 1e-6).all()
        assert (before <= high + 1e-6).all()


def test_large_networks_and_continuous_hosts_have_no_masters_with_exact_units():
    program, embedding = binary_problem(0)
    assert has_small_networks(build_problem(read_embedded(program, embedding), quiet()))
    continuous = dcembed.Program(cost=[1.0, 1.0], lb=[0.0, -np.inf], ub=[1.0, np.inf])
    hat = dcembed.build_mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], None])
    assert not has_small_networks(build_problem(read_embedded(continuous, dcembed.Embedding(hat, [0], [1])), quiet()))


def test_the_time_limit_holds_in_a_master_with_exact_units(monkeypatch):
    instance, given = lots_instance(5, 0), []
    solve = LastingSession.solve

    def watch(session, limits, *rest, **more):
        given.append(limits.seconds)
        return solve(session, limits, *rest, **more)

    monkeypatch.setattr(LastingSession, "solve", watch)
    result = dcembed.solve(instance.program, instance.embeddings, options=quiet(time_limit=2.5))
    assert result.is_feasible
    # No solve may take longer than what is left of it, and none does.
    assert given
    assert all(later <= 2.5 for later in given)
    assert result.seconds < 2.5 + 30.0
