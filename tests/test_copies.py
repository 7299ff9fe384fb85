"""Copies of frozen data have the fields that were changed, those that were not, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pytest

from dcembed.copies import replace


@dataclass(frozen=True)
class Interval:
    lb: float
    ub: float = 1.0

    @cached_property
    def width(self) -> float:
        return self.ub - self.lb


def test_what_was_computed_stays_with_the_original():
    original = Interval(0.0)
    assert original.width == 1.0
    copy = replace(original, ub=3.0)
    assert (copy, copy.width) == (Interval(0.0, 3.0), 3.0)
    assert (original.ub, original.width) == (1.0, 1.0)


def test_an_unknown_field_is_refused():
    with pytest.raises(TypeError, match=r"Interval has no field \['width'\]"):
        replace(Interval(0.0), width=2.0)
