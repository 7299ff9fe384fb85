"""The way from a feasible point to one that is not."""

from types import SimpleNamespace

import numpy as np
import pytest

from dcembed import Embedding, Options, Program, build_mlp
from dcembed.embedded.elimination import eliminate
from dcembed.embedded.point import measure_point
from dcembed.engine import segment
from dcembed.engine.problem import build_problem
from dcembed.engine.segment import search_segment


def _problem(limit):
    """min -x on [0, 1] with |x - 0.1| + 2 max(x - 0.5, 0) <= limit."""
    network = build_mlp([[[1.0], [-1.0], [1.0]], [[1.0, 1.0, 2.0]]], [[-0.1, 0.1, -0.5], [0.0]])
    program = Program(cost=[-1.0, 0.0], lb=[0.0, -np.inf], ub=[1.0, limit])
    return build_problem(eliminate(program, [Embedding(network, [[0]], [[1]])]), Options())


# Up to 0.5 the row is straight apart from its first kink, beyond it bends.
@pytest.mark.parametrize(("limit", "edge"), [(0.2, 0.3), (0.7, 0.6), (1.3, 0.8)])
def test_the_last_feasible_point_of_the_way_is_found_with_few_passes(limit, edge, monkeypatch):
    problem, num_measured, offered = _problem(limit), [], []
    monkeypatch.setattr(segment, "evaluate_points", lambda e, w, f=segment.evaluate_points: num_measured.append(len(w)) or f(e, w))
    best, candidate = (measure_point(problem.embedded, np.array([x])) for x in (0.1, 1.0))
    found = search_segment(problem, SimpleNamespace(journal=SimpleNamespace(offer=offered.append)), best, candidate, 10.0)
    assert found.is_feasible(1e-6)
    assert offered == [found]
    assert edge - 0.02 <= found.w[0] <= edge + 1e-6
    assert sum(num_measured) <= 8


def test_nothing_is_measured_where_the_candidate_is_no_better(monkeypatch):
    problem = _problem(0.2)
    monkeypatch.setattr(segment, "evaluate_points", None)
    best, candidate = (measure_point(problem.embedded, np.array([x])) for x in (0.3, 0.0))
    assert search_segment(problem, None, best, candidate, 10.0) is candidate
