"""Bounds are never on the wrong side of the optimum: of every step by itself, and of proofs as a whole.

`python -m tests.bounds` looks at thousands of problems in the same way.
"""

from __future__ import annotations

import numpy as np
import pytest

from repetitions import IS_LONG

from . import steps
from .random_problems import HOSTS, completed, draw
from .steps import STEPS, prove_steps, prove_whole
from .truth import ALLOWED, best_of, excess, least_possible, measure

# Problems of every kind are among the first seventy.
NUM_CHUNKS, CHUNK, NUM_WHOLE = 20 if IS_LONG else 8, 10, 20


@pytest.fixture(autouse=True)
def _short_proofs(monkeypatch):
    for name, value in {"COVER_BOXES": 150, "CUT_ROUNDS": 2, "TREE_BOXES": 10}.items():
        monkeypatch.setattr(steps, name, value)


@pytest.mark.parametrize("chunk", range(NUM_CHUNKS))
def test_no_step_proves_too_much(chunk):
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        drawn = draw(seed)
        proved = prove_steps(drawn, start=drawn.witness if seed % 2 else None)
        best = best_of(drawn, proved.points, seed)
        wrong = {step: excess(bound, best) for step, bound in proved.bounds.items() if excess(bound, best) > ALLOWED}
        assert wrong == {}, (seed, drawn.features, best)


@pytest.mark.parametrize("seed", range(1000, 1000 + NUM_WHOLE))
def test_a_closed_gap_encloses_the_optimum(seed):
    drawn = draw(seed)
    sense, gap_tol = drawn.program.sense, 1e-4
    result, best = prove_whole(drawn, 2.0, gap_tol)
    objective, bound = sense * result.objective, sense * result.bound
    assert excess(bound, best) <= ALLOWED
    assert objective >= least_possible(drawn) - 1e-5 * max(1.0, abs(objective))
    if result.status.name == "OPTIMAL":
        assert objective - bound <= gap_tol * abs(objective) * (1 + 1e-9) + 1e-9 * max(1.0, abs(objective))
        assert objective <= best + gap_tol * abs(objective) + ALLOWED * max(1.0, abs(best))


def test_the_problems_are_of_every_kind():
    features = set()
    for seed in range(NUM_CHUNKS * CHUNK):
        drawn = draw(seed)
        assert measure(drawn, completed(drawn, drawn.witness[None, : drawn.num_drawn]))[1].all()
        features |= set(drawn.features)
    from dcembed.network.activations import ACTIVATIONS

    others = {"scenarios", "chained", "affine inputs", "free column", "epigraph", "equality", "indicator", "indicator on predictions"}
    assert features >= set(HOSTS) | set(ACTIVATIONS) | others | {"curved predictions", "whole objective"}


def test_bounds_come_near_to_the_optimum():
    """A bound of minus infinity is never wrong: these are tight enough to be."""
    tight = dict.fromkeys(STEPS, 0)
    for seed in range(300, 312):
        drawn = draw(seed)
        proved = prove_steps(drawn, start=drawn.witness)
        best = best_of(drawn, proved.points, seed)
        for step, bound in proved.bounds.items():
            tight[step] += bool(np.isfinite(bound)) and excess(bound, best) > -1e-3
    assert tight["boxes"] >= 6
    assert tight["exact"] >= 1


def test_a_grid_with_a_margin_is_below_the_best_point_and_near_it():
    near = 0
    for seed in range(40):
        drawn = draw(seed)
        best, least = best_of(drawn, [], seed), least_possible(drawn)
        assert least <= best + 1e-12 * abs(best)
        near += least >= best - 0.3 * max(1.0, abs(best))
    assert near >= 10
