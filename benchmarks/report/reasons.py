"""What is known of why another method is ahead somewhere. Written by hand, from measurements; what is not here is not known."""

from __future__ import annotations

UNKNOWN = "not known"

# (experiment, or family of experiments, method) -> the reason.
REASONS: dict[tuple[str, str], str] = {
    ("qp", "ipopt-lbfgs"): ("objectives: dcembed makes no step that promises less than 1e-6, which is 0.001 % of J here; times: not known"),
}


def reason(experiment: str, family: str, method: str) -> str:
    """Why a method is ahead on an experiment, as far as that is known."""
    return REASONS.get((experiment, method)) or REASONS.get((family, method)) or UNKNOWN
