"""A point is evaluated once, and what does not change in a run is computed once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import dcembed
from dcembed.embedded import measured_network, point
from dcembed.embedded.elimination import eliminate
from dcembed.engine import problem
from dcembed.network import network, reduction, split
from dcembed.program import cones, program
from problems import FORMULATIONS, box_problem, indicator_problem, level_problem, quiet, random_mlp


@pytest.fixture
def counts(monkeypatch) -> Counter:
    """How often each of some functions is called, wherever it is called from."""
    found: Counter = Counter()

    def watch(module, name, *more):
        real = getattr(module, name)

        def counted(*args, **kwargs):
            found[name] += 1
            return real(*args, **kwargs)

        for place in (module, *more):
            monkeypatch.setattr(place, name, counted)

    # The whole network forward, at a point that is measured or linearized.
    watch(network, "pass_through", measured_network)
    watch(point, "measure_host")
    watch(problem, "tighten")
    watch(program, "check_convex", cones)
    return found


def test_the_papers_loop_has_one_forward_pass_to_measure_a_point_and_to_linearize_there(counts):
    host, embedding = box_problem(random_mlp(0, (3, 10, 8, 1)), np.ones(3), 0.3, limit=0.0)
    result = dcembed.solve(host, embedding, start=np.ones(4), options=quiet(formulation="shared"))
    num_iterations = len(result.history)
    assert num_iterations > 3
    assert counts["measure_host"] == 1 + num_iterations
    # What is linearized, looked at for a slope, or gives a penalty was measured just before, and its pass is known. The answer is verified by a pass
    # of its own, and measured again where later points have taken its place. (The units that a solver begins with are not counted here.)
    assert counts["pass_through"] == num_iterations + 1 + 1 + 1


def test_where_the_split_is_local_only_measured_points_cost_a_forward_pass(counts):
    network_ = random_mlp(0, (3, 10, 8, 1))
    host = dcembed.Program(cost=[0.3, -0.2, 0.1, 1.0], lb=[-1, -1, -1, -np.inf], ub=[1, 1, 1, np.inf])
    result = dcembed.solve(host, dcembed.Embedding(network_, [0, 1, 2], [3]), options=quiet(decomposition="local"))
    assert len(result.history) > 5
    # The start is looked at for a slope, and each tangent step linearizes at its point. The answer is verified once more; without
    # neural rows no penalty is estimated. After a step that was not taken the tangents are known.
    num_linearized = sum(record.kind == "tangent" for record in result.history)
    assert counts["pass_through"] <= counts["measure_host"] + num_linearized + 2


def test_bounds_are_tightened_once_for_all_starts(counts):
    host, embedding = indicator_problem(0)
    starts = [np.zeros(host.num_columns), np.full(host.num_columns, 0.5)]
    dcembed.solve(host, embedding, start=starts, options=quiet())
    assert counts["tighten"] == 1


def test_convexity_is_checked_when_the_user_writes_the_program_and_never_again(counts):
    network_ = random_mlp(0, (2, 6, 1))
    host = dcembed.Program(cost=[1.0, 0.0, 0.5], quadratic=np.diag([1.0, 2.0, 0.0]), lb=[-1, -1, -np.inf], ub=[1, 1, 0.5])
    assert counts["check_convex"] == 1
    for formulation in FORMULATIONS:
        dcembed.solve(host, dcembed.Embedding(network_, [0, 1], [2]), options=quiet(formulation=formulation))
    assert counts["check_convex"] == 1


@pytest.mark.parametrize("options", [{"formulation": "shared"}, {"decomposition": "global"}, {"decomposition": "local"}])
def test_there_is_one_split_and_every_method_uses_it(monkeypatch, options):
    host, embedding = level_problem(9)
    seen = []
    real = split.split_units

    def watched(direct, *others):
        seen.append(direct.shape)
        return real(direct, *others)

    monkeypatch.setattr(split, "split_units", watched)
    monkeypatch.setattr(reduction, "split_units", watched)
    dcembed.solve(host, embedding, start=np.zeros(3), options=quiet(max_iterations=2, tangents=False, **options))
    assert seen


def test_measured_networks_do_not_split_before_they_are_asked():
    host, embedding = level_problem(9)
    (measured,) = eliminate(host, [embedding]).networks
    assert isinstance(measured, measured_network.MeasuredNetwork)
    assert "split" not in vars(measured)
    assert measured.split is vars(measured)["split"]
