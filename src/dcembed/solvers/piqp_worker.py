"""`python -m dcembed.solvers.piqp_worker`: solves the quadratic programs that `PiqpSession` sends."""

from __future__ import annotations

from dcembed.solvers.piqp_ import run_piqp
from dcembed.solvers.remote import Arrays, serve


def solve(request: Arrays) -> Arrays:
    """Answer one request: PIQP's status name, point and multipliers."""
    settings = {name.removeprefix("setting."): value.item() for name, value in request.items() if name.startswith("setting.")}
    return run_piqp(request, settings)


if __name__ == "__main__":
    serve(solve)
