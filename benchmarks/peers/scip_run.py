"""One run of a SCIP model with every new best point kept."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyscipopt

from benchmarks.harness.outcome import known_bound
from benchmarks.harness.watch import Watch, watch_of
from benchmarks.peers.solver_run import SolverRun
from dcembed import Options

Array = np.ndarray
POLL_SECONDS = 0.1
# What PySCIPOpt says for SCIP_LPERROR.
LP_ERROR = "error in LP solver"


def run_scip(
    model: pyscipopt.Model,
    columns: Sequence[pyscipopt.Variable],
    num_own: int,
    starts: Sequence[Array],
    options: Options,
    to_host: Callable[[Array], Array] = lambda values: values,
    **known: float,
) -> SolverRun:
    """Optimize; the points have the values of the first `num_own` columns.

    The starts have values for `columns` but not for what a package has added: SCIP completes them. `to_host` makes a point of the host
    of the values that are kept; what is `known` of the record goes to the watch.
    """
    own = columns[:num_own]
    sizes = model.getNVars(), model.getNConss()
    model.hideOutput()
    model.setEmphasis(pyscipopt.SCIP_PARAMEMPHASIS.FEASIBILITY, quiet=True)
    model.setParam("limits/time", options.time_limit)
    model.setParam("randomization/randomseedshift", options.seed)
    # Points are checked at 1e-5; a violation of a row must not be taken for a relative one.
    model.setParam("numerics/feastol", 1e-7)
    # Most columns are the package's own and unknown in a start; the default would not try to complete it.
    model.setParam("heuristics/completesol/maxunknownrate", 1.0)
    for start in starts:
        partial = model.createPartialSol()
        for column, value in zip(columns, start, strict=True):
            model.setSolVal(partial, column, float(value))
        model.addSol(partial)
    points: list[tuple[float, Array]] = []
    watch, began = watch_of(options), time.monotonic()
    watch.begin(**known)

    def keep(values: Array) -> None:
        points.append((time.monotonic() - began, values))
        watch.offer(to_host(values))

    model.includeEventhdlr(_Keeper(keep, own), "points", "keeps every new best point")
    with _interrupted_by(watch, model):
        has_failed = _fails(model)
    seconds = time.monotonic() - began
    if model.getNSols():
        best = model.getBestSol()
        points.append((seconds, np.array([model.getSolVal(best, column) for column in own])))
    if has_failed:
        return SolverRun("numerical_error", points, seconds, None, *sizes)
    status = {"timelimit": "time_limit", "userinterrupt": "interrupted"}.get(model.getStatus(), model.getStatus())
    return SolverRun(status, points, seconds, known_bound(model.getDualbound()), *sizes)


def _fails(model: pyscipopt.Model) -> bool:
    """Optimize, and whether a relaxation was too much for the LP solver: SCIP gives up then, and has the points that it had."""
    try:
        model.optimizeNogil()
    except Exception as error:
        # PySCIPOpt has no class of its own for it.
        if LP_ERROR not in str(error):
            raise
        return True
    return False


class _Keeper(pyscipopt.Eventhdlr):
    """Hands over every new best point when SCIP finds it."""

    def __init__(self, keep: Callable[[Array], None], own: Sequence[pyscipopt.Variable]) -> None:
        self.keep, self.own = keep, own

    def eventinit(self) -> None:
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)

    def eventexit(self) -> None:
        self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)

    def eventexec(self, event) -> None:
        best = self.model.getBestSol()
        self.keep(np.array([self.model.getSolVal(best, column) for column in self.own]))


@contextlib.contextmanager
def _interrupted_by(watch: Watch, model: pyscipopt.Model) -> Iterator[None]:
    """Ask SCIP to stop when the watch says so; it calls nobody for minutes while it solves its first relaxation."""
    if watch.is_idle:
        yield
        return
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(POLL_SECONDS):
            # In this one stage SCIP takes an interrupt for an error.
            if watch.is_set() and model.getStage() != pyscipopt.SCIP_STAGE.INITSOLVE:
                with contextlib.suppress(Exception):
                    model.interruptSolve()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
