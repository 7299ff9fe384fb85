"""How far apart an objective and a bound are: the one formula for gaps."""

from __future__ import annotations

from math import inf, isfinite

# A difference of at most this, relative to max(1, |F|), is rounding and counts as none.
ROUNDING = 1e-9
# What a difference is divided by where the objective is zero.
TINY = 1e-10
# Gaps that people are shown by number.
SMALLEST, LARGEST = 1e-5, 10.0


def relative_gap(objective: float, bound: float, sense: float = 1.0) -> float:
    """max(0, sense * (F - bound)) / |F|; 0 where the difference is rounding, inf where one of the two is not known. It is never NaN.

    `sense` is 1 where F is minimized and `bound` lies below, -1 where it is maximized.
    """
    if not (isfinite(objective) and isfinite(bound)):
        return inf
    distance = max(0.0, sense * (objective - bound))
    if distance <= ROUNDING * max(1.0, abs(objective)):
        return 0.0
    return distance / max(abs(objective), TINY)


def show_gap(gap: float) -> str:
    """A gap for a person, in percent; "-" where nothing is known."""
    if not isfinite(gap):
        return "-"
    if 0 < gap < SMALLEST:
        return f"<{100 * SMALLEST:g} %"
    return f"{100 * gap:.3g} %" if gap <= LARGEST else f">{100 * LARGEST:g} %"
