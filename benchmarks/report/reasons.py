"""What is known of why another method is ahead somewhere. Written by hand, from measurements; what is not here is not known."""

from __future__ import annotations

UNKNOWN = "not known"

# Any method.
ALL = "*"
# In what a method may be ahead: where it ends, or how soon it is there (times and integrals over them).
END, SPEED = "objective", "speed"
# (experiment, or family of experiments, method, in what) -> the reason.
REASONS: dict[tuple[str, str, str], str] = {
    (
        "small-qp",
        ALL,
        SPEED,
    ): "a step takes 3 to 5 ms whatever its size, a third of it in the solver; on problems of 20 ms others are done after fewer",
    (
        "small-water",
        ALL,
        SPEED,
    ): "the best point comes with the second master with integers; each begins with rounds of cuts on its relaxation, some ms each",
    (
        "small-pooling",
        ALL,
        SPEED,
    ): "the best point comes with the first master with integers, which begins with rounds of cuts on its relaxation, some ms each",
    (
        "small-boxes",
        ALL,
        SPEED,
    ): "the start that is given ends in a local optimum, which is settled before the starts that follow; the best point comes from one of those",
    ("qp", ALL, END): "dcembed makes no step that promises less than 1e-6, which is 0.001 % of J here",
    ("small-qp", ALL, END): "dcembed makes no step that promises less than 1e-6, which is 0.001 % of J here",
}


def reason(experiment: str, family: str, method: str, what: str) -> str:
    """Why a method is ahead on an experiment in its end or its speed, as far as that is known."""
    keys = ((place, who, what) for place in (experiment, family) for who in (method, ALL))
    return next((REASONS[key] for key in keys if key in REASONS), UNKNOWN)
