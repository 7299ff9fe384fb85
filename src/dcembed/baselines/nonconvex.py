"""What methods say that hand the host's objective to a solver for convex problems."""

from __future__ import annotations

from dcembed.errors import InputError
from dcembed.program.program import Program


def refuse_nonconvex(program: Program, method: str) -> None:
    """Raise InputError if the quadratic objective is not convex; `method` is the name of who asks."""
    if program.concave is not None:
        raise InputError(
            f"{method} takes convex objectives only, but that of this host has a part against its sense (Program.concave). "
            "Use dcembed.solve or another baseline for it."
        )
