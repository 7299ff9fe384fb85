"""`optimize` for PySCIPOpt models with embedded networks, with SCIP's own parameters as defaults."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pyscipopt

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends import pyscipopt_
from dcembed.frontends.contract import Extraction, solve_model
from dcembed.frontends.infinity import INFINITY
from dcembed.frontends.pyscipopt_ import ScipModel, ScipResult, read_solution
from dcembed.frontends.pyscipopt_bound import GAP, accept_gap
from dcembed.frontends.pyscipopt_plugin import Hook, check_working_copy, hook, runs_in_scip, working_copy
from dcembed.options import Options
from dcembed.reading import require
from dcembed.result import Result
from dcembed.status import Status

TIME = "limits/time"
# While dcembed runs in it, SCIP is silent and stops for nothing else; all of this is set back.
DURING = {TIME: INFINITY, GAP: 0.0, "limits/nodes": -1, "limits/totalnodes": -1, "limits/solutions": -1, "display/verblevel": 0}


def optimize(
    scip: pyscipopt.Model, time_limit: float | None = None, start: Any = None, load_infeasible: bool = False, **options: Any
) -> ScipResult:
    """Find a good feasible point of a PySCIPOpt model with embedded networks; `scip.optimize()` does the same without arguments.

    Parameters
    ----------
    scip
        Not yet solved, or after `scip.freeTransform()`, or as an earlier `optimize` has left it.
    time_limit
        Seconds. None takes SCIP's parameter limits/time.
    start
        A solution of SCIP (`scip.createSol()` with values set) to begin from, or a `Result` to go on from.
    load_infeasible
        Let predictors have the values of the point that is nearest to feasible where none is feasible. SCIP takes no such point as a solution;
        `value(variable)` of the result always has it.
    options
        Of `dcembed.Options`. `verbose` is False after `scip.hideOutput()` and where display/verblevel is 0, if not given, and `gap_tol` is
        SCIP's limits/gap where that is positive.

    Returns
    -------
    A `Result` with `value(variable)`. A feasible point is also SCIP's best solution, which `scip.getVal(variable)` reads, and SCIP's
    status, bounds and times are those of the run.
    """
    require(scip, pyscipopt.Model, "optimize: scip")
    shared = hook(scip)
    if not shared.predictors:
        raise InputError("optimize: no network is embedded in the model. Call add_predictor_constr first, or scip.optimize() for SCIP.")
    given = {**_defaults(scip), **({} if time_limit is None else {"time_limit": time_limit}), **options}
    settings = Options(**given)
    _back_to_problem(scip, shared)

    def run(model: pyscipopt.Model) -> ScipResult:
        begin = None if start is None else lambda extraction: _read_start(extraction, start)
        result = solve_model(pyscipopt_, model, settings, begin, load_infeasible=load_infeasible)
        if result.status is Status.TIME_LIMIT:
            model.setParam(TIME, 0.0)
        accept_gap(model, result)
        return result

    shared.run, shared.result, shared.error = run, None, None
    try:
        with _set(scip, DURING):
            scip.optimize()
    finally:
        shared.run = None
    shared.left = working_copy(scip)
    error, shared.error = shared.error, None
    if error is not None:
        scip.freeTransform()
        raise error
    if isinstance(shared.result, ScipResult):
        return shared.result
    # Where SCIP sees at once that the model is infeasible it takes up no node.
    with _set(scip, DURING):
        return run(scip)


@runs_in_scip
def run_in_scip(scip: pyscipopt.Model) -> ScipResult:
    """What a plain `scip.optimize()` does with a model in which networks are embedded."""
    defaults = _defaults(scip)
    return solve_model(pyscipopt_, scip, Options(**{**defaults, "time_limit": max(defaults["time_limit"] - scip.getSolvingTime(), 0.0)}))


def _defaults(scip: pyscipopt.Model) -> dict[str, Any]:
    """Options that SCIP's parameters stand for."""
    limit, gap = scip.getParam(TIME), scip.getParam(GAP)
    limits = {"time_limit": limit if limit < INFINITY else np.inf, **({"gap_tol": min(gap, INFINITY)} if gap > 0 else {})}
    return {**limits, "verbose": scip.getParam("display/verblevel") > 0 and not _is_quiet(scip)}


def _back_to_problem(scip: pyscipopt.Model, shared: Hook) -> None:
    """Leave an earlier run behind, unless the model was changed since: SCIP would lose the change with it."""
    if scip.getStageName() == "PROBLEM":
        return
    check_working_copy(scip, shared)
    scip.freeTransform()


@contextmanager
def _set(scip: pyscipopt.Model, parameters: Mapping[str, Any]) -> Iterator[None]:
    """Set parameters for a while."""
    before = {name: scip.getParam(name) for name in parameters}
    scip.setParams(parameters)
    try:
        yield
    finally:
        scip.setParams(before)


def _is_quiet(scip: pyscipopt.Model) -> bool:
    """Whether `scip.hideOutput()` was called. PySCIPOpt does not tell, so SCIP's library is asked; False where it cannot be."""
    try:
        library = _scip_library()
        handler = library.SCIPgetMessagehdlr(ctypes.pythonapi.PyCapsule_GetPointer(scip.to_ptr(give_ownership=False), b"scip"))
        return bool(handler) and bool(library.SCIPmessagehdlrIsQuiet(handler))
    except (AttributeError, OSError):
        return False


@cache
def _scip_library() -> ctypes.CDLL:
    library = ctypes.CDLL(pyscipopt.scip.__file__)
    for function, returned in ((library.SCIPgetMessagehdlr, ctypes.c_void_p), (library.SCIPmessagehdlrIsQuiet, ctypes.c_uint)):
        function.restype, function.argtypes = returned, [ctypes.c_void_p]
    ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
    ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return library


def _read_start(extraction: Extraction[ScipModel], start: Any) -> Array | Result:
    if isinstance(start, Result):
        return start
    if not isinstance(start, pyscipopt.scip.Solution):
        raise InputError(f"optimize: start is a solution from scip.createSol() or a Result, received {type(start).__name__}.")
    return read_solution(extraction, start)
