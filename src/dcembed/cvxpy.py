"""Networks in CVXPY problems: `embed` one, then `problem.solve(method="dcembed")`."""

from dcembed.frontends.cvxpy_ import embed, extract, result_of

__all__ = ["embed", "extract", "result_of"]
