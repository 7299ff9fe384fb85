"""Why a quadratic program has no solution, settled by linear programs: interior-point methods often just give up.

A convex quadratic program is infeasible if its rows and bounds are, and unbounded if there is a direction d that they allow
forever, with Qd = 0 and c'd < 0.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dcembed.errors import InputError
from dcembed.program.derive import add_rows, derive, relaxed, without_objective
from dcembed.program.program import Program
from dcembed.solvers.base import Limits, SessionOptions, SolveStatus

# A direction of unit size counts as descending when it improves the objective by more than this, relative to the costs.
DESCENT_TOL = 1e-7


def diagnose(program: Program, limits: Limits) -> SolveStatus | None:
    """INFEASIBLE or UNBOUNDED where that can be shown, else None. Integers count as continuous."""
    if _solve(without_objective(relaxed(program)), limits)[0] is SolveStatus.INFEASIBLE:
        return SolveStatus.INFEASIBLE
    status, direction = _solve(_recession(program), limits)
    if status is SolveStatus.OPTIMAL and direction is not None:
        scale = max(1.0, float(np.abs(program.cost).max()))
        if program.cost @ direction < -DESCENT_TOL * scale:
            return SolveStatus.UNBOUNDED
    return None


def _recession(program: Program) -> Program:
    """Minimize c'd over directions d of size at most one in which the program goes on forever."""
    n = program.num_columns
    quadratic = program.quadratic if program.quadratic is not None else sp.csr_array((0, n))
    still = np.zeros(quadratic.shape[0])
    directions = derive(
        relaxed(program),
        row_lb=np.where(np.isfinite(program.row_lb), 0.0, -np.inf),
        row_ub=np.where(np.isfinite(program.row_ub), 0.0, np.inf),
        lb=np.where(np.isfinite(program.lb), 0.0, -1.0),
        ub=np.where(np.isfinite(program.ub), 0.0, 1.0),
        quadratic=None,
    )
    return add_rows(directions, quadratic, still, still)


def _solve(program: Program, limits: Limits) -> tuple[SolveStatus, np.ndarray | None]:
    from dcembed.solvers.highs_ import HighsSession

    try:
        session = HighsSession(program, SessionOptions())
    except InputError:
        # Numbers that another solver took and HiGHS does not: nothing is shown.
        return SolveStatus.FAILED, None
    solution = session.solve(limits)
    session.close()
    return solution.status, solution.x
