"""A mistake in any step of a proof is seen by random problems."""

from __future__ import annotations

import pytest

from .mutations import MUTATIONS, caught_after


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_mistake_is_seen(mutation):
    assert caught_after(mutation, most=60) is not None
