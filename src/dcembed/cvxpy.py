"""Networks in CVXPY problems: `embed` one, then `problem.solve(method="dcembed")`."""

from dcembed.frontends.contract import Extraction
from dcembed.frontends.packages import missing_package

try:
    from dcembed.frontends.cvxpy_ import extract, restore
    from dcembed.frontends.cvxpy_prediction import embed
    from dcembed.frontends.cvxpy_solve import result_of
except ModuleNotFoundError as error:
    raise missing_package(error, "cvxpy", "cvxpy") from None

__all__ = ["Extraction", "embed", "extract", "restore", "result_of"]
