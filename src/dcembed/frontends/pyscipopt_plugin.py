"""What makes `scip.optimize()` honour the networks: two small plugins in the user's SCIP.

PySCIPOpt's Model cannot be given a method of ours, but SCIP calls its plugins. When it takes up its root node, `RootHandler` runs dcembed,
gives SCIP the point, and stops the search. `NetworkHandler` refuses every point at which an output is not the prediction, or whose inputs are
outside of where they must be, wherever it comes from. So SCIP's own clock, bounds and solutions are those of the run, and whatever a script
reads afterwards is there.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import ReferenceType, WeakKeyDictionary, ref

import numpy as np
import pyscipopt
from pyscipopt import SCIP_EVENTTYPE, SCIP_RESULT

from dcembed.arrays import Array
from dcembed.errors import InputError
from dcembed.frontends.pyscipopt_bound import is_closed, tell_bound
from dcembed.frontends.pyscipopt_raising import install, raise_in_caller
from dcembed.result import Result
from dcembed.status import Status

NAME = "dcembed"
# Last among all that enforce and check: a point that breaks a row need not be put through the networks.
PRIORITY = -9_000_000
ROUNDS = "presolving/maxrounds"
INFEASIBLE = (Status.INFEASIBLE, Status.HOST_INFEASIBLE, Status.OUTSIDE_SUPPORT)


class Predictor(Protocol):
    """What is embedded."""

    @property
    def variables(self) -> list[Any]:
        """Those of the inputs, then those of the outputs."""

    @property
    def has_price(self) -> bool:
        """Whether points have a price that SCIP's objective knows nothing of."""

    def holds(self, value: Callable[[Any], float], tolerance: float) -> bool:
        """Whether the outputs are the predictions, and inputs where they must be, where `value` gives the values of variables."""


@dataclass
class Hook:
    """What SCIP and dcembed tell each other about a model. Nothing in it keeps the model alive.

    Parameters
    ----------
    model
        A weak reference to the model itself; some versions of PySCIPOpt give plugins a proxy only.
    predictors
        What is embedded in the model, in order.
    run
        What is done at the root; None for what `runs_in_scip` was put on.
    result, error
        How the last run ended; both None if SCIP ended before it. An error refers to the model, and stays here only until it is raised.
    left
        The `working_copy` after the last run; None where SCIP has made a new one since.
    is_included
        Whether the plugins are in SCIP.
    """

    model: ReferenceType[pyscipopt.Model]
    predictors: list[Any] = field(default_factory=list)
    run: Callable[[pyscipopt.Model], Result] | None = None
    result: Result | None = None
    error: BaseException | None = None
    left: tuple[int, Array] | None = None
    is_included: bool = False


_HOOKS: WeakKeyDictionary[pyscipopt.Model, Hook] = WeakKeyDictionary()
_RUNS: list[Callable[[pyscipopt.Model], Result]] = []


@atexit.register
def _leave_to_the_system() -> None:
    """Models that are alive at exit are not freed: SCIP would call its plugins when Python is half gone, which crashes."""
    for scip in list(_HOOKS):
        scip.to_ptr(give_ownership=True)


def hook(scip: pyscipopt.Model) -> Hook:
    """That of a model; a new one knows no network."""
    return _HOOKS.setdefault(scip, Hook(ref(scip)))


def register(scip: pyscipopt.Model, predictor: Predictor) -> None:
    """Embed a predictor: from now on SCIP solves the model with it."""
    shared = hook(scip)
    if not shared.is_included:
        scip.includeConshdlr(
            NetworkHandler(shared),
            NAME,
            "outputs are predictions of networks",
            enfopriority=PRIORITY,
            chckpriority=PRIORITY,
            propfreq=1,
            needscons=False,
        )
        install()
        scip.includeEventhdlr(RootHandler(shared), NAME, "runs dcembed at the root")
        shared.is_included = True
    shared.predictors.append(predictor)


def model_of(predictor: Predictor) -> pyscipopt.Model | None:
    """The model that a predictor is embedded in."""
    return next((scip for scip, shared in _HOOKS.items() if any(other is predictor for other in shared.predictors)), None)


def unregister(scip: pyscipopt.Model, predictor: Predictor) -> None:
    """Take a predictor out of a model; without any, SCIP solves as if dcembed had never been there."""
    predictors = hook(scip).predictors
    predictors[:] = [other for other in predictors if other is not predictor]


def runs_in_scip(run: Callable[[pyscipopt.Model], Result]) -> Callable[[pyscipopt.Model], Result]:
    """Mark the function that a plain `scip.optimize()` calls."""
    _RUNS[:] = [run]
    return run


def working_copy(scip: pyscipopt.Model) -> tuple[int, Array]:
    """What a change after a solve would touch: constraints and bounds of SCIP's working copy, which `freeTransform` throws away."""
    bounds = [(variable.getLbLocal(), variable.getUbLocal()) for variable in scip.getVars(transformed=True)]
    return scip.getNConss(), np.array(bounds)


def check_working_copy(scip: pyscipopt.Model, shared: Hook) -> None:
    """InputError if the model was changed after a run and before `freeTransform`: a run reads the problem, where the change is not."""
    left, found = shared.left, working_copy(scip)
    if left is None or left[0] != found[0] or not np.array_equal(left[1], found[1]):
        raise InputError(
            f"optimize: SCIP is in the stage {scip.getStageName()} and the model is not as dcembed left it. What is changed after a solve and "
            "before scip.freeTransform() is lost. Call scip.freeTransform() after a solve, change the model then, and optimize again."
        )


class NetworkHandler(pyscipopt.Conshdlr):  # type: ignore[misc]  # typed as Any
    """Lets no point pass at which an output is not the prediction, or an input is not where it must be."""

    def __init__(self, shared: Hook) -> None:
        self.shared = shared
        self.rounds: int | None = None

    def consinitpre(self, constraints: Any) -> None:
        """The run reads the problem as the user wrote it: presolving would be for nothing. What an earlier run has found is forgotten."""
        self.shared.result = self.shared.left = None
        if self.shared.predictors and self.model.getParam("limits/time") > 0:
            self.rounds = self.model.getParam(ROUNDS)
            self.model.setParam(ROUNDS, 0)

    def consexitpre(self, constraints: Any) -> None:
        """Set back what `consinitpre` has set."""
        if self.rounds is not None:
            self.model.setParam(ROUNDS, self.rounds)
            self.rounds = None

    def consprop(self, constraints: Any, nusefulconss: int, nmarkedconss: int, proptiming: Any) -> dict[str, Any]:
        """A run that ended in an infeasible host, or in a proof that there is no feasible point, is SCIP's own answer."""
        result = self.shared.result
        is_infeasible = bool(self.shared.predictors) and result is not None and result.status in INFEASIBLE
        return {"result": SCIP_RESULT.CUTOFF if is_infeasible else SCIP_RESULT.DIDNOTFIND}

    def conscheck(self, constraints: Any, solution: Any, *more: Any) -> dict[str, Any]:
        """Compare the outputs of a solution with the predictions; earlier ones are left behind where SCIP cannot tell which is best."""
        is_taken = self._holds(solution) and not self._is_left_behind()
        return {"result": SCIP_RESULT.FEASIBLE if is_taken else SCIP_RESULT.INFEASIBLE}

    def consenfolp(self, constraints: Any, *more: Any) -> dict[str, Any]:
        """SCIP's search cannot repair a prediction: it ends."""
        if self._holds(None):
            return {"result": SCIP_RESULT.FEASIBLE}
        self.model.interruptSolve()
        return {"result": SCIP_RESULT.INFEASIBLE}

    def consenfops(self, constraints: Any, *more: Any) -> dict[str, Any]:
        """As for the solution of a linear program."""
        return self.consenfolp(constraints)

    def consenforelax(self, solution: Any, constraints: Any, *more: Any) -> dict[str, Any]:
        """As for the solution of a linear program."""
        return self.consenfolp(constraints)

    def conslock(self, constraint: Any, locktype: Any, nlockspos: int, nlocksneg: int) -> None:
        """No variable is locked: nothing is reduced before the run, and nothing is searched after it."""

    def _is_left_behind(self) -> bool:
        """Whether a solution of before the run would be measured by SCIP's objective, which has no price in it, and hide that of the run."""
        if not any(predictor.has_price for predictor in self.shared.predictors):
            return False
        stage = self.model.getStageName()
        return stage not in ("PROBLEM", "SOLVING", "SOLVED") or (stage == "SOLVING" and self.shared.result is None)

    def _holds(self, solution: Any) -> bool:
        scip, tolerance = self.model, self.model.getParam("numerics/feastol")
        # SCIP crashes when it is asked for a variable that it does not have; the run says which it is.
        inside = {variable.ptr() for variable in scip.getVars()}
        return all(
            all(variable.ptr() in inside for variable in predictor.variables)
            and predictor.holds(lambda variable: scip.getSolVal(solution, variable), tolerance)
            for predictor in self.shared.predictors
        )


class RootHandler(pyscipopt.Eventhdlr):  # type: ignore[misc]  # typed as Any
    """Runs dcembed when SCIP takes up the root node, and stops SCIP after it."""

    def __init__(self, shared: Hook) -> None:
        self.shared = shared

    def eventinit(self) -> None:
        """Ask for the event."""
        self.model.catchEvent(SCIP_EVENTTYPE.NODEFOCUSED, self)

    def eventcopy(self) -> None:
        """Copies do not get the networks (PySCIPOpt has no way to give them), so none is made."""
        if self.shared.predictors:
            error = InputError(
                "Networks of dcembed are embedded in this model, and a copy of it would be solved without them. SCIP copies a model in "
                "Model(sourceModel=...) and in solveConcurrent(); build the model twice, and call optimize()."
            )
            raise_in_caller(error)
            # PySCIPOpt prints it, and SCIP goes no further.
            raise error

    def eventexec(self, event: Any) -> None:
        """Run, unless the networks were removed."""
        shared, scip = self.shared, self.shared.model()
        if scip is None or not shared.predictors:
            return
        shared.result = shared.error = None
        try:
            if shared.left is not None:
                check_working_copy(scip, shared)
            shared.result = (shared.run or _RUNS[0])(scip)
            tell_bound(scip, shared.result)
        except BaseException as error:
            if shared.run is not None:
                shared.error = error
            elif not raise_in_caller(error):
                # PySCIPOpt prints it, and scip.optimize() raises an error of SCIP's.
                raise
        finally:
            # What was found changed stays so: the next call says it again.
            if shared.left is None:
                shared.left = working_copy(scip)
            if shared.result is None or not (shared.result.status in INFEASIBLE or is_closed(scip)):
                scip.interruptSolve()
