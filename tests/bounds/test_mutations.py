"""A mistake in any step of a proof is seen by random problems."""

from __future__ import annotations

import pytest

from .mutations import MUTATIONS, caught_after

# Where the first problems do not show it: the seed of the first that does. `python -m tests.bounds` begins with the first.
FIRST = {
    "concave squares: tangent for chord": 14,
    "shared decisions: tangents 1e-2 too high": 240,
    "multipliers: wrong side of rows": 6,
    "multipliers: columns without end end at zero": 123,
    "cones: tangents 1e-2 too low": 23,
    "covers: prices without their kinks": 23,
    "pieces: own restrictions too narrow": 28,
    "pieces by encodings: a tenth too high": 105,
    "tree: reduced costs four times too large": 15,
    "tree: reduced costs of another bound": 9,
}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_mistake_is_seen(mutation):
    assert caught_after(mutation, most=60, first=FIRST.get(mutation.name)) is not None


def test_the_seeds_are_those_of_mistakes_that_there_are():
    assert {mutation.name for mutation in MUTATIONS} >= set(FIRST)
