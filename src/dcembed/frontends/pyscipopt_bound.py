"""A proved bound as SCIP's own dual bound, so that `getDualbound` and `getGap` tell it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyscipopt

from dcembed.frontends.own_objective import has_price
from dcembed.result import Result
from dcembed.status import Status

GAP = "limits/gap"


def tell_bound(scip: pyscipopt.Model, result: Result) -> None:
    """Give the node that SCIP is at, its root, the bound of a run whose point it has; what it cannot take is left."""
    if not (np.isfinite(result.bound) and result.is_feasible and scip.getNSols() > 0):
        return
    if has_price(result.embeddings):
        # It bounds the objective with the price, and SCIP knows the one without.
        return
    scale = _scale(scip)
    if scale is None:
        return
    # SCIP shifts and scales objectives for itself; its best solution is known in both ways.
    bound = scip.getUpperbound() + scale * (result.bound - scip.getPrimalbound())
    scip.updateNodeLowerbound(scip.getCurrentNode(), min(bound, scip.getUpperbound()))


def accept_gap(scip: pyscipopt.Model, result: Result) -> None:
    """Have SCIP end by itself, at its gap limit, if the result is optimal: it divides by the smaller of the two bounds."""
    if result.status is Status.OPTIMAL:
        scip.setParam(GAP, 2.0 * result.gap)


def is_closed(scip: pyscipopt.Model) -> bool:
    """Whether SCIP ends by itself: its gap is within its limit."""
    return scip.getNSols() > 0 and bool(scip.getGap() <= scip.getParam(GAP))


def _scale(scip: pyscipopt.Model) -> float | None:
    """What SCIP multiplies the objective with, negative where it is maximized; None where no variable has a cost."""
    for variable in scip.getVars(transformed=False):
        if variable.getObj() != 0:
            own: Any = scip.getTransformedVar(variable)
            return float(own.getObj() / variable.getObj())
    return None
