"""Solvers that lie about a relaxation prove nothing that is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dcembed import Options
from dcembed.bounds.boxes import Bounder
from dcembed.solvers.base import Solution, SolveStatus

from .random_problems import draw
from .steps import opened
from .truth import ALLOWED, best_of, excess

QUIET = Options(verbose=False, time_limit=20.0, prove=True)


def _infeasible(solution: Solution, rng: np.random.Generator) -> Solution:
    return Solution(SolveStatus.INFEASIBLE)


def _noisy(solution: Solution, rng: np.random.Generator) -> Solution:
    if solution.duals is None:
        return solution
    return replace(solution, duals=-solution.duals * rng.normal(size=solution.duals.size), x=None)


def _failed(solution: Solution, rng: np.random.Generator) -> Solution:
    return Solution(SolveStatus.FAILED)


def _bound_with(lie, seed: int) -> float:
    """By how much the bound of a relaxation is on the wrong side when its solver lies."""
    drawn, rng = draw(seed), np.random.default_rng(seed)
    with opened(drawn, QUIET, None) as (_, here, box):
        session = here.bounder._session
        solve = session.solve
        session.solve = lambda *args: lie(solve(*args), rng)
        return excess(here.bounder.solve(box).bound, best_of(drawn, [], seed, num_rounds=1))


@pytest.mark.parametrize("lie", [_infeasible, _noisy, _failed])
def test_a_solver_that_lies_proves_nothing_wrong(lie):
    assert max(_bound_with(lie, seed) for seed in range(3000, 3020)) <= ALLOWED


def test_without_a_proof_of_its_own_infeasibility_would_be_believed(monkeypatch):
    monkeypatch.setattr(Bounder, "_is_empty", lambda self, relaxed: True)
    assert max(_bound_with(_infeasible, seed) for seed in range(3000, 3003)) == np.inf
