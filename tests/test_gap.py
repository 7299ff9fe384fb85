"""The one formula for gaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcembed.gap import relative_gap, show_gap


@pytest.mark.parametrize(
    ("objective", "bound", "sense", "gap"),
    [
        (2.0, 1.0, 1.0, 0.5),
        (-2.0, -3.0, 1.0, 0.5),
        (2.0, 3.0, -1.0, 0.5),
        (-2.0, -1.0, -1.0, 0.5),
        # A bound on the other side closes the gap: the point uses its tolerance.
        (2.0, 2.5, 1.0, 0.0),
        (2.0, 1.5, -1.0, 0.0),
        # Rounding, in relation to the objective and to one.
        (1e6, 1e6 - 5e-4, 1.0, 0.0),
        (1e6, 1e6 - 2e-3, 1.0, 2e-9),
        (0.0, -5e-10, 1.0, 0.0),
        (0.0, -1.0, 1.0, 1e10),
        (np.nan, 1.0, 1.0, np.inf),
        (1.0, np.nan, 1.0, np.inf),
        (1.0, -np.inf, 1.0, np.inf),
        (1.0, np.inf, 1.0, np.inf),
        (np.nan, -np.inf, 1.0, np.inf),
    ],
)
def test_gaps_of_known_pairs(objective, bound, sense, gap):
    assert relative_gap(objective, bound, sense) == pytest.approx(gap, rel=1e-6)


@given(st.floats(), st.floats(), st.sampled_from([1.0, -1.0]))
def test_a_gap_is_never_nan_and_never_negative(objective, bound, sense):
    gap = relative_gap(objective, bound, sense)
    assert gap >= 0.0
    assert gap == relative_gap(-objective, -bound, -sense)


def test_a_gap_is_shown_in_percent():
    assert show_gap(0.01234) == "1.23 %"
    assert show_gap(0.0) == "0 %"
    assert show_gap(0.999) == "99.9 %"
    assert show_gap(1e-9) == "<0.001 %"
    assert show_gap(1e9) == ">1000 %"
    assert show_gap(np.inf) == "-"
