"""What is known of why another method is ahead somewhere. Written by hand, from measurements; what is not here is not known."""

from __future__ import annotations

UNKNOWN = "not known"

# Any method.
ALL = "*"
# (experiment, or family of experiments, method) -> the reason.
REASONS: dict[tuple[str, str], str] = {
    (
        "small-qp",
        ALL,
    ): "times: a step takes 3 to 5 ms whatever its size, a third of it in the solver; on problems of 20 ms others are done after fewer",
    (
        "small-water",
        ALL,
    ): "the best point comes with the second master with integers; each begins with rounds of cuts on its relaxation, some ms each",
    (
        "small-pooling",
        ALL,
    ): "the best point comes with the first master with integers, which begins with rounds of cuts on its relaxation, some ms each",
    (
        "small-boxes",
        ALL,
    ): "the start that is given ends in a local optimum, which is settled before the starts that follow; the best point comes from one of those",
    ("qp", "ipopt-lbfgs"): ("objectives: dcembed makes no step that promises less than 1e-6, which is 0.001 % of J here; times: not known"),
}


def reason(experiment: str, family: str, method: str) -> str:
    """Why a method is ahead on an experiment, as far as that is known."""
    keys = (experiment, method), (experiment, ALL), (family, method), (family, ALL)
    return next((REASONS[key] for key in keys if key in REASONS), UNKNOWN)
