"""`optimize` for PySCIPOpt models with embedded networks, with SCIP's own parameters as defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyscipopt

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends import pyscipopt_
from dcembed.frontends.contract import Extraction, solve_model
from dcembed.frontends.infinity import INFINITY
from dcembed.frontends.pyscipopt_ import ScipModel, ScipResult, read_solution
from dcembed.frontends.pyscipopt_predictor import registry
from dcembed.options import Options


def optimize(scip: pyscipopt.Model, time_limit: float | None = None, start: Any = None, **options: Any) -> ScipResult:
    """Find a good feasible point of a PySCIPOpt model with embedded networks.

    Parameters
    ----------
    scip
        Not yet solved, or after `scip.freeTransform()`.
    time_limit
        Seconds. None takes SCIP's parameter limits/time.
    start
        A solution of SCIP (`scip.createSol()` with values set) to begin from.
    options
        Of `dcembed.Options`. `verbose` is False where display/verblevel is 0, if not given; `scip.hideOutput()` cannot be seen from here.

    Returns
    -------
    A `Result` with `value(variable)`. A feasible point is also added to the solutions of `scip`, where `scip.getVal(variable)` reads
    the best one.
    """
    if not registry(scip):
        raise InputError("optimize: no network is embedded in the model. Call add_predictor_constr first, or scip.optimize() for SCIP.")
    limit = scip.getParam("limits/time") if time_limit is None else time_limit
    given = {"time_limit": limit if limit < INFINITY else np.inf, "verbose": scip.getParam("display/verblevel") > 0, **options}
    return solve_model(pyscipopt_, scip, Options(**given), None if start is None else lambda extraction: _read_start(extraction, start))


def _read_start(extraction: Extraction[ScipModel], start: Any) -> Array:
    if not isinstance(start, pyscipopt.scip.Solution):
        raise InputError(f"optimize: start is a solution from scip.createSol(), received {type(start).__name__}.")
    return read_solution(extraction, start)
