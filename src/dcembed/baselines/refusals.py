"""What methods say that hand the whole problem, networks and all, to a solver for convex problems with integers."""

from __future__ import annotations

from collections.abc import Sequence

from dcembed.embedded.embedding import Embedding
from dcembed.embedded.relu_only import require_relu
from dcembed.errors import InputError
from dcembed.program.program import Program


def refuse_nonconvex(program: Program, method: str) -> None:
    """Raise InputError if the quadratic objective is not convex; `method` is the name of who asks."""
    if program.concave is not None:
        raise InputError(
            f"{method} takes convex objectives only, but that of this host has a part against its sense (Program.concave). "
            "Use dcembed.solve or another baseline for it."
        )


def refuse_smooth(embeddings: Sequence[Embedding], method: str) -> None:
    """Raise NetworkError if a network has other units than ReLU, by the name of the activation."""
    instead = "dcembed.solve takes all activations, and so do the baselines ipopt, pgd, attack and dual_decomposition."
    require_relu((embedding.network for embedding in embeddings), method, instead)
